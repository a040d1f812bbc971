"""Order segments for review, estimate accuracies, and suggest tags; functions of arrays."""
