"""The mark of tests that run BirdNET; `make test` installs it."""

import pytest

from miml_core.features.birdnet import birdnet_status

needs_birdnet = pytest.mark.skipif(not birdnet_status().installed, reason=birdnet_status().reason)
