"""Applying a model to an archive, and the sample that checks it."""
