"""Room for what recurses over code: Python's limit of 1000 calls is reached by a sum of some hundred terms.

And by values that are made of each other through some dozens of functions.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_STACK_BYTES = 512 * 1024 * 1024
_RECURSION = 200_000
T = TypeVar("T")


def with_a_deep_stack(work: Callable[[], T]) -> T:
    """Do it in a thread that may recurse deeper; the outline's caps bound how deep. Raises what `work` raises."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 -- the caller has to see it, whatever it is
            errors.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
    try:
        sys.setrecursionlimit(_RECURSION)
        # A daemon, so that who interrupts a run need not wait for the file that is being read.
        thread = threading.Thread(target=run, daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no room for such a stack: most code needs less
            sys.setrecursionlimit(limit)
            return work()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        threading.stack_size(size)
    if errors:
        raise errors[0]
    return results[0]
