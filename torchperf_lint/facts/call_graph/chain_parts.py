"""Chains taken apart: `self.layers[0]()` is `self`, then `.layers`, `[0]` and `()`."""

from __future__ import annotations

from functools import lru_cache

from torchperf_lint.patterns import pattern

_HEAD = pattern(r"\w+")
_PARTS = pattern(r"\.\w+|\(\)|\[\w*\]")


@lru_cache(1 << 14)
def split(chain: str) -> tuple[str, tuple[str, ...]]:
    """A chain's head name and its further parts."""
    match = _HEAD.match(chain)
    head = match.group() if match else ""
    return head, tuple(_PARTS.findall(chain, len(head)))
