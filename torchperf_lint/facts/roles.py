"""Functions that somebody else calls once per step: what a framework, a loader or a training loop expects."""

from __future__ import annotations

import re
from collections.abc import Collection

from torchperf_lint.facts.batch_transforms import transform_role
from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index import FunctionKey, Index, Thing
from torchperf_lint.facts.logit_filters import FILTERS, filters_logits
from torchperf_lint.facts.meters import METER_METHODS, ONCE_PER_EPOCH, goes_through_loaders, is_meter
from torchperf_lint.facts.operations import PLAIN_BASES, annotated_operation, measures, part_of_a_pass
from torchperf_lint.facts.records import Function
from torchperf_lint.facts.role import Role
from torchperf_lint.facts.types import Types
from torchperf_lint.facts.wrapped_models import wraps_a_model
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

COLD_NAME = pattern(
    r"^__(?:new|repr|str|del|post_init|setstate|getstate|deepcopy|len|hash|eq)__$|^extra_repr$|^(?:re)?set(?:up)?$"
    r"|^reset_parameters$|^_?pre_?alloc|(?:^|_)init_weights?$|^_?initiali[sz]e|^_init_|_initiali[sz]ation$"
    r"|(?:^|_)(?:export|onnx|checkpoint|ckpt|plot|visuali[sz]e|visuali[sz]ation|vis|debug|profile|benchmark|dump|"
    r"demo|warmup|sanity)(?:_|$)|^(?:load|save|restore)(?:_|$)|state_dict|pretrained|^on_\w*epoch_(?:end|start)$"
    r"|(?:^|_)draw_(?:\w+_)?(?:box(?:es)?|bbox(?:es)?|markers?|labels?|lines?|text|points?|keypoints?|skeletons?|images?|"
    r"frames?|masks?|circles?|rectangles?|tracks?|heatmaps?|results?|predictions?|detections?)$"
    r"|^(?:un)?merge(?:_adapter|_and_unload)?$|^(?:un)?fuse(?:_\w*lora\w*)?$|epoch_end$|^configure_"
    r"|^_\w+_(?:compute|reduce)$",  # what functional metrics make of a finished state, once an epoch
    re.IGNORECASE,
)
_COLD_UNLESS_CALLED = pattern(r"^(?:convert|from|test)_|^test$|^__init__$", re.IGNORECASE)
"""Names of what runs once, in most programs; what hot code calls runs as often as that does."""

_EXPORTS = pattern(r"(?:^|/)export(?:s|ers?|ing)?(?:/|\.py$)", re.IGNORECASE)
"""Files with what wraps models for other runtimes: it is traced, not trained."""

NOT_TRAINING_NAME = pattern(
    r"(?:^|_)(?:export|onnx|plot|visuali[sz]e|visuali[sz]ation|vis|debug|profile|benchmark|demo|sanity|"
    r"dry_?run|(?<!linear_)probe)(?:_|$)",
    re.IGNORECASE,
)
"""Functions whose own loops are not hot either."""

WHOLE_RUN_NAME = pattern(r"^_?(?:fit|calibrate|solve|main|run)(?:_(?!batch|step|one)\w*)?$", re.IGNORECASE)
"""Functions that do a whole optimisation a call, even where the one step in sight takes a closure (L-BFGS)."""


_FORWARD = Role(
    "forward", "is the `forward` of a module, which every step runs", "in every forward pass", Confidence.CERTAIN
)
_STEP = Role("step", "is called by its framework every training step", "every training step", Confidence.CERTAIN)
_EVAL = Role("eval", "is called by its framework every evaluation batch", "every evaluation batch", Confidence.CERTAIN)
_STEP_BY_NAME = Role(
    "step", "is by its name what a training loop calls every step", "every training step", Confidence.LIKELY
)
_EVAL_BY_NAME = Role(
    "eval", "is by its name what a loop calls every evaluation batch", "every evaluation batch", Confidence.LIKELY
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
_FUNCTION = Role(
    "forward", "is an autograd function, run in every pass through it", "in every pass", Confidence.CERTAIN
)
_OPTIMIZER = Role(
    "update", "is an optimizer's `step`, run every training step", "every optimizer step", Confidence.CERTAIN
)
_DATA = Role("data", "is run by the loader for every sample or batch", "for every sample", Confidence.CERTAIN)
_METER = Role("update", "is a meter's update, called every step", "every step", Confidence.LIKELY)
_HOOK = Role("step", "is a callback's hook, run for every batch", "every batch", Confidence.LIKELY)
HOOK_IN_PASS = Role(
    "forward", "is a hook, given to `{}` (line {}): it runs in every pass", "in every pass", Confidence.LIKELY
)
EVENT = Role("step", "handles `{}`, which an engine fires for every batch", "every batch", Confidence.LIKELY)
_ENGINE_STEP = Role("step", "is what an ignite engine calls for every batch", "every training step", Confidence.LIKELY)
_ENGINE_HANDLER = Role(
    "step",
    "is a handler for loggers, which an ignite engine calls at each event that it is attached to",
    "every event it is attached to",
    Confidence.LIKELY,
)
_ENGINE_EVAL = Role("eval", "is what an ignite engine calls for every batch", "every batch", Confidence.LIKELY)
_OPTIMIZER_BY_NAME = _OPTIMIZER._replace(confidence=Confidence.LIKELY)
_DENOISER = Role(
    "rollout", "is run in every denoising step of a pipeline", "in every denoising step", Confidence.LIKELY
)
_FRAME = Role("eval", "follows objects from frame to frame", "for every frame", Confidence.LIKELY)
_TARGETS = Role(
    "step", "assigns targets, which every training step needs for its loss", "every training step", Confidence.LIKELY
)
_DECODING = Role("rollout", "is called by `generate` for every new token", "in every decoding step", Confidence.LIKELY)
_METRICS = Role(
    "step", "gives a trainer the metrics of a training step, by its name", "every training step", Confidence.LIKELY
)
_LOSS = Role("step", "computes a loss, which every training step needs", "every training step", Confidence.LIKELY)

_STEP_HOOKS = {
    "training_step",
    "on_train_batch_start",
    "on_train_batch_end",
    "on_before_backward",
    "on_after_backward",
    "on_before_zero_grad",
    "on_before_optimizer_step",
    "optimizer_step",
    "train_step",
    "compute_loss",
    "handle_batch",
    "_do_one_batch",
    "do_one_batch",
    "train_one_batch",
    "on_batch_end",
    "on_batch_start",
    "train_on_batch",
    "learn_on_batch",
    "train_batch",
    "fit_batch",
    "train_iter",
    "train_one_iter",
    "compute_objectives",
}
_EVAL_HOOKS = {
    "validation_step",
    "test_step",
    "predict_step",
    "prediction_step",
    "on_validation_batch_start",
    "on_validation_batch_end",
    "on_test_batch_start",
    "on_test_batch_end",
    "on_predict_batch_start",
    "on_predict_batch_end",
}
_DECODING_HOOKS = frozenset({"prepare_inputs_for_generation", "_update_model_kwargs_for_generation", "_reorder_cache"})
"""What `generate` of transformers calls for every token."""
_DECODING_BASE = pattern(r"^transformers\.(?:\w+\.)*(?:\w*LogitsProcessor|LogitsWarper|StoppingCriteria)$")
_DECODING_NAME = pattern(r"Logits?(?:Processor|Warper|Filter)$|StoppingCriteri(?:a|on)$")
"""The same as classes of the project's own, or of what it was copied from."""
_TRACKER = pattern(
    r"^(?!.*(?:Metric|Loss|Time|Memory|Progress|Experiment|Usage|Status))(?:[A-Z]\w*)?Track(?:er(?:Base)?)?$"
)
"""Classes that follow objects through a video, and none that keep count of something."""
_TRACKS = frozenset({"step", "track", "track_step"})
_FRAMEWORK_BASE = pattern(
    r"^lightning\.(?:LightningModule|Callback|LightningDataModule)|^(?:transformers|trl)\.\w*Trainer$|^catalyst\.|"
    r"^pytorch_lightning\.|^torchmetrics\."
)
_TARGETS_NAME = pattern(r"^_?(?:assign|get|build|generate|compute|encode)_targets?(?:_single)?$|^assign$")
_LOSS_NAME = pattern(
    r"(?:^|_)(?:loss|losses|gradient_penalty|grad_penalty)(?:_\dd|_with_logits|_fn|_func)?$|"
    r"^(?:compute|calc|calculate|get)_\w*loss(?:es)?(?:_dict)?$|^loss_|^gp$",
    re.IGNORECASE,
)
_METRICS_NAME = pattern(r"^get_(?:train_|batch_)?metrics?_dict$")
"""What a trainer asks a module for beside its losses, as nerfstudio's does."""
_LOSS_CLASS = pattern(r"(?:Loss|Criterion)$|^(?:Compute|Calc)\w*Loss")
_CALLBACK_HOOK = pattern(
    r"^(?:before|after)_(?:batch|pred|loss|backward|step|cancel_batch|(?:train_|val_|test_)?iter)$|"
    r"^on_(?:sub)?step_(?:begin|end)$|^(?:batch|before_forward|after_forward|before_loss|after_loss)_(?:start|end)$|"
    r"^(?:before|after)_(?:forward|train_batch|eval_batch|dataloader)$|^eval_(?:batch|forward)_(?:start|end)$|"
    r"^(?:before|after)_(?:training|eval)_(?:iteration|update|forward|backward)$"
)
_HOOK_BASE = pattern(r"\.\w*Hook(?:Base)?$")
"""Hooks of runners, as of mmengine and detectron2; of a hook of the project's own the runner is there to be read."""
_OF_BATCHES = pattern(r"\.(?:Cumulative)?IterationMetric$")
"""MONAI's metrics, which compute the scores of each batch, to be aggregated at the end."""
_EVALUATES = pattern(r"eval|infer|valid|test", re.IGNORECASE)
_DENOISING = frozenset({"step", "scale_model_input"})


def is_cold(index: Index, key: FunctionKey, called: bool = False, trains: bool = False) -> bool:
    """Whether a function is cold: by its name, as a constructor, or as what a meter does once an epoch.

    `called`: whether hot code calls it. `trains`: whether it does a training step, as `warmup_actor` does.
    """
    function = index.function(key)
    if not called and _EXPORTS.search(key.path):
        return True
    if any(_KEEPS.search(last_part(decorator)) for decorator in function.decorators):
        return True
    if _COLD_UNLESS_CALLED.search(function.name) and not (called and _made_in_passing(index, key)):
        return True
    if COLD_NAME.search(function.name):
        return not (trains and _WARM_UP.search(function.name))
    if function.class_index < 0:
        return False
    own = Thing("class", key.path, function.class_index)
    if function.name in ONCE_PER_EPOCH:
        return is_meter(index, own)
    return function.name == "render" and all(index.method(own, name) for name in _OF_AN_ENVIRONMENT)


def _made_in_passing(index: Index, key: FunctionKey) -> bool:
    """Whether a constructor is one of a plain object: a module, a data set or an optimizer is made once and kept."""
    function = index.function(key)
    if function.name != "__init__":
        return True
    bases = index.external_bases(Thing("class", key.path, function.class_index))
    return all(base.startswith(PLAIN_BASES) for base in bases)


_OF_AN_ENVIRONMENT = ("reset", "step")
"""Methods that make a class an environment, whose pictures are for people."""
_KEEPS = pattern(r"(?:^|_)cached?(?:_|$)|memoi[sz]e|^assume_constant_result$")
"""Decorators that keep what a function gave: it runs once for each argument."""
_EVALUATION = pattern(r"^_?(?:evaluate|validate|validation)(?:_(?!step|batch|one|iter|sample)\w*)?$")
"""Functions that go through a whole data set to judge a model."""
_WARM_UP = pattern(r"^_?warmup_\w")
"""A warm-up of something, as of a part of a model; a plain `warmup` is one of the machine."""


def evaluates_all(index: Index, key: FunctionKey) -> bool:
    """Whether a function judges a model in a loop of its own: a training loop calls it once in many steps."""
    if not _EVALUATION.search(index.function(key).name):
        return False
    return any(r.kind == "loop" and r.function == key.index for r in index.outlines[key.path].regions)


def judges(index: Index, key: FunctionKey) -> bool:
    """Whether a function puts a model into evaluation mode and runs without gradients."""
    function = index.function(key)
    if not _without_grad(function):
        return False
    calls = (call for call in index.outlines[key.path].calls if call.function == key.index)
    return any(call.callee.endswith(".eval") for call in calls)


def role_of(index: Index, types: Types, key: FunctionKey, called: bool) -> Role | None:
    """The role of a function, or None. `called`: whether the project itself calls it."""
    function = index.function(key)
    transforms = transform_role(index, key)
    if transforms is not None:
        return transforms
    if function.class_index >= 0:
        cls = Thing("class", key.path, function.class_index)
        told = _method_role(index, types, cls, function.name, called) or _engine_role(function)
        if told is None and not called and _is_loss_of_a_plain_class(index, key, function):
            return _LOSS
        if told is None and not called and types.is_module_class(cls):
            told = part_of_a_pass(index, key)
        return told or (annotated_operation(index, key) if not called else None)
    if _engine_role(function) is not None:
        return _engine_role(function)
    if not called and _LOSS_NAME.search(function.name) and function.parent == 0 and not _without_grad(function):
        return _LOSS if _uses_torch(index, key) else None
    if function.name in ("collate_fn", "collate"):
        return _DATA
    return annotated_operation(index, key) if not called else None


def _is_loss_of_a_plain_class(index: Index, key: FunctionKey, function: Function) -> bool:
    """`training_losses(self, model, x, t)`: a method by the name of a loss that is given something to compute it of."""
    named = _LOSS_NAME.search(function.name) and not _TELLS_LOSSES.search(function.name)
    given = len(function.parameters) > function.bound
    return bool(named) and given and not _without_grad(function) and _uses_torch(index, key)


_TELLS_LOSSES = pattern(
    r"^_?(?:log|print|save|plot|show|draw|record|track|update|add|append|load|write|display|report|format|set|reset|init|"
    r"average|mean|reduce|aggregate|epoch|val|valid|validation|eval|evaluate|test|estimate|best|last|current|make|build|"
    r"create|configure|register|get_(?:current|avg|average|mean|last|best))(?:_|$)"
)
"""Methods that show, keep or make losses, or compute those of a whole data set."""


def _method_role(index: Index, types: Types, cls: Thing, name: str, called: bool) -> Role | None:
    bases = index.external_bases(cls)
    if name == "forward":
        if types.is_module_class(cls):
            if not is_meter(index, cls) or "Loss" in index.record(cls).name:
                return _FORWARD
            return None if goes_through_loaders(index, cls) else _METER
        if "torch.autograd.Function" in bases:
            return _FUNCTION
        return _FORWARD_OF_CALLABLE if _is_called_as_forward(index, cls) or _is_derived(index, cls) else None
    if name == "backward" and "torch.autograd.Function" in bases:
        return _FUNCTION
    if name == "step" and any(base.startswith("torch.optim.") and "lr_scheduler" not in base for base in bases):
        return _OPTIMIZER
    if name in ("__getitem__", "__iter__") and any(base.startswith("torch.utils.data.") for base in bases):
        return _DATA
    scores = name == "_compute_tensor" and any(map(_OF_BATCHES.search, bases))
    if scores or (name in METER_METHODS and is_meter(index, cls)):
        return _METER
    told = _hook_role(bases, name) or _role_by_names(index, cls, name)
    if told is not None:
        return told
    if not called and _TARGETS_NAME.search(name) and _gets_truth(index, cls, name):
        return _TARGETS
    if types.is_module_class(cls) and not called and _LOSS_NAME.search(name):
        return _LOSS
    return _METRICS if types.is_module_class(cls) and not called and _METRICS_NAME.search(name) else None


def _hook_role(bases: Collection[str], name: str) -> Role | None:
    """What a framework calls a method for, by the method's name."""
    framework = any(_FRAMEWORK_BASE.search(base) for base in bases)
    if name in _STEP_HOOKS:
        return _STEP if framework else _STEP_BY_NAME
    if name in _EVAL_HOOKS:
        return _EVAL if framework else _EVAL_BY_NAME
    if name in _DECODING_HOOKS or (name == "__call__" and any(_DECODING_BASE.search(base) for base in bases)):
        return _DECODING
    return None


def _role_by_names(index: Index, cls: Thing, name: str) -> Role | None:
    """What a method is by its name and by what its class and the bases are called."""
    if _CALLBACK_HOOK.search(name):
        listens = any(base.endswith("Plugin") or "Callback" in base for base in index.class_names(cls))
        return _HOOK if listens or any(map(_HOOK_BASE.search, index.external_bases(cls))) else None
    if name == "step" and any(base.endswith("Optimizer") for base in index.class_names(cls)):
        return _OPTIMIZER_BY_NAME
    if name == "__call__":
        if any(_DECODING_NAME.search(base) for base in index.class_names(cls)):
            return _DECODING
        if _LOSS_CLASS.search(index.record(cls).name):
            return _LOSS
        if _is_attention_processor(index, cls):
            return _ATTENTION
        if wraps_a_model(index, cls):
            return _WRAPPER
        return _DENOISER if _is_loop_block(index, cls) else None
    if name in FILTERS and filters_logits(index, cls, name):
        return _DECODING
    if name in _TRACKS and _TRACKER.search(index.record(cls).name) and _imports_torch(index, cls.path):
        key = index.method(cls, name)
        given = key is not None and len(index.function(key).parameters) > 1
        return (_METER if measures(cls.path) else _FRAME) if given else None
    if name in _DENOISING:
        key = index.method(cls, "step")
        parameters = [p.name for p in index.function(key).parameters] if key is not None else []
        if "model_output" in parameters and any(base.endswith("Scheduler") for base in index.class_names(cls)):
            return _DENOISER
    return None


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
    return any(p.annotation.endswith("Tensor") for p in index.function(key).parameters) and _uses_torch(index, key)


def _is_called_as_forward(index: Index, cls: Thing) -> bool:
    """A plain class that does as modules do: its `__call__` hands on to `forward`, and it computes with torch."""
    key = index.method(cls, "__call__")
    if key is None or not any(name.partition(".")[0] == "torch" for name in index.outlines[cls.path].imports.values()):
        return False
    calls = index.outlines[key.path].calls
    return any(call.function == key.index and call.callee == "self.forward" for call in calls)


def _engine_role(function: Function) -> Role | None:
    """`update(engine, batch)`, which ignite's engines call."""
    names = [p.name for p in function.parameters if p.name != "self"]
    if function.name == "__call__" and names == ["engine", "logger", "event_name"]:
        return _ENGINE_HANDLER
    if len(names) != 2 or names[0] not in ("engine", "_engine") or not names[1].startswith("batch"):
        return None
    return _ENGINE_EVAL if _EVALUATES.search(function.qualname) or _without_grad(function) else _ENGINE_STEP


def _without_grad(function: Function) -> bool:
    """A loss under no_grad is looked at, not trained on."""
    return any(last_part(d) in ("no_grad", "inference_mode") for d in function.decorators)


def _uses_torch(index: Index, key: FunctionKey) -> bool:
    return _imports_torch(index, key.path)


def _imports_torch(index: Index, path: str) -> bool:
    imports = index.outlines[path].imports.values()
    return any(name.partition(".")[0] == "torch" for name in imports)
