"""Runs of models: the model files, their predictions and the index of the review queues."""
