"""Packed projects: one zip file with the database, the runs and perhaps the media of a project."""
