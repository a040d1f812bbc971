"""The one place where thread counts are set.

Two things run on many cores here: BLAS inside NumPy's matrix products, and our own numba kernels, which release
the interpreter lock and are spread over bags by `run_in_threads`. They take turns and are never nested, so each
may use every core. (Nested, they multiply: a fit once became 100 times slower that way.) `BAGTAG_THREADS` sets the
number for both; processes that joblib starts run with `BAGTAG_THREADS=1`.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

_LIBRARY_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def thread_count() -> int:
    """Number of threads any one computation may use."""
    wanted = os.environ.get("BAGTAG_THREADS", "")
    return max(1, int(wanted)) if wanted.isdigit() else (os.cpu_count() or 1)


def set_library_defaults() -> None:
    """Tell BLAS and OpenMP the same number; takes effect when NumPy has not been imported yet."""
    for variable in _LIBRARY_VARIABLES:
        os.environ.setdefault(variable, str(thread_count()))


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=workers, thread_name_prefix="bagtag")


def run_in_threads(work: Callable[[int, int], None]) -> None:
    """Call `work(share, shares)` once a thread and wait; `work` must release the interpreter lock to gain from it."""
    shares = thread_count()
    if shares == 1:
        work(0, 1)
        return
    for done in [_pool(shares).submit(work, share, shares) for share in range(shares)]:
        done.result()
