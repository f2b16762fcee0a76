"""What callers pass for a parameter, beside what its annotation says of it."""

from __future__ import annotations

from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence


def as_annotated(value: Value, passed: Value) -> Value | None:
    """What callers pass for a parameter whose annotation says what `value` does; None where that says more."""
    if value.kind == "tensor" and passed.kind in ("object", "module"):
        return value  # a call of something else by that name
    if passed.kind in ("unknown", "nothing") or (value.kind == "sequence" and passed.kind not in ("batch", "loader")):
        return None
    if value.kind != "tensor" or passed.kind not in ("tensor", "batch"):
        return passed
    # An annotation tells what part of a batch is meant, one tensor and no list; and that it is a tensor for certain,
    # where callers only have a test of it: `if isinstance(data, Tensor)`.
    sure = Confidence.LIKELY if passed.confidence is Confidence.POSSIBLE else passed.confidence
    return passed._replace(kind="tensor", confidence=sure)
