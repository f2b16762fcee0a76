"""Functions that somebody else calls once per step: what a framework, a loader or a training loop expects."""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.agents import acting_role
from torchperf_lint.facts.roles.asked_at_epochs import is_asked_at_epochs, is_made_for_such
from torchperf_lint.facts.roles.averaged_models import AVERAGED, averages_a_model
from torchperf_lint.facts.roles.batch_transforms import transform_role
from torchperf_lint.facts.roles.called_objects import LOSS, call_role
from torchperf_lint.facts.roles.export_stubs import stands_in_for_an_operator
from torchperf_lint.facts.roles.framework_hooks import (
    DECODING,
    engine_role,
    hook_role,
    is_callback_hook,
    listening_role,
    trainer_role,
    without_grad,
)
from torchperf_lint.facts.roles.guidance import guiding_role
from torchperf_lint.facts.roles.logit_filters import FILTERS, filters_logits
from torchperf_lint.facts.roles.meters import METER_METHODS, follows_objects, goes_through_loaders, is_meter
from torchperf_lint.facts.roles.operations import (
    ON_ITEMS,
    PLAIN_BASES,
    annotated_operation,
    answer_of_a_module,
    measures,
    part_of_a_pass,
)
from torchperf_lint.facts.roles.role import EVERY_PASS, Role
from torchperf_lint.facts.roles.token_samplers import SAMPLER, draws_a_token
from torchperf_lint.facts.roles.wrapped_models import wraps_a_model
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_FORWARD = Role(
    "forward", "is the `forward` of a module, which every step runs", "in every forward pass", Confidence.CERTAIN
)
_FORWARD_OF_CALLABLE = _FORWARD._replace(
    because="is the `forward` that calling such an object runs, as of a module", confidence=Confidence.LIKELY
)
_ATTENTION = Role(
    "forward",
    "is an attention processor, which the attention layer that it is handed runs",
    "in every forward pass",
    Confidence.LIKELY,
)
_WRAPPER = Role(
    "forward",
    "wraps a model, which is called through it in every step",
    "in every call of the model",
    Confidence.LIKELY,
)
_FUNCTION = Role("forward", "is an autograd function, run in every pass through it", EVERY_PASS, Confidence.CERTAIN)
_OPTIMIZER = Role(
    "update", "is an optimizer's `step`, run every training step", "every optimizer step", Confidence.CERTAIN
)
_DATA = Role("data", "is run by the loader for every sample or batch", "for every sample", Confidence.CERTAIN)
_METER = Role("update", "is a meter's update, called every step", "every step", Confidence.LIKELY)
_OPTIMIZER_BY_NAME = _OPTIMIZER._replace(confidence=Confidence.LIKELY)
_DENOISER = Role(
    "rollout", "is run in every denoising step of a pipeline", "in every denoising step", Confidence.LIKELY
)
_FRAME = Role("eval", "follows objects from frame to frame", "for every frame", Confidence.LIKELY)
_TARGETS = Role(
    "step", "assigns targets, which every training step needs for its loss", "every training step", Confidence.LIKELY
)
_METRICS = Role(
    "step", "gives a trainer the metrics of a training step, by its name", "every training step", Confidence.LIKELY
)
_DECODING_NAME = pattern(r"Logits?(?:Processor|Warper|Filter)$|StoppingCriteri(?:a|on)$")
"""The same as classes of the project's own, or of what it was copied from."""
_TRACKER = pattern(
    r"^(?!.*(?:Metric|Loss|Time|Memory|Progress|Experiment|Usage|Status))(?:[A-Z]\w*)?Track(?:er(?:Base)?)?$"
)
"""Classes that follow objects through a video, and none that keep count of something."""
_TRACKS = frozenset({"step", "track", "track_step"})
_TARGETS_NAME = pattern(r"^_?(?:assign|get|build|generate|compute|encode)_targets?(?:_single)?$|^assign$")
_LOSS_NAME = pattern(
    r"(?:^|_)(?:loss|losses|gradient_penalty|grad_penalty)(?:_\dd|_with_logits|_fn|_func)?$|"
    r"^(?:compute|calc|calculate|get)_\w*loss(?:es)?(?:_dict)?$|^loss_|^gp$",
    re.IGNORECASE,
)
_METRICS_NAME = pattern(r"^get_(?:train_|batch_)?metrics?_dict$")
"""What a trainer asks a module for beside its losses, as nerfstudio's does."""
_OF_BATCHES = pattern(r"\.(?:(?:Cumulative)?Iteration|Regression)Metric$")
"""MONAI's metrics, which compute the scores of each batch, to be aggregated at the end."""
_SCORES = frozenset({"_compute_tensor", "_compute_metric"})
"""What they leave to their subclasses."""
_IN_EVALUATION = pattern(r"^_?forward_(?:test|inference|infer|predict\w*|eval\w*)$|^(?:simple|aug)_test$")
"""What a `forward` hands on to where it does not train."""
_DENOISING = frozenset({"step", "scale_model_input"})


def judges(index: Index, key: FunctionKey) -> bool:
    """Whether a function puts a model into evaluation mode and runs without gradients."""
    function = index.function(key)
    if not without_grad(function):
        return False
    return any(call.callee.endswith(".eval") for call in index.calls_in(key))


def is_evaluation_pass(callee: str) -> bool:
    """Whether a call is what a `forward` hands on to where it does not train, by its name."""
    return bool(_IN_EVALUATION.search(last_part(callee)))


def role_of(index: Index, types: Types, key: FunctionKey, called: bool) -> Role | None:
    """The role of a function, or None. `called`: whether the project itself calls it."""
    function = index.function(key)
    transforms = transform_role(index, key)
    if transforms is not None:
        return transforms
    if draws_a_token(index, key):
        return SAMPLER
    if function.class_index >= 0:
        cls = Thing("class", key.path, function.class_index)
        told = _method_role(index, types, cls, function.name, called) or engine_role(function)
        told = told or acting_role(index, key)
        if told is None and not called and averages_a_model(index, cls, function.name):
            return AVERAGED
        if told is None and not called and _is_loss_of_a_plain_class(index, key, function):
            return LOSS
        if told is None and not called and types.is_module_class(cls):
            told = part_of_a_pass(index, key) or answer_of_a_module(index, key)
        return told or (annotated_operation(index, key) if not called else None)
    if engine_role(function) is not None:
        return engine_role(function)
    is_loss = is_loss_by_name(function.name) or any(map(_REGISTERED_LOSS.search, function.decorators))
    if not called and is_loss and function.parent == 0 and not without_grad(function):
        return LOSS if index.outlines[key.path].imports_from("torch") else None
    if function.name in ("collate_fn", "collate"):
        return _DATA
    if guiding_role(function) is not None and index.outlines[key.path].imports_from("torch"):
        return guiding_role(function)
    return annotated_operation(index, key) if not called else None


def _is_loss_of_a_plain_class(index: Index, key: FunctionKey, function: Function) -> bool:
    """`training_losses(self, model, x, t)`: a method by the name of a loss that is given something to compute it of."""
    if not is_loss_by_name(function.name) or len(function.parameters) <= function.bound or without_grad(function):
        return False
    return index.outlines[key.path].imports_from("torch")


_REGISTERED_LOSS = pattern(r"(?:^|[._])regist\w*_loss(?:es)?\b|^(?:\w+\.)*\w*loss(?:es)?\.regist", re.IGNORECASE)
"""Decorators that put a function among the losses that a setting chooses from."""


def is_loss_by_name(name: str) -> bool:
    """Whether a function computes a loss, and neither shows nor keeps one."""
    return bool(_LOSS_NAME.search(name)) and not _TELLS_LOSSES.search(name) and not _OF_EVALUATION.search(name)


_TELLS_LOSSES = pattern(
    r"^_?(?:log|print|save|plot|show|draw|record|track|update|add|append|load|write|display|report|format|set|reset|init|"
    r"average|mean|reduce|aggregate|epoch|val|valid|validation|eval|evaluate|test|estimate|best|last|current|make|build|"
    r"create|configure|register|check|is|has|assert|validate|verify|get_(?:current|avg|average|mean|last|best))(?:_|$)"
)
"""Methods that show, keep or make losses, or compute those of a whole data set."""
_OF_EVALUATION = pattern(r"^(?:get|compute|calc|calculate)_(?:val|valid|validation|eval|evaluation|test)_")
"""Methods that compute the losses of an evaluation."""


def _trains(index: Index, cls: Thing) -> bool:
    """Whether the `forward` of a class takes steps of training itself: `self.accelerator.backward(loss)`, in a loop."""
    key = index.method(cls, "forward")
    if key is None:
        return False
    names = {last_part(call.callee) for call in index.calls_in(key)}
    return "backward" in names and bool(names & {"zero_grad", "step"})


def _pass_of_module(index: Index, cls: Thing) -> Role | None:
    if _trains(index, cls):
        return None  # a trainer that is called as a module is
    if not is_meter(index, cls) or "Loss" in index.record(cls).name or follows_objects(index, cls):
        return _FORWARD
    if goes_through_loaders(index, cls) or is_asked_at_epochs(index, cls) or is_made_for_such(index, cls):
        return None
    return _METER


def _method_role(index: Index, types: Types, cls: Thing, name: str, called: bool) -> Role | None:
    bases = index.external_bases(cls)
    if name == "forward":
        if types.is_module_class(cls):
            return _pass_of_module(index, cls)
        if "torch.autograd.Function" in bases:
            return _FUNCTION if not stands_in_for_an_operator(index, cls) else None
        runs = _is_called_as_forward(index, cls) or _is_derived(index, cls)
        return _FORWARD_OF_CALLABLE if runs and not ON_ITEMS.search(cls.path) else None
    if name == "backward" and "torch.autograd.Function" in bases:
        return _FUNCTION
    if name == "step" and any(base.startswith("torch.optim.") and "lr_scheduler" not in base for base in bases):
        return _OPTIMIZER
    if name in ("__getitem__", "__iter__") and any(base.startswith("torch.utils.data.") for base in bases):
        return _DATA
    scores = name in _SCORES and any(map(_OF_BATCHES.search, bases))
    if scores or (name in METER_METHODS and is_meter(index, cls)):
        return _METER if not is_made_for_such(index, cls) else None
    told = hook_role(bases, name) or trainer_role(index, cls, name) or _role_by_names(index, cls, name)
    if told is not None:
        return told
    if not called and _TARGETS_NAME.search(name) and _gets_truth(index, cls, name):
        return _TARGETS
    if types.is_module_class(cls) and not called and _LOSS_NAME.search(name) and not _OF_EVALUATION.search(name):
        return LOSS
    return _METRICS if types.is_module_class(cls) and not called and _METRICS_NAME.search(name) else None


def _role_by_names(index: Index, cls: Thing, name: str) -> Role | None:
    """What a method is by its name and by what its class and the bases are called."""
    if is_callback_hook(name):
        return listening_role(index, cls, name)
    if name == "step" and (
        any(base.endswith("Optimizer") for base in index.class_names(cls)) or _goes_through_groups(index, cls)
    ):
        return _OPTIMIZER_BY_NAME
    if name == "__call__":
        if any(_DECODING_NAME.search(base) for base in index.class_names(cls)):
            return DECODING
        told = call_role(index, cls)
        if told is not None:
            return told
        if _is_attention_processor(index, cls):
            return _ATTENTION
        if wraps_a_model(index, cls):
            return _WRAPPER
        return _DENOISER if _is_loop_block(index, cls) else None
    if name in FILTERS and filters_logits(index, cls, name):
        return DECODING
    if name in _TRACKS and _TRACKER.search(index.record(cls).name) and index.outlines[cls.path].imports_from("torch"):
        key = index.method(cls, name)
        given = key is not None and len(index.function(key).parameters) > 1
        return (_METER if measures(cls.path) else _FRAME) if given else None
    if name in _DENOISING:
        key = index.method(cls, "step")
        parameters = [p.name for p in index.function(key).parameters] if key is not None else []
        if "model_output" in parameters and any(base.endswith("Scheduler") for base in index.class_names(cls)):
            return _DENOISER
    return None


def _goes_through_groups(index: Index, cls: Thing) -> bool:
    """Whether a class of another library's base goes through `self.param_groups` in its `step`, as optimizers do."""
    key = index.method(cls, "step")
    if key is None or all(base.startswith(PLAIN_BASES) for base in index.external_bases(cls)):
        return False  # of a schedule's own making
    regions = (region for region in index.outlines[key.path].regions if region.function == key.index)
    return any(region.kind == "loop" and region.iterable == "self.param_groups" for region in regions)


def _gets_truth(index: Index, cls: Thing, name: str) -> bool:
    """Whether a method is given what is true beside what is to be assigned to it: anchors, boxes, points."""
    key = index.method(cls, name)
    names = [p.name for p in index.function(key).parameters] if key is not None else []
    return any(n.startswith("gt_") or n in ("targets", "gts", "ground_truth") for n in names)


def _is_loop_block(index: Index, cls: Thing) -> bool:
    """A block of diffusers' modular pipelines that the denoising loop calls: with the timestep `t` of each turn."""
    key = index.method(cls, "__call__")
    parameters = {p.name for p in index.function(key).parameters} if key is not None else set()
    blocks = any(base.endswith("PipelineBlocks") for base in index.class_names(cls))
    return blocks and {"block_state", "t"} <= parameters


def _is_attention_processor(index: Index, cls: Thing) -> bool:
    """A processor of diffusers' attention layers: it is called with the layer itself, `attn`, and its input."""
    key = index.method(cls, "__call__")
    parameters = [p.name for p in index.function(key).parameters] if key is not None else []
    return parameters[1:3] == ["attn", "hidden_states"] and "Processor" in index.record(cls).name


def _is_derived(index: Index, cls: Thing) -> bool:
    """A class of a base that nobody here can read, `gpytorch.kernels.Kernel`, whose `forward` is given tensors."""
    key = index.method(cls, "forward")
    if key is None or all(base.startswith(PLAIN_BASES) for base in index.external_bases(cls)):
        return False
    given = any(p.annotation.endswith("Tensor") for p in index.function(key).parameters)
    return given and index.outlines[key.path].imports_from("torch")


def _is_called_as_forward(index: Index, cls: Thing) -> bool:
    """A plain class that does as modules do: its `__call__` hands on to `forward`, and it computes with torch."""
    key = index.method(cls, "__call__")
    if key is None or not index.outlines[cls.path].imports_from("torch"):
        return False
    return any(call.callee == "self.forward" for call in index.calls_in(key))
