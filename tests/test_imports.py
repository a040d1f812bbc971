"""Importing the core is cheap, and threads are set in one place."""

import os
import subprocess
import sys

from tests.conftest import PATIENCE

BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def python(code: str, **env: str) -> str:
    """What a fresh interpreter prints, in which nobody has asked for BLAS threads."""
    plain = {name: value for name, value in os.environ.items() if name not in BLAS}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**plain, **env}, timeout=PATIENCE
    )
    return done.stdout.strip()


def test_the_core_pulls_in_nothing_heavy():
    heavy = "['numba', 'librosa', 'sklearn', 'skimage', 'scipy', 'sqlalchemy', 'pandas', 'streamlit']"
    assert python(f"import sys, miml_core, miml_core.models; print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_blas_has_one_thread_whichever_is_imported_first():
    found = "{pool['num_threads'] for pool in threadpoolctl.threadpool_info() if pool['user_api'] == 'blas'}"
    for order in ("numpy, miml_core", "miml_core, numpy"):
        assert python(f"import {order}, threadpoolctl; print({found})") == "{1}"


def test_the_number_of_threads_is_one_setting():
    code = "from miml_core.threads import thread_count; print(thread_count())"
    assert python(code, BAGTAG_THREADS="3") == "3"
