"""Load the machine code of the kernels: a process that is forked from this one need not, which takes half a second."""

from miml_core import posterior
from miml_core.features import acoustic as sound_features
from miml_core.segments import acoustic as sound_segments

for module in (sound_segments, sound_features, posterior):
    module.warm()
