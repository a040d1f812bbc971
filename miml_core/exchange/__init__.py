"""Read and write segments in the formats of other programs: one module per format, all with the same interface.

`FORMATS` has the formats by name; their rows are `SegmentRow`s.

>>> list(FORMATS)  # doctest: +ELLIPSIS
['csv', 'parquet', 'raven', 'raven-combined', 'audacity', 'aoef', 'label-studio', 'coco', ...]
"""

from miml_core.exchange.aoef import Aoef
from miml_core.exchange.audacity import AudacityLabels
from miml_core.exchange.base import Format
from miml_core.exchange.birdnet_training import BirdnetTraining
from miml_core.exchange.coco import CocoJSON
from miml_core.exchange.cutouts import CutOuts
from miml_core.exchange.label_maps import LabelMaps
from miml_core.exchange.label_studio import LabelStudio
from miml_core.exchange.parquet import ParquetTable
from miml_core.exchange.raven import RavenCombined, RavenTable
from miml_core.exchange.rows import SegmentRow, by_file
from miml_core.exchange.segments_csv import SegmentsCSV

FORMATS: dict[str, Format] = {
    chosen.name: chosen
    for chosen in (
        *(SegmentsCSV(), ParquetTable(), RavenTable(), RavenCombined(), AudacityLabels(), Aoef()),
        *(LabelStudio(), CocoJSON(), LabelMaps(), CutOuts(), BirdnetTraining()),
    )
}

__all__ = ["FORMATS", "Format", "SegmentRow", "by_file"]
