"""The order in which Python looks a class's bases through: the nearest first, a base after all that derive from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def resolution_order(cls: T, bases: Callable[[T], Sequence[T]]) -> tuple[T, ...]:
    """The class and its bases, each once: Python's own order, or breadth first where it would refuse the class."""
    order, several = _breadth_first(cls, bases)
    if not several:
        return tuple(order)
    done: dict[T, list[T]] = {}
    stack, open_ = [cls], {cls}
    while stack:
        current = stack[-1]
        needed = [b for b in dict.fromkeys(bases(current)) if b not in done and b not in open_]
        if needed:
            stack.append(needed[0])
            open_.add(needed[0])
            continue
        parents = [b for b in dict.fromkeys(bases(current)) if b in done]
        merged = _merged([*(done[b] for b in parents), parents])
        if merged is None:
            return tuple(order)
        done[current] = [current, *merged]
        stack.pop()
    return tuple(done[cls])


def _breadth_first(cls: T, bases: Callable[[T], Sequence[T]]) -> tuple[list[T], bool]:
    """The order for most classes, and whether any of them has several bases."""
    queue, seen, several = [cls], {cls}, False
    for current in queue:
        found = bases(current)
        several = several or len(found) > 1
        for base in found:
            if base not in seen:
                seen.add(base)
                queue.append(base)
    return queue, several


def _merged(lists: list[list[T]]) -> list[T] | None:
    """Each list in its order, nothing before what stands before it elsewhere; None where that cannot be."""
    merged: list[T] = []
    while lists := [found for found in lists if found]:
        head = next((found[0] for found in lists if not any(found[0] in other[1:] for other in lists)), None)
        if head is None:
            return None
        merged.append(head)
        lists = [found[1:] if found[0] == head else found for found in lists]
    return merged
