"""Summarise the detections of a survey: aggregates over a project or an archive, with the effort beside every count."""

from miml_core.insights.activity import Activity, DailyRhythm, activity, daily_rhythm
from miml_core.insights.detections import Choice, Detections
from miml_core.insights.sources import open_source

__all__ = ["Activity", "Choice", "DailyRhythm", "Detections", "activity", "daily_rhythm", "open_source"]
