"""Numbers with their nouns, in messages of jobs, edits and commands."""


def counted(n: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun.

    >>> counted(1, "bag"), counted(0, "bag"), counted(12, "class", "classes")
    ('1 bag', '0 bags', '12 classes')
    """
    return f"{n} {plural(n, noun, nouns)}"


def plural(n: int, noun: str, nouns: str | None = None) -> str:
    """Return the form of a noun for a number.

    >>> plural(1, "bag"), plural(2, "bag"), plural(0, "class", "classes")
    ('bag', 'bags', 'classes')
    """
    return noun if n == 1 else nouns or f"{noun}s"
