"""What to look at next, and tag suggestions."""
