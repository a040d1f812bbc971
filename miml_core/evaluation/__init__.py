"""Metrics, cross-validation, published tables and the benchmark."""
