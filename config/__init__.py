"""Settings: where they live, what they mean, which defaults they have, and how a file becomes them."""
