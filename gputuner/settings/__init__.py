"""Where things lie, and what the user prefers."""
