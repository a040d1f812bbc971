"""The media files of a project: adding them, which may be read, and whether they are still the same."""
