"""The garbage collector of a command that is about to end."""

from __future__ import annotations

import atexit
import gc


def rest() -> None:
    """Look for no garbage any more.

    Syntax trees hold no cycles; looking for some costs a third of linting. The process ends after it: its memory goes
    back as a whole, while freeing a project's trees one by one, as Python ends, would take a tenth.
    """
    gc.disable()
    atexit.register(gc.freeze)
