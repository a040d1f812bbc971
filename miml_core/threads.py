"""Set the number of threads of all computations.

Work is distributed over cores by our own Numba kernels, which release the interpreter lock and share the bags
(`run_in_threads`), or by processes that joblib starts with `BAGTAG_THREADS=1`. BLAS has one thread: our matrices are
narrow, so that more threads gain little, and on a busy machine they wait for each other actively (a mixture that is
fitted in 0.4 s took 9 s with two). Thread counts therefore never multiply. `BAGTAG_THREADS` sets the number of cores of
one computation.
"""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache

_BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def thread_count() -> int:
    """Return the number of threads of one computation."""
    wanted = os.environ.get("BAGTAG_THREADS", "")
    return max(1, int(wanted)) if wanted.isdigit() else (os.cpu_count() or 1)


def set_library_defaults() -> None:
    """Set one thread for BLAS, ours for OpenMP, and passive waiting; variables that are already set are kept."""
    asked_for = any(variable in os.environ for variable in _BLAS_VARIABLES)
    for variable in _BLAS_VARIABLES:
        os.environ.setdefault(variable, "1")
    os.environ.setdefault("OMP_NUM_THREADS", str(thread_count()))
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if "numpy" in sys.modules and not asked_for:
        import threadpoolctl

        threadpoolctl.threadpool_limits(1, user_api="blas")


def lower_priority(by: int) -> None:
    """Lower the priority of this process, where the system supports it."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, by)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=workers, thread_name_prefix="bagtag")


def run_in_threads(work: Callable[[int, int], None]) -> None:
    """Call `work(share, shares)` once per thread and wait; `work` should release the interpreter lock."""
    shares = thread_count()
    if shares == 1:
        work(0, 1)
        return
    for done in [_pool(shares).submit(work, share, shares) for share in range(shares)]:
        done.result()
