"""Open a file: sound by window, pictures by size."""
