"""What makes a function hot by itself, whoever calls it."""

from __future__ import annotations

from typing import NamedTuple

from torchperf_lint.model import Confidence

EVERY_CALL = "in every call"
"""When an operation runs that nothing in the project calls: whoever uses the library does so in every step."""
EVERY_PASS = "in every pass"
"""When a hook or an autograd function runs, and what the passes of a base class call."""
WITH_STEPS = "with every optimizer step"
"""When a hook of an optimizer runs."""
EACH_STEP = "in every step of the environment"
"""When an agent acts, whose environment somebody else steps."""
EACH_LOSS = "every training step that asks for it"
"""When a loss runs that a library computes for whoever trains."""


class Role(NamedTuple):
    """A function that is hot by what it is."""

    kind: str
    because: str
    when: str
    confidence: Confidence
