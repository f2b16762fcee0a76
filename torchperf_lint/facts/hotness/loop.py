"""What a loop that makes its body hot is, and how often such bodies run, in words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

FEW_TURNS = 8
"""A loop with a literal bound up to this many turns is not hot by itself."""
PARTS = pattern(
    r"(?:^|[._])(?:blocks?|layers?|modules?|stages?|regions|sub_?modules|encoder_?layers|decoder_?layers)(?:\(\))?$"
    r"|named_(?:modules|children)\(\)$|\.(?:modules|children)\(\)$",
    re.IGNORECASE,
)
"""What a model is made of: a loop over it goes through the model once, as a conversion does, or a pass."""
EVERY_STEP = "every training step"
EVERY_GRADIENT = "every turn of a loop that takes gradients"
"""Where no optimizer is in sight: an attack, a search for an input."""
EVERY_EVALUATION = "every evaluation batch"
EVERY_BATCH = "every batch"
EVERY_INPUT = "with every input"
EVERY_TURN = "every turn of a decoding loop"
EVERY_RUN = "every turn of a loop that runs the model"
EVERY_MOVE = "every step of the environment"
EVERY_DENOISING_STEP = "every denoising step"
EVERY_ITERATION = "every iteration"
"""Of a numerical algorithm."""
EVERY_GENERATION = "every generation"
"""Of an evolutionary search."""


@dataclass(frozen=True)
class Loop:
    """A loop that makes its body hot."""

    kind: str
    """step, eval or rollout."""
    because: str
    confidence: Confidence
    line: int
    """The line of `for` or `while`, as near as the outline knows: the line above its body."""
    when: str
    """`every training step`: how often its body runs."""
