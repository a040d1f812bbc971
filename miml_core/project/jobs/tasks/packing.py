"""Pack the project to a zip file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.export_targets import PackCheck, resolve_target
from miml_core.project.media import files as media_files
from miml_core.project.packing.pack import pack


def run(context: JobContext) -> dict[str, Any]:
    """Write the database, the runs and, if asked for, the media to a zip file."""
    folder = context.store.folder
    path = Path(context.params["path"])
    if not path.is_absolute():
        raise BagtagError(f"A project is packed to the full path of a file, not to {str(path)!r}.")
    with context.store.read() as connection:
        stored = [medium.path for medium in media_files.all_media(connection)]
    check = PackCheck(folder, [media_files.real_path(folder, each) for each in stored])
    target, with_media = resolve_target(path), bool(context.params.get("media"))
    packed = pack(
        context.store, target, media=with_media, progress=context.progress, check=check, job_id=context.job_id
    )
    installation.record_exports(folder, [target])
    for each in packed.left_out:
        context.fail(each.name, each.reason)
    files = f", with {counted(packed.n_media, 'media file')}" if with_media else ""
    return {
        "message": f"packed the project to {path}{files} ({packed.size / 1e6:,.1f} MB)",
        "files": [str(target)],
        "bytes": packed.size,
        "media": packed.n_media,
        "left_out": len(packed.left_out),
        "counts": packed.manifest.counts,
    }
