"""Transforms that run on each batch, on the device: fastai's, and methods that are patched onto tensors.

fastai calls `before_call` and `encodes` of a transform by the type that `encodes` is annotated with: an image of PIL
is an item on the host, a tensor is a batch that has been moved. `@patch` of fastcore makes a function a method of the
class that its first parameter is annotated with.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.outlines.signatures import TENSOR_CLASS
from torchperf_lint.facts.roles.operations import no_operation
from torchperf_lint.facts.roles.role import EVERY_CALL, Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_TRANSFORM = pattern(r"(?:Transform|Tfm)$")
_CALLED = frozenset({"encodes", "before_call"})
_OF_A_STATE = ("before_call", "__call__")
"""The methods of what a batch transform is made of: it draws for a batch, then is called on it."""

_BATCH = Role("step", "is a transform of tensors, run on every batch", "every batch", Confidence.LIKELY)
_PATCHED = Role(
    "forward",
    "is patched onto tensors as a method: transforms call it on every batch",
    EVERY_CALL,
    Confidence.LIKELY,
)


def transform_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a function that works on whole batches by what it is part of, or None."""
    function = index.function(key)
    if function.class_index >= 0:
        return _BATCH if function.name in (*_CALLED, *_OF_A_STATE) and _transforms(index, key, function) else None
    patched = "patch" in function.decorators and _given_tensor(function, 0) and not no_operation(key, function)
    return _PATCHED if patched else None


def _transforms(index: Index, key: FunctionKey, function: Function) -> bool:
    cls = Thing("class", key.path, function.class_index)
    # fastai is imported with a star, which leaves the names of its classes all that there is.
    written = (base for c in index.ancestry(cls) if c.kind == "class" for base in index.record(c).bases)
    if any(map(_TRANSFORM.search, (*index.class_names(cls), *map(last_part, written)))):
        own = [f for f in index.outlines[key.path].functions if f.class_index == cls.index and f.name == "encodes"]
        asked = [function] if function.name == "encodes" else own if function.name == "before_call" else []
        return bool(asked) and all(_given_tensor(f, 1) for f in asked)
    methods = index.record(cls).methods
    return all(name in methods for name in _OF_A_STATE) and function.name in _OF_A_STATE


def _given_tensor(function: Function, place: int) -> bool:
    parameters = function.parameters
    return len(parameters) > place and bool(TENSOR_CLASS.match(parameters[place].annotation))
