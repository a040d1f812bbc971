"""Describe a region in numbers."""
