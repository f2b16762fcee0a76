"""Factories of a project that do as torch's: `tensor(numbers, device=d)`, which hands on to `torch.tensor`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_NAMES = frozenset({"tensor", "as_tensor", "asarray"})


def torch_name(values: Values, node: ast.Call, frame: Frame) -> str | None:
    """The name in `torch` of the function that a call runs, itself or through the project's own of that name."""
    thing = values.thing(node.func, frame)
    if thing is None:
        return None
    if thing.kind == "external":
        return thing.dotted.removeprefix("torch.") if thing.dotted.startswith("torch.") else None
    return _handed_on(values, thing) if thing.kind == "function" else None


def _handed_on(values: Values, thing: Thing) -> str | None:
    """`tensor` of fastai, a function by that name that calls `torch.tensor` with the keywords it is given."""
    outline = values.index.outlines[thing.path]
    name = outline.functions[thing.index].name
    if name not in _NAMES:
        return None
    own = (call.callee for call in outline.calls if call.function == thing.index)
    return name if f"torch.{name}" in own else None
