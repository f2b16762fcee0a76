"""What makes a function hot by itself, whoever calls it."""

from __future__ import annotations

from typing import NamedTuple

from torchperf_lint.model import Confidence


class Role(NamedTuple):
    """A function that is hot by what it is."""

    kind: str
    because: str
    when: str
    confidence: Confidence
