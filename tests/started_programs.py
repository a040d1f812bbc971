"""What is different in programs that tests start: servers, and the jobs that these start.

Importing this module makes the changes. Background work keeps its priority, because beside other programs that use all
cores a test would wait for it many times as long. Pages look for changes twice per second, so that tests hardly
wait for them; whatever a page has open must survive more runs of its fragments than usual.
"""

import os
import sys

_POLL_SECONDS = 0.5


def _keep_priority() -> None:
    os.nice = lambda increment: 0
    os.setpriority = lambda which, who, priority: None


def _poll_often() -> None:
    import streamlit

    fragment = streamlit.fragment

    def quick_fragment(func=None, *, run_every=None, **more):
        if isinstance(run_every, int | float):
            run_every = min(run_every, _POLL_SECONDS)
        return fragment(func, run_every=run_every, **more)

    streamlit.fragment = quick_fragment


_keep_priority()
if "streamlit" in sys.orig_argv:
    _poll_often()
