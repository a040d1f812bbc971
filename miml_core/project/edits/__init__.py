"""Edits of people: one module per kind, each edit one transaction, with history and undo."""
