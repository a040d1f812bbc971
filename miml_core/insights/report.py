"""A report as one HTML file that needs no network and no Bagtag: model, data, effort, calibration, checks, plots.

All text is escaped, and the file forbids every request by its content security policy.
"""

from __future__ import annotations

import base64
import html
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from miml_core.archive.estimate_tables import count_text, share_text
from miml_core.insights.about import Facts, about_choice, about_data, about_model, about_versions
from miml_core.insights.activity import activity, rhythm_of
from miml_core.insights.aggregates import (
    ClassSites,
    accumulation,
    class_sites,
    co_occurrence,
    per_clip,
    probability_histogram,
    site_days,
)
from miml_core.insights.checks import CheckedCount, checked_counts, sample_of
from miml_core.insights.detections import Choice, Detections
from miml_core.insights.effort import cells_text
from miml_core.insights.sun import clock_offset, offset_text, recorded_place, sun_times
from miml_core.insights.tables import (
    Table,
    accumulation_table,
    activity_table,
    class_sites_table,
    co_occurrence_table,
    histogram_table,
    per_clip_table,
    rhythm_table,
    site_days_table,
    to_csv,
)
from miml_core.media.recording_place import Place
from miml_core.progress import Progress

if TYPE_CHECKING:
    from miml_core.project import Project

MOST_CLASSES = 6
"""Classes with plots of their own, if no class is chosen."""
_LARGEST_CSV = 500_000
_OTHER_PARTS = 8
"""Texts and plots besides those of single classes, for the progress."""
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2427; max-width: 1080px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { margin-top: 2.2rem; border-bottom: 1px solid #d5dadd; } h3 { margin-bottom: 0; }
table { border-collapse: collapse; margin: .6rem 0; } td, th { padding: .2rem .8rem .2rem 0; text-align: left;
vertical-align: top; border-bottom: 1px solid #eceff1; overflow-wrap: anywhere; } td.n, th.n { text-align: right; }
.save { font-size: .85rem; } .save button { font: inherit; border: 0; background: none; color: #0f766e; cursor: pointer;
padding: 0 .4rem 0 0; text-decoration: underline; } .save a { color: #0f766e; } .plot { break-inside: avoid; }
"""
_SCRIPT = """
function save(name, format) {
  const plot = document.getElementById(name);
  const size = {width: plot.clientWidth, height: plot.clientHeight, scale: 2};
  Plotly.downloadImage(plot, {format: format, filename: name, ...size});
}
"""


def make_report(
    source: Detections,
    choice: Choice | None = None,
    *,
    project: Project | None = None,
    place: Place | None = None,
    utc_offset: int | None = None,
    progress: Progress | None = None,
) -> str:
    """Return a report as HTML.

    Parameters
    ----------
    source : Detections
    choice : Choice, optional
    project : Project, optional
        The project that `source` is of, or one with a checked sample of the archive.
    place : Place, optional
        Where the recorders were, for sunrise and sunset; by default see `recorded_place`.
    utc_offset : int, optional
        Minutes that their clocks were ahead of UTC, if the recordings do not state it.
    progress : callable, optional
        Called after each part; an exception that it raises cancels the report, a true value does not: a part of a
        report is none.
    """
    choice = choice or Choice()
    if place is None:
        place = recorded_place(source, project)
    clock = clock_offset(source) if clock_offset(source) is not None else utc_offset
    parts = list(_texts(source, choice, project))
    classes = _own_plots(source, choice, class_sites(source, choice)) if source.clocks else []
    n_parts = 2 * len(classes) + _OTHER_PARTS
    for step, part in enumerate(_plots(source, choice, classes, place, clock), start=1):
        parts.append(part)
        if progress is not None:
            progress(min(step, n_parts - 1), n_parts, {})
    if progress is not None:
        progress(n_parts, n_parts, {})
    title = html.escape(f"Insights: {source.name}")
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            f"<style>{_STYLE}</style>",
            f"<script>{_plotly()}</script><script>{_SCRIPT}</script></head><body>",
            *parts,
            "<h2>Versions</h2>",
            _facts(about_versions()),
            "</body></html>",
        ]
    )


def _plotly() -> str:
    """Return the code of Plotly, which every plot of the report uses."""
    from miml_core.insights.figures import plotly_code

    return plotly_code()


def _texts(source: Detections, choice: Choice, project: Project | None) -> Iterator[str]:
    model, calibration = about_model(source, project)
    made = datetime.now(UTC).isoformat(timespec="minutes")
    yield f"<h1>{html.escape(source.name)}</h1><p>Report of {made}.</p>"
    yield "<h2>Data and effort</h2>" + _facts(about_data(source, choice))
    yield "<h2>What is counted</h2>" + _facts(about_choice(choice))
    yield "<h2>Model</h2>" + _facts(model)
    yield "<h2>Calibration</h2>"
    yield _facts(calibration) if calibration else "<p>Nothing is known of the calibration of the model.</p>"
    yield "<h2>Sample check</h2>"
    estimates = None if project is None else sample_of(project, source)
    if estimates is None:
        yield "<p>No random sample of the detections was checked; counts are those of the model.</p>"
    else:
        yield _checks(checked_counts(source, estimates, choice.threshold))
    yield "<h2>Classes</h2>" + _classes(class_sites(source, choice), source.is_sound)


def _plots(
    source: Detections, choice: Choice, classes: Sequence[str | None], place: Place | None, clock: int | None
) -> Iterator[str]:
    from miml_core.insights import figures

    sound = source.is_sound
    sites = class_sites(source, choice)
    yield (f"<h2>Plots</h2><p>{cells_text(sound)} Every plot can be saved as a picture, its numbers as CSV.</p>")
    if source.clocks:
        if place is not None and clock is not None:
            where = html.escape(str(place))
            yield f"<p>Sunrise and sunset are those of {where}, by a clock at {offset_text(clock)}.</p>"
        for name in classes:
            yield from _activity(source, replace(choice, class_name=name), place, clock)
        found = site_days(source, choice)
        if len(found.dates):
            yield _plot(
                "Sites and days",
                figures.site_days_figure(found, is_sound=sound, clickable=False),
                site_days_table(found),
            )
            grown = accumulation(source, choice)
            yield _plot("Accumulation", figures.accumulation_figure(grown, is_sound=sound), accumulation_table(grown))
    yield _plot(
        "Classes and sites",
        figures.class_sites_figure(sites, is_sound=sound, clickable=False),
        class_sites_table(sites),
    )
    together = co_occurrence(source, choice)
    if (np.diag(together.counts) > 0).sum() > 1:
        yield _plot(
            f"Classes in the same {'clip' if sound else 'picture'}",
            figures.co_occurrence_figure(together, is_sound=sound),
            co_occurrence_table(together),
        )
    bins = probability_histogram(source, choice)
    numbers = histogram_table(bins, sites.effort_s.sum() / 3600, int(sites.clips.sum()))
    yield _plot("Probability", figures.histogram_figure(bins), numbers)
    number = per_clip(source, choice)
    title = f"Detections per {'clip' if sound else 'picture'}"
    yield _plot(title, figures.per_clip_figure(number, is_sound=sound), per_clip_table(number))


def _activity(source: Detections, choice: Choice, place: Place | None, clock: int | None) -> Iterator[str]:
    from miml_core.insights import figures

    found = activity(source, choice=choice)
    if not len(found.dates):
        return
    sun = None
    if place is not None and clock is not None:
        sun = sun_times(place, found.dates.astype(object).tolist(), clock)
    name = choice.class_name or "all classes"
    figure = figures.activity_figure(found, is_sound=source.is_sound, sun=sun, clickable=False)
    yield _plot(f"Activity of {name}", figure, activity_table(found))
    rhythm = rhythm_of(found, source.is_sound)
    figure = figures.rhythm_figure(rhythm, is_sound=source.is_sound)
    yield _plot(f"Daily rhythm of {name}", figure, rhythm_table(rhythm))


def _own_plots(source: Detections, choice: Choice, sites: ClassSites) -> list[str | None]:
    """Return the classes with plots of their own: the chosen one, or all together and the most frequent ones."""
    if choice.class_name is not None:
        return [choice.class_name]
    total = sites.counts.sum(axis=1)
    frequent = [source.classes[c] for c in np.argsort(-total, kind="stable")[:MOST_CLASSES] if total[c]]
    return [None, *frequent]


def _plot(title: str, figure: Any, table: Table) -> str:
    """Return a plot with the links that save it."""
    name = f"plot-{uuid.uuid4().hex[:12]}"
    figure.update_layout(template="plotly_white")
    drawn = figure.to_html(full_html=False, include_plotlyjs=False, div_id=name, config={"displaylogo": False})
    links = [f"<button onclick=\"save('{name}', '{kind}')\">{kind.upper()}</button>" for kind in ("png", "svg")]
    content = to_csv(table)
    if len(content) <= _LARGEST_CSV:
        data = base64.b64encode(content).decode()
        links.append(f'<a download="{name}.csv" href="data:text/csv;base64,{data}">CSV</a>')
    return (
        f'<div class="plot"><h3>{html.escape(title)}</h3>{drawn}<div class="save">Save as: {"".join(links)}</div></div>'
    )


def _facts(facts: Facts) -> str:
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in facts)
    return f"<table>{rows}</table>"


def _checks(counts: Sequence[CheckedCount]) -> str:
    """Return the table of corrected counts."""
    rows = [
        (
            one.class_name,
            f"{one.counted:,}",
            f"{one.answered} of {one.drawn}",
            "" if one.threshold is None else f"{one.threshold:g}",
            share_text(one.precision),
            count_text(one.right),
            count_text(one.of_class),
        )
        for one in counts
    ]
    titles = ("Class", "Counted", "Checked", "Threshold", "Precision", "Correct", "Estimated total of the class")
    return (
        "<p>A stratified random sample of the detections was checked by people. Precision is the share of correct "
        "detections among those at or above the threshold; the corrected counts are estimates for the whole archive, "
        "with 95 % intervals (stratified estimator, W. G. Cochran, <i>Sampling Techniques</i>, 1977, chapter 5; "
        "Jeffreys intervals of the strata, combined as by X. Yan and X. G. Su, <i>Statistics in Biopharmaceutical "
        "Research</i> 2, 2010).</p>" + _rows(titles, rows)
    )


def _classes(found: ClassSites, is_sound: bool) -> str:
    total = found.counts.sum(axis=1)
    hours, clips = found.effort_s.sum() / 3600, int(found.clips.sum())
    amount = hours if is_sound else clips
    rows = [
        (
            found.classes[c],
            f"{total[c]:,}",
            f"{total[c] / amount:.3g}" if amount else "",
            f"{(found.counts[c] > 0).sum()} of {len(found.sites)}",
        )
        for c in np.argsort(-total, kind="stable")
    ]
    effort = f"{hours:,.2f} hours recorded" if is_sound else f"{clips:,} pictures"
    per = "Per recorded hour" if is_sound else "Per picture"
    return f"<p>Effort: {effort}.</p>" + _rows(("Class", "Detections", per, "Sites"), rows)


def _rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th{'' if k == 0 else ' class=n'}>{html.escape(one)}</th>" for k, one in enumerate(titles))
    body = "".join(
        "<tr>"
        + "".join(f"<td{'' if k == 0 else ' class=n'}>{html.escape(cell)}</td>" for k, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
