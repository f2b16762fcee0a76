"""What callers pass for a parameter, beside what its annotation says of it."""

from __future__ import annotations

from torchperf_lint.facts.values.value import DEVICE, Value
from torchperf_lint.model import Confidence


def as_annotated(value: Value, passed: Value) -> Value | None:
    """What callers pass for a parameter whose annotation says what `value` does; None where that says more."""
    if value.kind == "tensor" and passed.kind in ("object", "module"):
        return value  # a call of something else by that name
    if passed.kind in ("unknown", "nothing") or (value.kind == "sequence" and passed.kind not in ("batch", "loader")):
        return None
    if value.kind != "tensor" or passed.kind not in ("tensor", "batch"):
        return passed
    # An annotation tells what part of a batch is meant, one tensor and no list; and that what callers have moved to the
    # device is a tensor, of which they only have a test: `if isinstance(data, Tensor): data = data.to(device)`.
    moved = passed.confidence is Confidence.POSSIBLE and passed.device == DEVICE
    return passed._replace(kind="tensor", confidence=Confidence.LIKELY if moved else passed.confidence)
