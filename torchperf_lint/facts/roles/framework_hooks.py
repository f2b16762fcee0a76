"""Methods and functions that a framework calls by their names: steps, hooks of callbacks, handlers of engines."""

from __future__ import annotations

import re
from collections.abc import Collection

from torchperf_lint.facts.call_graph.index import Index, Thing
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.role import EVERY_PASS, WITH_STEPS, Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_STEP = Role("step", "is called by its framework every training step", "every training step", Confidence.CERTAIN)
_EVAL = Role("eval", "is called by its framework every evaluation batch", "every evaluation batch", Confidence.CERTAIN)
_STEP_BY_NAME = Role(
    "step", "is by its name what a training loop calls every step", "every training step", Confidence.LIKELY
)
_EVAL_BY_NAME = Role(
    "eval", "is by its name what a loop calls every evaluation batch", "every evaluation batch", Confidence.LIKELY
)
_HOOK = Role("step", "is a callback's hook, run for every batch", "every batch", Confidence.LIKELY)
HOOK_IN_PASS = Role(
    "forward", "is a hook, given to `{}` (line {}): it runs in every pass", EVERY_PASS, Confidence.LIKELY
)
HOOK_OF_OPTIMIZER = HOOK_IN_PASS._replace(
    because="is a hook of an optimizer, given to `{}` (line {}): it runs with every optimizer step",
    when=WITH_STEPS,
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
DECODING = Role("rollout", "is called by `generate` for every new token", "in every decoding step", Confidence.LIKELY)
_STEP_HOOKS = {
    "training_step",
    "training_step_end",  # of Lightning before 2.0, as its two likes below
    "on_train_batch_start",
    "on_train_batch_end",
    "on_before_backward",
    "on_after_backward",
    "configure_gradient_clipping",
    "transfer_batch_to_device",
    "on_before_batch_transfer",
    "on_after_batch_transfer",
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
    "validation_step_end",
    "test_step",
    "test_step_end",
    "predict_step",
    "prediction_step",
    "on_validation_batch_start",
    "on_validation_batch_end",
    "on_test_batch_start",
    "on_test_batch_end",
    "on_predict_batch_start",
    "on_predict_batch_end",
    "preprocess_logits_for_metrics",
}
_DECODING_HOOKS = frozenset({"prepare_inputs_for_generation", "_update_model_kwargs_for_generation", "_reorder_cache"})
"""What `generate` of transformers calls for every token."""
_DECODING_BASE = pattern(r"^transformers\.(?:\w+\.)*(?:\w*LogitsProcessor|LogitsWarper|StoppingCriteria)$")
_TRAINER_BASE = pattern(r"^(?:transformers|trl)\.(?:\w+\.)*\w*Trainer$")
_TRAINER_HOOKS = frozenset(
    "_prepare_inputs get_batch_samples floating_point_ops get_batch_loss_metrics concatenated_forward "
    "_compute_loss".split()
)
"""What the Trainers of transformers and trl call on themselves in every step, by names that mean nothing elsewhere."""
_FRAMEWORK_BASE = pattern(
    r"^lightning\.(?:LightningModule|Callback|LightningDataModule)|^(?:transformers|trl)\.\w*Trainer$|^catalyst\.|"
    r"^pytorch_lightning\.|^torchmetrics\."
)
_CALLBACK_HOOK = pattern(
    r"^(?:before|after)_(?:batch|pred|loss|backward|step|cancel_batch|(?:train_|val_|test_)?iter|training_batch)$|"
    r"^on_(?:sub)?step_(?:begin|end)$|^(?:batch|before_forward|after_forward|before_loss|after_loss)_(?:start|end)$|"
    r"^(?:before|after)_(?:forward|train_batch|eval_batch|dataloader)$|^eval_(?:batch|forward)_(?:start|end)$|"
    r"^(?:eval|predict)_(?:before|after)_(?:forward|dataloader)$|^predict_batch_(?:start|end)$|"
    r"^(?:before|after)_(?:training|eval)_(?:iteration|update|forward|backward)$"
)
_HOOK_BASE = pattern(r"\.\w*Hook(?:Base)?$")
"""Hooks of runners, as of mmengine and detectron2; of a hook of the project's own the runner is there to be read."""
_EVALUATES = pattern(r"eval|infer|valid|test", re.IGNORECASE)


def hook_role(bases: Collection[str], name: str) -> Role | None:
    """What a framework calls a method for, by the method's name."""
    framework = any(_FRAMEWORK_BASE.search(base) for base in bases)
    if name in _STEP_HOOKS:
        return _STEP if framework else _STEP_BY_NAME
    if name in _EVAL_HOOKS:
        return _EVAL if framework else _EVAL_BY_NAME
    if name in _DECODING_HOOKS or (name == "__call__" and any(_DECODING_BASE.search(base) for base in bases)):
        return DECODING
    return None


def is_lightning(bases: Collection[str]) -> bool:
    """Whether a class with these external bases is a LightningModule."""
    return "lightning.LightningModule" in bases


def is_trainer(bases: Collection[str]) -> bool:
    """Whether a class with these external bases is one of transformers' Trainers."""
    return any(map(_TRAINER_BASE.search, bases))


def trainer_role(index: Index, cls: Thing, name: str) -> Role | None:
    """What the Trainer of transformers calls a method of its subclass for, by names that mean nothing elsewhere.

    One that does something else in evaluations prepares many steps at once in training, as trainers do that generate.
    """
    key = index.method(cls, name) if name in _TRAINER_HOOKS else None
    if key is None or not is_trainer(index.external_bases(cls)):
        return None
    regions = index.outlines[key.path].regions
    apart = (call for call in index.calls_in(key) if regions[call.region].kind == "evaluation")
    return None if any(call.callee.startswith("self.") for call in apart) else _STEP


def engine_role(function: Function) -> Role | None:
    """`update(engine, batch)`, which ignite's engines call."""
    names = [p.name for p in function.parameters if p.name != "self"]
    if function.name == "__call__" and names == ["engine", "logger", "event_name"]:
        return _ENGINE_HANDLER
    if len(names) != 2 or names[0] not in ("engine", "_engine") or not names[1].startswith("batch"):
        return None
    return _ENGINE_EVAL if _EVALUATES.search(function.qualname) or without_grad(function) else _ENGINE_STEP


def without_grad(function: Function) -> bool:
    """A loss under no_grad is looked at, not trained on."""
    return any(last_part(d) in ("no_grad", "inference_mode") for d in function.decorators)


def listening_role(index: Index, cls: Thing, name: str) -> Role | None:
    """What a callback, a plugin or a runner's hook is called for, by the method's name."""
    if not is_callback_hook(name):
        return None
    # A star import leaves the names of its classes all that there is.
    written = (base for c in index.ancestry(cls) if c.kind == "class" for base in index.record(c).bases)
    names = (*index.class_names(cls), *map(last_part, written))
    listens = any(base.endswith("Plugin") or "Callback" in base for base in names)
    # A class `Hook` itself calls whatever its subclasses may do; how often they do it, their settings say.
    listens = listens or any(base.endswith("Hook") for base in names[1:])
    return _HOOK if listens or any(map(_HOOK_BASE.search, index.external_bases(cls))) else None


def is_callback_hook(name: str) -> bool:
    """Whether a method is named as those that runners call around each batch."""
    return bool(_CALLBACK_HOOK.search(name))
