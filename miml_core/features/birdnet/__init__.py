"""BirdNET: embeddings and species scores of sound, by a neural network that was trained on 6522 species.

It is an optional extra; `birdnet_status` returns whether it is installed, and what to do if not.
"""

from miml_core.features.birdnet.clip_scores import is_sampled, mean_scores, sampled_starts, score_clip
from miml_core.features.birdnet.files import LICENCE, BirdnetStatus, birdnet_status
from miml_core.features.birdnet.location import WHOLE_YEAR, birdnet_week, species_by_place
from miml_core.features.birdnet.network import (
    FRAME_CENTRES,
    load_network,
    mel_images,
    run_frames,
    run_mel_images,
    run_windows,
    score_embeddings,
    species_weights,
)
from miml_core.features.birdnet.species import Species, find_species, species_list
from miml_core.features.birdnet.windows import (
    RATE,
    SECONDS,
    check_rate,
    cut_windows,
    read_windows,
    resample,
    suitable_rate,
    window_starts,
)

__all__ = [
    "FRAME_CENTRES",
    "LICENCE",
    "RATE",
    "SECONDS",
    "WHOLE_YEAR",
    "BirdnetStatus",
    "Species",
    "birdnet_status",
    "birdnet_week",
    "check_rate",
    "cut_windows",
    "find_species",
    "is_sampled",
    "load_network",
    "mean_scores",
    "mel_images",
    "read_windows",
    "resample",
    "run_frames",
    "run_mel_images",
    "run_windows",
    "sampled_starts",
    "score_clip",
    "score_embeddings",
    "species_by_place",
    "species_list",
    "species_weights",
    "suitable_rate",
    "window_starts",
]
