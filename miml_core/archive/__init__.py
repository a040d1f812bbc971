"""Apply a trained model to an archive of recordings or pictures, and check the result by a random sample."""
