"""Choosing folders, below those that are allowed."""
