"""Kinds that a stranger to the strategies thought of: what servers, tools and files answer with, imitated from a seed."""
