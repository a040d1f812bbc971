"""The true calls of the demo's survey, in files that learning never reads.

    truth/alder-carr/2025-05-12.json     the calls in the recordings of a site and day
    survey.json                          the plan, and the known rhythm of each species

The file of a site and day is written when its recordings are complete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.atomic_files import write_file
from miml_core.demo.survey.plan import Recording, SurveyPlan
from miml_core.demo.survey.rhythms import SURVEY_SPECIES
from miml_core.demo.survey.sounds import TrueCall
from miml_core.errors import BagtagError

TRUTH, SURVEY_FILE = "truth", "survey.json"
_HEARD_SECONDS, _HEARD_SHARE = 0.2, 0.5
"""How much of a call must be in a clip for a person to hear it, whichever is less."""
ENOUGH = 0.25
"""A segment with a smaller share of its box inside the box of a call is background."""

Box = tuple[float, float, float, float]
"""Start, end (seconds), low, high (hertz)."""


def day_file(folder: Path, recording: Recording, plan: SurveyPlan) -> Path:
    """Return the file of the truth of a recording."""
    return folder / TRUTH / plan.site(recording).name / f"{recording.start.date().isoformat()}.json"


def write_day(path: Path, calls: Mapping[str, Iterable[TrueCall]]) -> None:
    """Write the calls of the recordings of a site and day."""
    found = {
        file: [
            [SURVEY_SPECIES[one.species].name, *(round(x, 3) for x in (one.start, one.end, one.low, one.high))]
            for one in of_file
        ]
        for file, of_file in calls.items()
    }
    write_file(path, json.dumps({"columns": ["species", "start", "end", "low", "high"], "calls": found}).encode())


def write_survey(folder: Path, plan: SurveyPlan) -> None:
    """Write the plan and what is known of its species."""
    species = [
        {
            "name": one.name,
            "when": one.when,
            "calls_per_minute": one.calls_per_minute,
            "activity_by_hour": [round(float(x), 4) for x in one.hourly()],
        }
        for one in SURVEY_SPECIES
    ]
    sites = [
        {
            "name": site.name,
            "latitude": site.place.latitude,
            "longitude": site.place.longitude,
            "common": dict(zip((one.name for one in SURVEY_SPECIES), site.common)),
        }
        for site in plan.all_sites
    ]
    content = {"kind": "survey", "plan": plan.to_dict(), "species": species, "sites": sites}
    write_file(folder / SURVEY_FILE, json.dumps(content, indent=1).encode())


def read_plan(folder: Path) -> SurveyPlan | None:
    """Return the plan of the survey in a folder; None if there is none."""
    try:
        return SurveyPlan(**json.loads((folder / SURVEY_FILE).read_text(encoding="utf-8"))["plan"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BagtagError(f"{str(folder / SURVEY_FILE)!r} is damaged; create the survey in another folder.") from error


@dataclass(frozen=True, eq=False)
class SurveyTruth:
    """The calls of a survey.

    Attributes
    ----------
    names : list of str
        The species.
    calls : dict
        File below the folder of recordings -> (species, (n,) int, boxes, (n, 4) float), see `Box`.
    """

    names: list[str]
    calls: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]

    @classmethod
    def read(cls, folder: Path) -> SurveyTruth:
        """Read the truth of the survey in a folder."""
        names = [one.name for one in SURVEY_SPECIES]
        calls = {}
        for path in sorted((folder / TRUTH).glob("*/*.json")):
            for file, rows in json.loads(path.read_text(encoding="utf-8"))["calls"].items():
                species = np.array([names.index(row[0]) for row in rows], dtype=np.int64)
                calls[file] = (species, np.array([row[1:] for row in rows], dtype=float).reshape(-1, 4))
        return cls(names, calls)

    def heard(self, file: str, start: float, end: float) -> list[str]:
        """Return the species that a person hears in a clip."""
        species, boxes = self.calls[file]
        inside = np.minimum(boxes[:, 1], end) - np.maximum(boxes[:, 0], start)
        enough = inside >= np.minimum(_HEARD_SECONDS, _HEARD_SHARE * (boxes[:, 1] - boxes[:, 0]))
        return [self.names[k] for k in np.unique(species[enough])]

    def labels(self, file: str, boxes: Iterable[Box]) -> list[str | None]:
        """Return what segments really are: the species whose calls fill most of each, None for background.

        Examples
        --------
        >>> call = (np.array([1]), np.array([[2.0, 3.0, 4000.0, 5000.0]]))
        >>> truth = SurveyTruth(["wren", "robin"], {"a.flac": call})
        >>> truth.labels("a.flac", [(2.1, 2.9, 4100.0, 4900.0), (2.9, 3.9, 4100.0, 4900.0)])
        ['robin', None]
        """
        species = self.calls[file][0]
        return [None if call is None else self.names[species[call]] for call in self.calls_at(file, boxes)]

    def calls_at(self, file: str, boxes: Iterable[Box]) -> list[int | None]:
        """Return for each segment the number of the call that fills most of it, None for background."""
        species, calls = self.calls[file]
        found: list[int | None] = []
        for start, end, low, high in boxes:
            seconds = np.minimum(calls[:, 1], end) - np.maximum(calls[:, 0], start)
            hertz = np.minimum(calls[:, 3], high) - np.maximum(calls[:, 2], low)
            area = np.clip(seconds, 0, None) * np.clip(hertz, 0, None)
            filled = np.bincount(species, area, len(self.names)) if len(species) else np.zeros(1)
            is_call = filled.max() >= ENOUGH * (end - start) * (high - low)
            found.append(int(np.where(species == filled.argmax(), area, -1).argmax()) if is_call else None)
        return found
