"""Which files of labels to import, and how."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import streamlit as st

from miml_core.exchange.column_tables import FIELDS, header_of, recognise_columns
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.parquet import is_parquet, parquet_header
from miml_core.exchange.reading import READABLE, READERS, read_labels
from miml_core.project import Project
from miml_core.project.edits.import_preview import ImportPreview
from miml_core.project.edits.label_plan import ImportOptions, Overlaps, Rest, Way
from pages.widgets.errors import action_button
from pages.widgets.library.add_media import safe_name
from pages.widgets.text import count, plain, sentence_case

WAYS: dict[Way, str] = {"segments": "Confirmed segments", "tags": "Tags only", "suggestions": "Suggestions to review"}
_EXPLAINED: dict[Way, str] = {
    "segments": "Every label becomes a segment with its class, and a tag of its bag.",
    "tags": "A bag is tagged with all classes that have a label in it; no segments are added.",
    "suggestions": "Labels are shown on Review with their score, until you accept or correct them.",
}
_OVERLAPS: dict[Overlaps, str] = {
    "replace": "Replace detected segments nobody labelled",
    "keep": "Keep both",
    "skip": "Leave the label out",
}
_REST: dict[Rest, str] = {"unknown": "Not known", "absent": "Absent: the files are completely labelled"}
_ENDINGS = sorted({ending.lower().lstrip(".") for reader in READERS.values() for ending in reader.extensions} | {"zip"})
_ROUND, _READ, _SHOWN = "import.round", "import.read", "import.shown"
_AUTO = "Detect automatically"
_NONE = "(none)"
_UNITS = {"_s": " (s)", "_hz": " (Hz)", "_px": " (px)"}


def _title(field: str) -> str:
    unit = next((ending for ending in _UNITS if field.endswith(ending)), "")
    return field.removesuffix(unit).replace("_", " ").capitalize() + _UNITS.get(unit, "")


_TITLES = {field: _title(field) for field in FIELDS}


def choose_labels(project: Project) -> LabelTable | None:
    """Draw the choice of files and format; return what was read of them."""
    number = st.session_state.setdefault(_ROUND, 0)  # another number empties the list of files after an import
    files = st.file_uploader("Label files", type=_ENDINGS, accept_multiple_files=True, key=f"import.files.{number}")
    formats = [name for name, title in READABLE.items() if name not in READERS or project.kind in READERS[name].kinds]
    st.selectbox(
        "Format",
        [_AUTO, *formats],
        format_func=lambda name: READABLE.get(name, name),
        key="import.format",
        help="Chosen by the content of each file; choose it by hand if that is wrong.",
    )
    return _read(files) if files else None


def _read(files: list[Any]) -> LabelTable:
    """Read the files again only if they, the format or the columns have changed."""
    chosen = st.session_state["import.format"]
    columns = _chosen_columns()
    wanted = ([file.file_id for file in files], chosen, columns)
    kept = st.session_state.get(_READ)
    if kept is None or kept[0] != wanted:
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for number, file in enumerate(files):
                place = Path(folder) / str(number)  # several files may have the same name
                place.mkdir()
                paths.append(place / safe_name(file.name))
                paths[-1].write_bytes(file.getbuffer())
            table = read_labels(paths, format=None if chosen == _AUTO else chosen, columns=columns)
        kept = (wanted, table, _header(files[0].getbuffer()))
        st.session_state[_READ] = kept
    return kept[1]


def _header(content: Any) -> list[str]:
    """Return the headings of a table, none of a file that is no table."""
    head = bytes(content[:65536])
    return parquet_header(bytes(content)) if is_parquet(head) else header_of(head.decode("utf-8", errors="replace"))


def choose_columns() -> None:
    """Offer the columns of a table, if the format is a table of any program or was not recognised."""
    _, table, header = st.session_state[_READ]
    is_table = "table" in table.files.values() or (not table.files and len(header) > 1)
    if not is_table:
        return
    known = recognise_columns(header)
    with st.expander("Columns of the table", expanded=not table.rows, key="import.columns-open", on_change="rerun"):
        for field in FIELDS:
            heading = known.get(field, _NONE)
            st.selectbox(
                _TITLES[field],
                [_NONE, *dict.fromkeys(header)],
                index=0 if heading == _NONE else 1 + list(dict.fromkeys(header)).index(heading),
                key=f"import.column.{field}",
            )


def _chosen_columns() -> dict[str, str]:
    """Return the columns that were chosen by hand, empty ones only where a heading was recognised."""
    kept = st.session_state.get(_READ)
    if kept is None:
        return {}
    header = kept[2]
    known = recognise_columns(header)
    chosen = {field: st.session_state.get(f"import.column.{field}", known.get(field, _NONE)) for field in FIELDS}
    entered = {field: "" if heading == _NONE else heading for field, heading in chosen.items()}
    changed = {field: heading for field, heading in entered.items() if heading != known.get(field, "")}
    return {field: heading for field, heading in changed.items() if not heading or heading in header}


def choose_options(project: Project) -> ImportOptions:
    """Draw how the labels come in; return it, without the classes."""
    way = st.radio("Import as", list(WAYS), format_func=WAYS.__getitem__, key="import.way")
    st.caption(_EXPLAINED[way])
    least = 0.0
    overlaps: Overlaps = "replace"
    rest: Rest = "unknown"
    with st.container():  # what is below keeps its place
        if way == "suggestions":
            least = st.slider("Minimum score", 0.0, 1.0, 0.0, 0.05, key="import.score", help="Lower ones are left out.")
        if way != "tags":
            overlaps = st.selectbox(
                "If a label overlaps existing segments",
                list(_OVERLAPS),
                format_func=_OVERLAPS.__getitem__,
                key="import.overlaps",
            )
        if way != "suggestions":
            rest = st.selectbox(
                "Classes without a label in a bag", list(_REST), format_func=_REST.__getitem__, key="import.rest"
            )
    pattern = st.text_input(
        "File name pattern",
        key="import.pattern",
        placeholder="for example labels_*_v2",
        help="If files in the table are called differently: * stands for the name of the recording.",
    )
    return ImportOptions(way=way, overlaps=overlaps, rest=rest, pattern=pattern.strip(), least_score=least)


def import_button(project: Project, shown: ImportPreview) -> None:
    """Draw the button that does what the preview shows."""
    if shown.unreadable:
        st.checkbox(f"Leave out {count(len(shown.unreadable), 'line')} that cannot be read", key="import.leave_out")
    st.session_state[_SHOWN] = shown
    noun = {"segments": "segment", "tags": "tag", "suggestions": "suggestion"}[shown.plan.options.way]
    action_button(
        f"Import {count(shown.n_imported, noun)}",
        _import,
        project,
        key="import.start",
        type="primary",
        icon=":material/download:",
        disabled=not shown.n_imported,
    )


def _import(project: Project) -> None:
    shown = st.session_state[_SHOWN]
    result = project.edits.import_labels(shown, leave_out_errors=st.session_state.get("import.leave_out", False))
    st.session_state[_ROUND] += 1
    for key in (_READ, _SHOWN):
        st.session_state.pop(key, None)
    st.toast(plain(sentence_case(result.sentence)), icon=":material/check_circle:")
