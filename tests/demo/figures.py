"""What the figures of a demo must be: neither trivial nor too hard for the default model."""

from typing import Any

from miml_core.demo.media import COUNT


def check_figures(figures: dict[str, Any], kind: str, n_segments: int) -> None:
    """Check what `bagtag demo --json` prints of one demo."""
    assert figures["bags"] == COUNT[kind] >= 40
    scores = figures["scores"]
    assert scores["segments"] > n_segments, "several segments per bag, so that the tags leave something to find out"
    assert scores["accuracy"] >= 0.90
    assert scores["accuracy_calls"] >= 0.85
    assert scores["majority_tag"] < 0.60 and scores["majority_tag_calls"] < 0.60
    assert scores["accuracy_untagged"] > scores["majority_tag_calls"]
