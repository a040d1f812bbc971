"""The exports made so far, to be downloaded."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import streamlit as st

from miml_core.exchange import FORMATS
from miml_core.project import Job, Project
from pages.widgets.words import when

_MOST = 5
_LARGEST = 500 * 1024**2


def exports_list(project: Project) -> None:
    """The latest exports with a download button each."""
    done = [job for job in project.jobs(limit=200) if job.kind == "export" and job.state == "done"][:_MOST]
    if not done:
        return
    st.markdown("**Made so far**")
    for job in done:
        with st.container(horizontal=True, vertical_alignment="center", key=f"export-{job.id}"):
            _download(job, Path(str(job.params["path"])))


def _download(job: Job, target: Path) -> None:
    title = FORMATS[str(job.params["format"])].title
    st.text(f"{title}, {when(job.finished_at)}\n{target}", width="stretch")
    if not target.exists():
        st.caption("no longer there", width="content")
    elif _size(target) > _LARGEST:
        st.caption("large: take it from its folder", width="content")
    else:
        st.download_button(
            "Download",
            lambda: _content(target),
            file_name=target.name + (".zip" if target.is_dir() else ""),
            icon=":material/download:",
            key=f"download.{job.id}",
            on_click="ignore",
        )


def _size(target: Path) -> int:
    return sum(file.stat().st_size for file in _files(target))


def _files(target: Path) -> list[Path]:
    return sorted(path for path in target.rglob("*") if path.is_file()) if target.is_dir() else [target]


def _content(target: Path) -> bytes:
    """The file, or the folder as one archive."""
    if target.is_file():
        return target.read_bytes()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in _files(target):
            archive.write(file, file.relative_to(target).as_posix())
    return stream.getvalue()
