"""Apply a model to all files of an archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from miml_core import installation
from miml_core.archive import results
from miml_core.archive.bundle import SUFFIX, ModelBundle, read_bundle, read_bundle_cached
from miml_core.archive.cluster import LostCluster, LostProcess, connect, run_bounded
from miml_core.archive.plan import Stretch, Task, plan_tasks
from miml_core.archive.recordings import (
    FoundFile,
    HeaderCache,
    RecordingFile,
    SitePattern,
    find_recordings,
    named_folders,
    read_headers,
    reason_of,
)
from miml_core.archive.results import Result
from miml_core.archive.work import Tables, TaskReport, do_stretch, do_task, failed_part, store_parts
from miml_core.atomic_files import write_file
from miml_core.errors import BagtagError
from miml_core.file_lock import Locked, hold_lock

if TYPE_CHECKING:
    from distributed import Client

_HEADERS_AT_ONCE = 100
_TASK_SECONDS = 1800.0
"""Sound per task: about three seconds of work without an embedding."""
_TASK_SECONDS_EMBEDDING = 240.0
_TASK_PICTURES = 10.0
_NAMED = 3


@dataclass
class ApplyProgress:
    """How far the work is; what an earlier run did counts as done.

    Examples
    --------
    >>> ApplyProgress("applying", files=120, of_files=480, seconds=36_000.0, of_seconds=144_000.0).sentence
    '120 of 480 files, 10.0 of 40.0 h'
    """

    stage: str = "reading headers"
    files: int = 0
    of_files: int = 0
    seconds: float = 0.0
    of_seconds: float = 0.0
    """Sound, or pictures."""
    done_before: float = 0.0
    """Part of `seconds` that was done by an earlier run."""
    segments: int = 0
    """Found by this run."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """(file, reason) of this run."""
    dashboard: str = ""
    is_sound: bool = True

    @property
    def sentence(self) -> str:
        """Files, hours and failures in one line."""
        failures = f", {len(self.failures)} failures" if self.failures else ""
        hours = f", {self.seconds / 3600:,.1f} of {self.of_seconds / 3600:,.1f} h" if self.is_sound else ""
        return f"{self.files:,} of {self.of_files:,} files{hours}{failures}"


Report = Callable[[ApplyProgress], None]
"""Called with what is known of a run so far.

Not a `Progress`, because one number of steps does not describe a run: files and hours advance at the same time, time
left excludes what an earlier run did, and the page lists failures and the address of the dashboard while it works.
"""


@dataclass(frozen=True)
class ApplyOptions:
    """How to apply a model.

    Attributes
    ----------
    scheduler, workers
        See `cluster.connect`.
    site_pattern : str, optional
        See `SitePattern`.
    remove_missing : bool
        Remove results of files that no longer exist; otherwise they are a reason to stop.
    task_seconds : float, optional
        Sound per task.
    in_process : bool
        Work in this process, without Dask: for small archives.

    Examples
    --------
    >>> ApplyOptions(workers=4, site_pattern=r"/(?P<site>[A-Z]+)_").workers
    4
    """

    scheduler: str | None = None
    workers: int | None = None
    site_pattern: str | None = None
    remove_missing: bool = False
    task_seconds: float | None = None
    in_process: bool = False


def apply_model(
    bundle_file: Path,
    folders: Sequence[Path],
    archive: Path,
    options: ApplyOptions | None = None,
    report: Report | None = None,
) -> ApplyProgress:
    """Apply a model to all files below folders, and store the results in the folder `archive`.

    What was done by an earlier call, complete or interrupted, is not done again; results of files that have changed are
    replaced. At the end the data set is the same, however often the work was interrupted.

    Parameters
    ----------
    bundle_file : Path
        See `bundle.py`.
    folders : sequence of Path
    archive : Path
        See `results.py`.
    options : ApplyOptions, optional
    report : callable, optional
        Called with the same `ApplyProgress` after every step.

    Returns
    -------
    ApplyProgress
        At the end.

    Raises
    ------
    BagtagError
        The bundle cannot be used here, a folder cannot be read, another command writes to the archive, or the cluster
        is lost (`LostCluster`). A file that cannot be processed is a row of the table of failures.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     work = archive.parent / "model.bagtag", [archive.parent / "survey" / "hill"], archive.parent / "results"
    ...     done = [apply_model(*work, ApplyOptions(in_process=True)) for _ in range(2)]
    >>> [(one.files, one.segments, one.done_before) for one in done]  # the second call finds all done
    [(1, 2, 0.0), (1, 0, 1.0)]
    """
    options = options or ApplyOptions()
    sites = SitePattern(options.site_pattern)
    bundle = read_bundle(bundle_file)
    now = ApplyProgress(is_sound=bundle.kind == "sound")
    report = report or (lambda _: None)
    with _own_archive(archive):
        found = find_recordings(folders, bundle.kind)
        now.of_files = len(found)
        kept = _keep_bundle(archive, bundle_file, bundle)
        with _Cluster(options, now) as cluster:
            headers = _headers(cluster, archive, found, bundle.kind, now, report)
            tasks = list(
                plan_tasks(
                    headers,
                    model_id=bundle.id,
                    clip_seconds=bundle.clip_seconds,
                    task_seconds=options.task_seconds or _usual_seconds(bundle),
                    sites=sites,
                )
            )
            _remove_outdated(archive, bundle.id, tasks, options.remove_missing, set(named_folders(folders)))
            write_file(archive / "folders.json", json.dumps(_folders(archive, folders)).encode())
            for folder in named_folders(folders).values():
                installation.allow_folder(archive, folder, "media")
            _work(cluster, archive, kept, tasks, now, report)
    now.stage = "done"
    report(now)
    return now


def model_file(archive: Path, model_id: str) -> Path:
    """Return where an archive keeps a bundle.

    Examples
    --------
    >>> model_file(Path("results"), "15e18923625cca17").as_posix()
    'results/models/15e18923625cca17.bagtag'
    """
    return archive / "models" / f"{model_id}{SUFFIX}"


class _Cluster(ExitStack):
    """A connection to Dask that is made when there is work."""

    def __init__(self, options: ApplyOptions, now: ApplyProgress) -> None:
        super().__init__()
        self._options, self._now = options, now
        self._client: Client | None = None

    @property
    def client(self) -> Client | None:
        """The client, None to work in this process; `ApplyProgress` has the address of its dashboard from now on."""
        if self._client is None and not self._options.in_process:
            self._client = self.enter_context(connect(self._options.scheduler, self._options.workers))
            self._now.dashboard = str(self._client.dashboard_link or "")
        return self._client

    def may_renew(self) -> bool:
        """Return whether the workers are processes of this computer that can be started again."""
        return self._options.scheduler is None

    def renew(self) -> None:
        """Start other processes the next time that the client is used."""
        self.close()
        self._client = None


def _usual_seconds(bundle: ModelBundle) -> float:
    if bundle.kind == "picture":
        return _TASK_PICTURES
    return _TASK_SECONDS if bundle.settings.embedding is None else _TASK_SECONDS_EMBEDDING


@contextmanager
def _own_archive(archive: Path) -> Iterator[None]:
    """Create the folder if needed and keep other commands from writing to it."""
    if archive.is_dir() and not (archive / "models").is_dir() and any(archive.iterdir()):
        raise BagtagError(f"{str(archive)!r} has files of something else; give a new folder for the results.")
    (archive / "models").mkdir(parents=True, exist_ok=True)
    try:
        with hold_lock(archive / ".lock"):
            yield
    except Locked:
        raise BagtagError(f"Another command is writing to {str(archive)!r}; wait until it ends.") from None


def _keep_bundle(archive: Path, bundle_file: Path, bundle: ModelBundle) -> Path:
    """Copy the bundle into the archive, where the workers read it, and which documents the results."""
    kept = model_file(archive, bundle.id)
    if not kept.is_file():
        write_file(kept, bundle_file.read_bytes())
    return kept


def _folders(archive: Path, folders: Sequence[Path]) -> dict[str, str]:
    """Return where the folders of the recordings are, with those of earlier calls."""
    try:
        earlier = json.loads((archive / "folders.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        earlier = {}
    return {**earlier, **{name: str(folder) for name, folder in named_folders(folders).items()}}


def _headers(
    cluster: _Cluster, archive: Path, found: list[FoundFile], kind: str, now: ApplyProgress, report: Report
) -> list[RecordingFile]:
    """Return the headers of all files, in the order of their names."""
    cache = HeaderCache(archive)
    known, unknown = cache.split(found)
    parts = [unknown[k : k + _HEADERS_AT_ONCE] for k in range(0, len(unknown), _HEADERS_AT_ONCE)]
    if not parts:
        return sorted(known, key=lambda one: one.file)
    of_part = run_bounded(cluster.client, read_headers, parts, kind, key=lambda part: f"headers-{part[0].file}")
    for part, read in of_part:
        if isinstance(read, Exception):
            reason = reason_of(part[0].path, read)
            read = [
                RecordingFile(one.file, one.path, one.size, one.changed, problem=reason, again=True) for one in part
            ]
        known += read
        now.files = len(known)
        report(now)
    known.sort(key=lambda one: one.file)
    cache.write(known)
    return known


def _remove_outdated(archive: Path, model_id: str, tasks: list[Task], remove_missing: bool, roots: set[str]) -> None:
    """Remove results that the plan does not have: of files that changed, or were grouped with one that did.

    Results of files below other folders than the given ones stay.
    """
    planned = {Result(task.site, task.day, task.name) for task in tasks}
    files = {stretch.recording.file for task in tasks for stretch in task.stretches}
    outdated, missing = [], set()
    for result in results.results_of(archive, model_id):
        if result in planned:
            continue
        of_result = results.files_of(archive, result)
        if any(file.partition("/")[0] in roots for file in of_result):
            outdated.append(result)
            missing |= set(of_result) - files
    if missing and not remove_missing:
        named = ", ".join(sorted(missing)[:_NAMED]) + (" ..." if len(missing) > _NAMED else "")
        raise BagtagError(
            f"{len(missing)} files of which the archive has results no longer exist ({named}). Restore them, or "
            "remove their results with `--remove-missing`."
        )
    for result in [*outdated, *results.results_to_retry(archive, model_id)]:
        results.remove_result(archive, result)
    results.remove_unfinished(archive, model_id, planned)


def _work(
    cluster: _Cluster, archive: Path, bundle_file: Path, tasks: list[Task], now: ApplyProgress, report: Report
) -> None:
    stored = set(results.results_of(archive, read_bundle_cached(bundle_file).id))
    to_do = [task for task in tasks if Result(task.site, task.day, task.name) not in stored]
    now.stage, now.files = "applying", now.of_files - sum(one.is_end for task in to_do for one in task.stretches)
    now.of_seconds = sum(task.seconds for task in tasks)
    now.seconds = now.done_before = now.of_seconds - sum(task.seconds for task in to_do)
    report(now)
    if not to_do:
        return
    remaining = dict.fromkeys(to_do)
    while remaining:
        before = len(remaining)
        try:
            for task, done in _do_tasks(cluster, archive, bundle_file, list(remaining), now, report):
                del remaining[task]
                now.files += done.files
                now.seconds += done.seconds
                now.segments += done.segments
                now.failures += done.failures
                report(now)
        except LostCluster:
            if len(remaining) == before or not cluster.may_renew():
                raise
            cluster.renew()


def _do_tasks(
    cluster: _Cluster, archive: Path, bundle_file: Path, tasks: list[Task], now: ApplyProgress, report: Report
) -> Iterator[tuple[Task, TaskReport]]:
    client = cluster.client
    report(now)
    arguments = (str(archive.absolute()), str(bundle_file.absolute()))
    for task, done in run_bounded(client, do_task, tasks, *arguments, key=lambda task: task.name):
        if isinstance(done, Exception):
            done = _do_apart(client, task, done, archive, bundle_file)
        yield task, done


def _do_apart(client: Client | None, task: Task, error: Exception, archive: Path, bundle_file: Path) -> TaskReport:
    """Do the stretches of a task one by one, after one of them ended the process or raised an error."""
    bundle = read_bundle_cached(bundle_file)
    if isinstance(error, OSError):  # the disk is full, or the archive is not reachable: no fault of a recording
        reason = error.strerror or str(error).removesuffix(".")
        raise BagtagError(
            f"The results could not be written to {str(archive)!r}: {reason}. Free some space or reconnect the disk, "
            "then start again: finished work is kept."
        ) from error
    parts: dict[Stretch, Tables] = {}

    def key(stretch: Stretch) -> str:
        return f"{task.name}-{task.stretches.index(stretch)}"

    for stretch, part in run_bounded(client, do_stretch, task.stretches, str(bundle_file.absolute()), key=key):
        if isinstance(part, LostProcess):
            name = Path(stretch.recording.path).name
            reason = (
                f"{name} was left out: the worker process crashed on it several times, perhaps because memory ran out. "
                "Use fewer processes (`--workers`), or remove the file."
            )
            part = failed_part(stretch, reason, bundle.id)
        elif isinstance(part, Exception):
            part = failed_part(stretch, reason_of(stretch.recording.path, part), bundle.id)
        parts[stretch] = part
    return store_parts(task, [parts[stretch] for stretch in task.stretches], archive, bundle)
