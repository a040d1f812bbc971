"""The one exception meant for people."""


class BagtagError(ValueError):
    """Something a person can act on: its message is a sentence naming the file or the bag and what to do."""
