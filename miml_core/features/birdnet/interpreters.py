"""Make LiteRT interpreters with one thread."""

from __future__ import annotations

from typing import Any

from miml_core.errors import BagtagError
from miml_core.extras import install_command


def make_interpreter(content: bytes) -> Any:
    """Return an interpreter of a TFLite model that is ready to run, with one thread.

    Cores are used by several processes instead, so that thread counts do not multiply (`threads.py`).

    Raises
    ------
    BagtagError
        The library cannot be imported, or refuses the model.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(model_content=content, num_threads=1)
        interpreter.allocate_tensors()
    except (ImportError, RuntimeError, ValueError) as error:
        raise BagtagError(
            f"The library that runs BirdNET cannot be used ({error}): install it again with "
            f"{install_command('birdnet')!r}."
        ) from error
    return interpreter
