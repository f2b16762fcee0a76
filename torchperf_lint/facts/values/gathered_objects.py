"""Lists that a collective of Python objects has filled: what they began with, often empty tensors, is gone."""

from __future__ import annotations

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import Frame


def holds_objects(body: Body, name: str, frame: Frame) -> bool:
    """Whether a name stands for such a list at a place."""
    given = body.passed_to(frame.function, name)
    return any(
        line < frame.at[0] and api.OBJECT_COLLECTIVES.get(last_part(callee)) == place for callee, line, place in given
    )
