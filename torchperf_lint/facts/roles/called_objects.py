"""Objects that are called as functions are: metrics, losses, modules whose class says how in `__call__` itself.

    class TopK(Metric):                                     class Spectrogram(nn.Module):
        def __call__(self, scores, truth):                      def __call__(self, wave):
            self.hits += (scores.argmax(1) == truth).sum()          return torch.stft(wave, self.size)

        def reset(self):
            self.hits = 0

What gathers numbers until it is reset is called with each batch; a metric that keeps nothing may be asked once, of all.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.roles.meters import goes_through_loaders, is_meter
from torchperf_lint.facts.roles.operations import no_operation
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_METER = Role(
    "update",
    "is a metric that gathers what it is called with until it is reset: it is called with each batch",
    "every step",
    Confidence.LIKELY,
)
LOSS = Role("step", "computes a loss, which every training step needs", "every training step", Confidence.LIKELY)
_MODULE = Role(
    "forward",
    "is what calling a module runs, which has no `forward`: every step does",
    "in every forward pass",
    Confidence.LIKELY,
)
_LOSS_CLASS = pattern(
    r"(?:[Ll]oss|Criterion)(?:Calculator|Computer|Computation|Evaluator|Module|Plugin|Wrapper|Func|Function|Fn)?$"
    r"|^(?:Compute|Calc)\w*Loss"
)
_NO_TENSOR = pattern(r"^(?:task|mode|name|prompts?|texts?|config|cfg|args|path|\w+_(?:name|path|type|dir))$")
"""First parameters of what makes or loads something, or runs a whole application."""
_ENDS = ("reset", "get_metric")
"""Methods that say that a metric gathers numbers: what forgets them, and what gives them."""


def call_role(index: Index, cls: Thing) -> Role | None:
    """The role of the `__call__` of a class by what such objects are, or None."""
    key = index.method(cls, "__call__")
    if key is None or len(index.function(key).parameters) <= index.function(key).bound:
        return None
    if is_meter(index, cls):
        return _METER if _gathers(index, cls) else None
    if _LOSS_CLASS.search(index.record(cls).name):
        return LOSS
    derived = any(base.startswith("torch.nn.") for base in index.external_bases(cls))
    given = index.function(key).parameters[index.function(key).bound].name
    runs = derived and index.method(cls, "forward") is None and not _NO_TENSOR.match(given)
    runs = runs and not no_operation(key, index.function(key))
    return _MODULE if runs and not _hands_on(index, key) and _is_built(index, index.record(cls).name) else None


def _hands_on(index: Index, key: FunctionKey) -> bool:
    """Whether `__call__` wraps the one of a base, which has a pass of its own, in what an option may ask for."""
    return any(c.callee == "super().__call__" for c in index.calls_in(key))


def _is_built(index: Index, name: str) -> bool:
    """Whether anything in the project makes an object of a class of that name; nobody calls what nobody makes."""
    return name in index.called_names


def _gathers(index: Index, cls: Thing) -> bool:
    """Whether a metric keeps what it was called with, and is not handed whole loaders."""
    return any(index.method(cls, name) for name in _ENDS) and not goes_through_loaders(index, cls)
