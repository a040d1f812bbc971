"""The wall of segments, and opening it with a list."""
