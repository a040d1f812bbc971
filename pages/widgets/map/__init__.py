"""The map of segments and what is done with a selection."""
