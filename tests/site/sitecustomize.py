"""Python imports this at the start of every program that tests start with this folder in PYTHONPATH."""

import tests.started_programs  # noqa: F401
