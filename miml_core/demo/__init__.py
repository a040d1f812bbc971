"""The demo project: generated sounds and pictures."""
