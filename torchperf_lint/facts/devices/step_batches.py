"""The batch that a framework hands to a step, on the device by then; a part of it is a tensor where only tensors can do
what is asked.

Lightning moves what it gives to `training_step`; the Trainer of transformers moves `inputs` in `_prepare_inputs`,
before it calls `compute_loss`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.records import Function, Parameter
from torchperf_lint.facts.roles.framework_hooks import is_lightning, is_trainer
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import DEVICE, HOST, UNKNOWN, Value, mapping, sequence
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_LIGHTNING_STEPS = frozenset({"training_step", "validation_step", "test_step", "predict_step"})
_ANY_CONTAINER = pattern(r"^(?:typing\.)?(?:Any|dict|Dict|Mapping|tuple|Tuple)\b(?!.*\bstr\])")
"""Annotations that say no more than that it is a batch: `dict[str, Any]`; of `dict[str, str]` it is none of tensors."""
_INPUTS = 2
"""The place of the batch in `compute_loss(self, model, inputs)`."""
_NUMBERS_OF_MANY = frozenset("sum mean max min any all argmax argmin amax amin norm count_nonzero".split())
_CONVERSIONS = frozenset("long float int bool half double type detach".split())
_SHAPES = frozenset("squeeze view reshape transpose swapaxes flatten expand repeat".split())
"""Methods that lay out the elements of an array anew: what lies on the device is no array."""
_IN_A_RECORD = "the image of a record that detectron2's loader hands to `forward`"
_IN_A_STEP = "the batch, which the framework has moved to the device"


def says_no_more(annotation: str) -> bool:
    """Whether an annotation leaves open what is in a batch."""
    return not annotation or _ANY_CONTAINER.search(annotation) is not None


def batch_of_step(index: Index, key: FunctionKey, function: Function, parameter: Parameter) -> Value | None:
    """The batch, where a parameter of a method that a framework calls is it."""
    if function.class_index < 0:
        return None
    bases = index.external_bases(Thing("class", key.path, function.class_index))
    place = next(n for n, each in enumerate(function.parameters) if each.name == parameter.name)
    if function.name in _LIGHTNING_STEPS and (parameter.name == "batch" or (place == 1 and is_lightning(bases))):
        return Value("batch", DEVICE, _IN_A_STEP)
    if function.name == "forward" and parameter.name == "batched_inputs":
        return _records() if index.outlines[key.path].imports_from("detectron2") else None
    if function.name == "compute_loss" and place == _INPUTS and is_trainer(bases):
        return Value("batch", DEVICE, _IN_A_STEP)
    return None


def _records() -> Value:
    """What detectron2 hands to `forward`: dicts, of which the image is a tensor on the host.

    What else they hold, `Instances`, has a class of its own with another `to`.
    """
    image = Value("batch", HOST, _IN_A_RECORD, Confidence.LIKELY)
    return sequence(mapping(UNKNOWN, (("image", image),)))


def is_from_a_loader(batch: Value) -> bool:
    """Whether a part of a batch that `forward` moves itself was made by a loader, a known one or its framework's."""
    return bool(batch.origins) or _IN_A_RECORD in batch.because


def prepared_inputs(values: Values, base: Value, name: str) -> Value | None:
    """What `self._prepare_inputs(inputs)` gives in a Trainer that leaves it as it is; None for other calls."""
    if name != "_prepare_inputs" or base.thing is None or base.thing.kind != "instance":
        return None
    cls = Thing("class", base.thing.path, base.thing.index)
    if values.index.method(base.thing, name) is not None or not is_trainer(values.index.external_bases(cls)):
        return None
    return Value("batch", DEVICE, _IN_A_STEP)


def one_tensor(value: Value) -> Value:
    """A part of such a batch that is asked for what only tensors have; other values as they are."""
    return value._replace(kind="tensor") if value.kind == "batch" and value.device == DEVICE else value


def compared(value: Value) -> Value:
    """What a comparison with a part of such a batch gives: a mask, but of an entry that is a number."""
    return one_tensor(value).weaker(Confidence.LIKELY) if value.kind == "batch" and value.device == DEVICE else value


def shows_a_tensor(name: str) -> bool:
    """Whether a method is one of tensors, and of no container: `batch["lengths"].max()`."""
    return name in _NUMBERS_OF_MANY or name in _CONVERSIONS or name in _SHAPES or name in api.TENSOR_MARKS


def takes_ranges(node: ast.Subscript) -> bool:
    """`batch["labels"][:, 1:]`: no list can be asked for that."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else []
    return any(isinstance(part, ast.Slice) for part in parts)
