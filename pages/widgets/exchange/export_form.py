"""What to export, in which format and where to, and the exports made so far."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path, PurePosixPath

import pandas as pd
import streamlit as st

from miml_core.exchange import FORMATS, Format, SegmentRow
from miml_core.exchange.cutouts import MOST_PADDING, PICTURE_PADDING, CutOuts
from miml_core.project import Project
from miml_core.project.jobs.export_targets import EXPORTS
from miml_core.project.queries.export_rows import RowFilter, What
from miml_core.project.queries.exports_made import ExportMade
from pages.widgets.errors import action_button, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import allowed_path, allowed_roots
from pages.widgets.follow import follow
from pages.widgets.text import count, when

WHAT: dict[What, str] = {
    "confirmed": "Confirmed labels",
    "accepted": "Confirmed and accepted by threshold",
    "predicted": "Confirmed and predicted labels",
    "all": "All segments",
}
_EXPLAINED = {
    "confirmed": "Segments that a person corrected or accepted, with the label that person gave.",
    "accepted": "Confirmed labels and predictions accepted by threshold; the column checked_by distinguishes them.",
    "predicted": "Confirmed and accepted labels, and the run's predictions of at least the minimum probability.",
    "all": "Every segment; those without a confirmed or predicted label are left blank.",
}
_DAYS = {"export.since": "From day", "export.until": "To day"}
_DAY_HELP = "Of the recording or picture; those without a date are left out."
_FIRST_AND_LAST_DAY = (date(1900, 1, 1), date(2999, 12, 31))
"""Without them, Streamlit offers ten years before and after today."""
_AS_RECORDED = 0
_RATES = [16_000, 22_050, 32_000, 44_100, 48_000, 96_000, 192_000, 250_000, 384_000]
_ROWS_SHOWN = 20
FOLDER = "export.folder"
_MOST = 5
_LARGEST = 500 * 1024**2
_SMALL = 2 * 1024**2
"""Bytes up to which an export is given to Streamlit as bytes, whose address follows from the content. The address of
content that is read at the click is another one in every run of the list, and a click at that moment is lost."""


@dataclass(frozen=True)
class Choice:
    """What an export needs to know, besides where it goes."""

    format: Format
    what: What
    min_probability: float
    only: RowFilter
    padding: float | None = None
    """Seconds or pixels around cut-outs; None for formats that have none."""
    rate: int | None = None
    """Sample rate of cut-outs; None for that of the recording."""

    def params(self, target: Path) -> dict[str, object]:
        """Return the parameters of the export job."""
        return {
            "format": self.format.name,
            "what": self.what,
            "min_probability": self.min_probability,
            "path": str(target),
            "classes": sorted(self.only.classes),
            **{name: getattr(self.only, name) for name in ("since", "until", "site")},
            **{name: value for name in ("padding", "rate") if (value := getattr(self, name)) is not None},
        }


def choose_export(project: Project) -> Choice:
    """Draw the choice of format, content and minimum probability; return it."""
    fitting = {name: one for name, one in FORMATS.items() if project.kind in one.kinds}
    name = st.selectbox(
        "Format",
        list(fitting),
        format_func=lambda one: fitting[one].title,
        key="export.format",
        persist_state="session",
    )
    chosen = fitting[name]
    with st.container():  # what is below keeps its place, and what is open there stays open
        if not isinstance(chosen, CutOuts):
            st.caption(f"{'A folder of files, one per recording' if chosen.many_files else 'One file'}. {chosen.keeps}")
        else:
            st.caption(chosen.keeps)
            _choose_cutting(chosen, project.kind)
    what = st.radio(
        "Segments to export", list(WHAT), format_func=WHAT.__getitem__, key="export.what", persist_state="session"
    )
    st.caption(_EXPLAINED[what])
    with st.container():
        if what == "predicted":
            st.slider("Minimum probability", 0.0, 1.0, 0.5, 0.05, key="export.p", persist_state="session")
    with st.expander("Only some classes, days or sites", key="export.filters", on_change="rerun"):
        st.multiselect(
            "Classes", [one.name for one in project.classes.list()], key="export.classes", placeholder="all classes"
        )
        with st.container(horizontal=True):
            for key, label in _DAYS.items():
                st.date_input(label, None, *_FIRST_AND_LAST_DAY, key=key, format="YYYY-MM-DD", help=_DAY_HELP)
        st.text_input("Site", key="export.site", placeholder="part of the path, such as the folder of a site")
    return _entered_choice()


def _choose_cutting(chosen: CutOuts, kind: str) -> None:
    """Draw how much around a segment is cut out, and the sample rate of clips."""
    unit, usual, step, shown = ("px", PICTURE_PADDING, 1.0, "%.0f")
    if kind == "sound":
        unit, usual, step, shown = ("s", chosen.default_padding, 0.25, "%.2f")
    with st.container(horizontal=True):
        st.number_input(
            f"Padding ({unit})",
            0.0,
            MOST_PADDING,
            usual,
            step,
            shown,
            key=f"export.padding.{chosen.name}.{unit}",
            help="Cut out around each segment, on every side.",
            width="stretch",
        )
        if kind == "sound":
            st.selectbox(
                "Sample rate",
                rates := _RATES if chosen.default_rate else [_AS_RECORDED, *_RATES],
                index=rates.index(chosen.default_rate or _AS_RECORDED),
                format_func=lambda rate: "as recorded" if rate == _AS_RECORDED else f"{rate / 1000:g} kHz",
                key=f"export.rate.{chosen.name}",
                width="stretch",
            )


def _entered_choice() -> Choice:
    """Return what the form holds now; a click may overtake the run that would draw it."""
    what = st.session_state["export.what"]
    least = st.session_state.get("export.p", 0.5) if what == "predicted" else 0.0
    chosen = frozenset(st.session_state.get("export.classes", []))
    since, until = ("" if (day := st.session_state.get(key)) is None else day.isoformat() for key in _DAYS)
    site = st.session_state.get("export.site", "").strip()
    format = FORMATS[st.session_state["export.format"]]
    paddings = (st.session_state.get(f"export.padding.{format.name}.{unit}") for unit in ("s", "px"))
    return Choice(
        format,
        what,
        least,
        RowFilter(classes=chosen, since=since, until=until, site=site),
        padding=next((each for each in paddings if each is not None), None),
        rate=st.session_state.get(f"export.rate.{format.name}") or None,
    )


def export_preview(project: Project, choice: Choice) -> bool:
    """Show the first rows; return whether there are any."""
    rows = project.exports.rows(
        choice.what, min_probability=choice.min_probability, limit=_ROWS_SHOWN, only=choice.only
    )
    if not rows:
        return False
    st.dataframe(
        pd.DataFrame([_row(row) for row in rows]),
        hide_index=True,
        height=330,
        placeholder="",
        column_config={"File": st.column_config.TextColumn(width=200)},
        alt="First rows of the export",
    )
    st.caption(f"The first {len(rows)} rows." if len(rows) == _ROWS_SHOWN else f"All {len(rows)} rows.")
    return True


def export_folder(project: Project) -> Path | None:
    """Ask for the folder of the export; it gets a new name in there, so that nothing is overwritten."""
    start = _start_folder(project.folder)
    return folder_chooser("Folder", key=FOLDER, start=start, project_folder=project.folder)


def _start_folder(project_folder: Path) -> Path:
    """Return the project's own folder for exports, or the folder the project is in.

    The own folder is not used if it is a link (somebody else may have made the project) or cannot be created.
    """
    start = project_folder.resolve() / EXPORTS
    with suppress(OSError):
        start.mkdir(exist_ok=True)
        if start.resolve() == start:
            return start
    return project_folder.resolve().parent


def export_button(project: Project, *, disabled: bool) -> None:
    """Start the export that the page shows."""
    action_button(
        "Export",
        _start_export,
        project,
        key="export.start",
        type="primary",
        icon=":material/ios_share:",
        disabled=disabled,
    )


def _start_export(project: Project) -> None:
    choice = _entered_choice()
    folder = chosen_folder(FOLDER, project.folder)
    project.jobs.start(
        "export", choice.params(allowed_path(_name(folder, choice.format), allowed_roots(project.folder)))
    )


def _name(folder: Path, chosen: Format) -> Path:
    stem = f"{chosen.name}-{datetime.now():%Y-%m-%d-%H%M%S}"
    return folder / (stem if chosen.many_files else stem + chosen.extensions[0])


def _row(row: SegmentRow) -> dict[str, object]:
    place: dict[str, object]
    if row.kind == "sound":
        place = {"From (s)": row.start_s, "To (s)": row.end_s, "Low (Hz)": row.low_hz, "High (Hz)": row.high_hz}
    else:
        place = dict(zip(("Left", "Top", "Right", "Bottom"), row.box or (None,) * 4))
    return {
        "File": PurePosixPath(row.file).name,
        "Label": row.label or ("background" if row.status == "background" else ""),
        "Status": row.status,
        "Probability": row.probability,
        **place,
        "Annotator": row.who,
    }


@st.fragment
@show_errors()
def exports_list(project: Project) -> None:
    """Show the latest exports that this installation wrote, with a download button each."""
    follow(project, "exports", at_least_every=10.0)  # files may be removed
    made = project.exports.list(limit=_MOST)
    ours = [one for one in made if one.files]
    if not made:
        return
    st.markdown("**Exports**")
    for one in ours:
        with st.container(horizontal=True, vertical_alignment="center", key=f"export-{one.job_id}"):
            _download(one)
    if len(ours) < len(made):
        st.caption(
            f"{count(len(made) - len(ours), 'export')} not listed: written on another computer, or before the project "
            "was moved."
        )


def _download(one: ExportMade) -> None:
    missing = f"; segments of {count(one.missing, 'bag')} were missing or out of date" if one.missing else ""
    st.text(f"{one.title}, {when(one.finished_at)}{missing}\n{one.target}", width="stretch")
    if not one.is_there():
        st.caption("the file no longer exists", width="content")
    elif one.size > _LARGEST:
        st.caption("too large to download: open its folder", width="content")
    else:
        st.download_button(
            "Download",
            one.content() if one.size <= _SMALL else one.content,
            file_name=one.file_name,
            icon=":material/download:",
            key=f"download.{one.job_id}",
            on_click="ignore",
        )
        if one.side_file is not None:
            st.download_button(
                "Provenance",
                one.side_content() if one.size <= _SMALL else one.side_content,
                file_name=one.side_file.name,
                icon=":material/info:",
                type="tertiary",
                help="Model, settings, people and filters of this export",
                key=f"provenance.{one.job_id}",
                on_click="ignore",
            )
