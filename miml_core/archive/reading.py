"""Read the data set of an archive, without loading it whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from miml_core.archive.bundle import SUFFIX
from miml_core.archive.results import TABLES, results_of, schema
from miml_core.errors import BagtagError

if TYPE_CHECKING:
    import pyarrow.dataset as ds


@dataclass(frozen=True)
class ArchiveSummary:
    """What an archive has of one model, counted in its files.

    Examples
    --------
    >>> found = ArchiveSummary("15e18923625cca17", files=480, hours=40.0, clips=14_400, segments=72_000, failures=[])
    >>> found.segments / found.hours
    1800.0
    """

    model: str
    files: int
    hours: float
    """Of sound; 0 for pictures."""
    clips: int
    segments: int
    failures: list[tuple[str, str]]
    """(file, reason)"""


def models_of(archive: Path) -> list[str]:
    """Return the ids of the models that were applied to an archive.

    Raises
    ------
    BagtagError
        The folder is no archive.

    Examples
    --------
    >>> from miml_core.archive.bundle import read_bundle
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     models_of(archive) == [read_bundle(archive.parent / "model.bagtag").id]
    True
    """
    found = sorted(path.stem for path in (archive / "models").glob(f"*{SUFFIX}"))
    if not found:
        raise BagtagError(f"{str(archive)!r} has no results of a model; give a folder that `bagtag apply` wrote to.")
    return found


def choose_model(archive: Path, model_id: str | None = None) -> str:
    """Return the id of the model of an archive; one of several has to be named, by the beginning of its id.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     [choose_model(archive)] == models_of(archive)
    True
    """
    known = models_of(archive)
    matching = [one for one in known if one.startswith(model_id or "")]
    if len(matching) != 1:
        raise BagtagError(
            f"{str(archive)!r} has results of the models {', '.join(known)}; choose one of them with `--model`."
        )
    return matching[0]


def open_table(archive: Path, table: str, model_id: str) -> ds.Dataset:
    """Return one table, with the columns `site` and `day`, of the tasks of a model that are complete.

    Parameters
    ----------
    archive : Path
    table : "segments", "clips" or "failures"
    model_id : str

    Returns
    -------
    pyarrow.dataset.Dataset
        Rows are read when they are asked for; the columns are those of `results.schema`.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     segments = open_table(archive, "segments", choose_model(archive))
    ...     for row in segments.to_table(columns=["site", "day", "class"]).to_pylist():
    ...         print(*row.values())
    hill 2024-05-01 Wren
    hill 2024-05-01 Robin
    marsh 2024-05-01 Wren
    """
    import pyarrow as pa
    import pyarrow.dataset as ds

    if table not in TABLES:
        raise BagtagError(f"There is no table {table!r}; there are {', '.join(TABLES)}.")
    paths = [result.path(archive, table) for result in results_of(archive, model_id)]
    if table == "failures":
        paths = [path for path in paths if path.is_file()]
    folders = pa.schema([("site", pa.string()), ("day", pa.string())])
    columns = pa.schema([*schema(table), *folders])
    if not paths:
        return ds.dataset(columns.empty_table())
    hive = ds.partitioning(folders, flavor="hive")
    return ds.dataset([str(path) for path in paths], schema=columns, partitioning=hive, format="parquet")


def read_failures(archive: Path, model_id: str) -> list[tuple[str, str]]:
    """Return (file, reason) of all files that could not be processed, each reason once per file.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     [file for file, reason in read_failures(archive, choose_model(archive))]
    ['survey/marsh/20240502_070000.wav']
    """
    rows = open_table(archive, "failures", model_id).to_table(columns=["file", "reason"]).to_pylist()
    return sorted({(row["file"], row["reason"]) for row in rows})


def summarise(archive: Path, model_id: str) -> ArchiveSummary:
    """Count what an archive has of a model.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     found = summarise(archive, choose_model(archive))
    >>> found.files, found.clips, found.segments, len(found.failures)
    (3, 3, 3, 1)
    """
    import pyarrow.compute as pc

    files: set[str] = set()
    seconds, clips = 0.0, 0
    for batch in open_table(archive, "clips", model_id).to_batches(columns=["file", "start", "end"]):
        files.update(pc.unique(batch.column("file")).to_pylist())
        seconds += pc.sum(pc.subtract(batch.column("end"), batch.column("start"))).as_py() or 0.0
        clips += len(batch)
    return ArchiveSummary(
        model=model_id,
        files=len(files),
        hours=seconds / 3600,
        clips=clips,
        segments=open_table(archive, "segments", model_id).count_rows(),
        failures=read_failures(archive, model_id),
    )
