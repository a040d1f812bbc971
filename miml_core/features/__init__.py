"""Compute features of regions."""
