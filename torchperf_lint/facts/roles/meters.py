"""Classes that gather numbers over many batches: meters, metrics, trackers."""

from __future__ import annotations

from functools import lru_cache

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.signatures import LOADER_NAME
from torchperf_lint.patterns import pattern

_METER_CLASS = pattern(
    r"Meter|Metric|Average(?!d?Pool|dModel|Precision\w*Loss)|Accuracy|Tracker|(?:^|_)(?:meter|metric|average|tracker)(?:_|$)"
)
"""With the case of class names: neither `Parameters` nor `SymmetricLoss` measures anything."""
METER_METHODS = frozenset(
    {"update", "update_key_value", "accumulate", "iteration_completed", "add", "add_batch", "_compute_tensor"}
)
"""Methods that take a batch; `_compute_tensor` is what MONAI's metrics leave to their subclasses."""
_MEASURED = pattern(r"^(?:compute|result|results|value|values|average|summary|get_\w*(?:metric|score|value|result)s?)$")
"""Methods that give what a meter has gathered."""
_MAPPING = frozenset({"keys", "items", "setdefault"})
"""What dictionaries have: their `update` and `values` measure nothing."""
ONCE_PER_EPOCH = frozenset({"compute", "result", "results", "reset", "summary", "summarize", "finalize", "completed"})
"""Methods that give, or drop, all that was gathered."""


def is_meter(index: Index, cls: Thing) -> bool:
    """A class called Metric or AverageMeter, or derived from one that is; or with the methods of one."""
    if any(map(_is_called_a_meter, index.class_names(cls))):
        return True
    methods = index.record(cls).methods
    if "update" not in methods or "forward" in methods or _MAPPING & methods.keys():
        return False
    gives = any(_MEASURED.search(name) for name in methods)
    return gives or _takes_a_loss(index, FunctionKey(cls.path, methods["update"]))


@lru_cache(1 << 14)
def _is_called_a_meter(name: str) -> bool:
    return _METER_CLASS.search(name) is not None


def _takes_a_loss(index: Index, key: FunctionKey) -> bool:
    """Whether a method takes the loss of a batch beside what it was computed of: `update(loss, labels, outputs)`."""
    given = {parameter.name for parameter in index.function(key).parameters}
    return "loss" in given and not given.isdisjoint(_OF_A_BATCH)


_OF_A_BATCH = frozenset("batch labels targets target preds predictions outputs output logits".split())


def follows_objects(index: Index, cls: Thing) -> bool:
    """Whether what is called a tracker is a model that follows points or objects: it keeps and tells no figures."""
    if not _TRACKER.search(index.record(cls).name):
        return False
    return not any(index.method(cls, name) for name in METER_METHODS | ONCE_PER_EPOCH)


_TRACKER = pattern(r"Track(?:er)?(?:[A-Z0-9]|$)")


def goes_through_loaders(index: Index, cls: Thing) -> bool:
    """Whether a metric takes a whole loader: it is asked once an evaluation, of all features at once."""
    own = [c for c in index.ancestry(cls) if c.kind == "class"]
    methods = (FunctionKey(c.path, number) for c in own for number in index.record(c).methods.values())
    return any(LOADER_NAME.search(p.name) for key in methods for p in index.function(key).parameters)
