"""Read sound and picture files: samples by window, spectrograms, pixels at a chosen size."""
