"""Find and edit regions."""
