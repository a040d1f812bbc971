"""What is different in programs that tests start: servers, and the jobs that these start.

Importing this module makes the change: background work keeps its priority, because beside other programs that use all
cores a test would wait for it many times as long.
"""

import os


def _keep_priority() -> None:
    os.nice = lambda increment: 0
    os.setpriority = lambda which, who, priority: None


_keep_priority()
