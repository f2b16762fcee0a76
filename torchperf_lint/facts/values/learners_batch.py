"""What callbacks of fastai ask their learner for as if it were their own: the batch of the step, and its loss.

class Mixed(Callback):
    def before_batch(self):
        x = self.xb[0]                              # `self.learn.xb[0]`

The learner's loaders have moved the batch to the device before.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import ANYWHERE, UNKNOWN, Frame, Value, sequence, tensor
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_PARTS = frozenset({"xb", "yb"})
"""The tuples of inputs and of targets."""
_OF_A_STEP = _PARTS | {"x", "y", "loss", "loss_grad"}
_LEARNER = ("self", "self.learn")


def of_learner(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """The value of `self.xb`, `self.learn.y` and their like in a callback of fastai."""
    if node.attr not in _OF_A_STEP or chain(node.value) not in _LEARNER:
        return UNKNOWN
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not _is_callback(values, own):
        return UNKNOWN
    because = f"`{chain(node)}` is of the step that the learner of fastai takes"
    found = tensor(ANYWHERE, because, Confidence.LIKELY)
    return sequence(found) if node.attr in _PARTS else found


def _is_callback(values: Values, own: Thing) -> bool:
    if any(base.startswith("fastai.") and base.endswith("Callback") for base in values.index.external_bases(own)):
        return True
    # A star import leaves the names of its classes all that there is.
    starred = any(star.startswith("fastai.") for star in values.index.outlines[own.path].stars)
    return starred and any(last_part(base).endswith("Callback") for base in values.index.record(own).bases)
