"""The start page: the demo, recent projects, a new project."""
