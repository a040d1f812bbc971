"""Detected segments and their features: detect, store, replace and describe them."""
