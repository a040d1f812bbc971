"""Subscribe what depends on the events of a project; importing this module does it."""

from miml_core.project.db import counters
from miml_core.project.events import BagsChanged, EditStored, subscribe
from miml_core.project.instances import feature_blocks
from miml_core.project.jobs import repredict
from miml_core.project.learning import review_index

subscribe(BagsChanged, feature_blocks.forget_reshaped)
subscribe(BagsChanged, counters.update)
subscribe(BagsChanged, review_index.update)
subscribe(EditStored, repredict.note_edit)
