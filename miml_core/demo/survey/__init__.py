"""A generated survey of fifty hours with known daily rhythms, and the whole chain from tags to activity on it."""
