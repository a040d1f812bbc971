"""Training, runs and how far to trust them."""
