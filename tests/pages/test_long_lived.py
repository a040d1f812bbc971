"""What modules hold is set aside from the search for garbage, once for many new modules."""

import gc

from pages.widgets import long_lived


def test_what_lives_is_set_aside_once_and_new_garbage_is_still_found(monkeypatch):
    monkeypatch.setattr(long_lived, "_seen", 0)
    try:
        long_lived.set_modules_aside()
        aside = gc.get_freeze_count()
        assert aside > 10_000
        long_lived.set_modules_aside()
        assert gc.get_freeze_count() <= aside, "nothing new was loaded"
        circle: list = []
        circle.append(circle)
        del circle
        assert gc.collect() >= 1
    finally:
        gc.unfreeze()
