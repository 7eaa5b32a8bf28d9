"""The ways to shorten a text. Each takes a `Task` and returns a `Draft`; fitting and notes are not their job."""
