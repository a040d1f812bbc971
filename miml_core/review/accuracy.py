"""Confidence interval of an accuracy that was estimated from a sample."""

from __future__ import annotations

from miml_core.evaluation.reliability import wilson_interval

__all__ = ["wilson_interval"]
