"""Numbers with their nouns, in messages of jobs, edits and commands."""


def counted(n: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "bag"), counted(0, "bag"), counted(12, "class", "classes")
    ('1 bag', '0 bags', '12 classes')
    """
    return f"{n} {noun if n == 1 else nouns or noun + 's'}"
