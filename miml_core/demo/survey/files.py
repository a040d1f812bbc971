"""Write the recordings of the demo's survey, and continue after an interruption."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from miml_core.atomic_files import write_file
from miml_core.demo.survey.plan import Recording, SurveyPlan
from miml_core.demo.survey.sounds import SurveySounds, TrueCall, to_flac
from miml_core.demo.survey.truth import day_file, read_plan, write_day, write_survey
from miml_core.errors import BagtagError
from miml_core.progress import Progress, ignore_progress
from miml_core.threads import thread_count

RECORDINGS = "recordings"
_BYTES_PER_SECOND = 12_000
"""Of a recording, more than usual."""
_OTHER_BYTES = 500_000_000


def make_recordings(folder: Path, plan: SurveyPlan, progress: Progress = ignore_progress) -> None:
    """Write the recordings of a survey and their truth; what an earlier call completed is kept.

    Parameters
    ----------
    folder : Path
        Gets `survey.json`, `recordings` and `truth`.
    plan : SurveyPlan
    progress : Progress
        Called with the seconds of sound after each recording.

    Raises
    ------
    BagtagError
        The folder has another survey, or the disk has too little space.
    """
    there = read_plan(folder)
    if there is not None and there != plan:
        raise BagtagError(
            f"{str(folder)!r} has a survey of {there.hours:g} hours, {there.days} days, {there.sites} sites and seed "
            f"{there.seed}; give the same numbers to continue it, or another folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    if there is None:
        write_survey(folder, plan)
    left = [one for one in plan.recordings if not day_file(folder, one, plan).is_file()]
    of_seconds = sum(one.seconds for one in plan.recordings)
    done = of_seconds - sum(one.seconds for one in left)
    _check_space(folder, of_seconds - done)
    progress(done, of_seconds, {})
    sounds = SurveySounds(plan)

    def write(recording: Recording) -> list[TrueCall]:
        samples, calls = sounds.make(recording)
        write_file(folder / RECORDINGS / recording.file, to_flac(samples))
        return calls

    if left:
        sounds.prepare()
    of_day: dict[str, list[TrueCall]] = {}
    pool = ThreadPoolExecutor(thread_count())
    try:
        for number, (recording, calls) in enumerate(zip(left, pool.map(write, left))):
            of_day[recording.file] = calls
            path = day_file(folder, recording, plan)
            if number + 1 == len(left) or day_file(folder, left[number + 1], plan) != path:
                write_day(path, of_day)
                of_day = {}
            done += recording.seconds
            progress(done, of_seconds, {})
    finally:
        pool.shutdown(cancel_futures=True)


def _check_space(folder: Path, seconds: float) -> None:
    needed = seconds * _BYTES_PER_SECOND + (_OTHER_BYTES if seconds > 3600 else 0)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BagtagError(
            f"{str(folder)!r} has {free / 1e9:.1f} GB of free space, but the survey needs up to {needed / 1e9:.1f} GB. "
            "Give another folder, or a survey of fewer hours."
        )
