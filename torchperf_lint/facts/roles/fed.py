"""Objects that are handed a batch and then told to train on it: `model.feed_data(x)`, `model.optimize_parameters()`.

BasicSR, CycleGAN and what follows them train in this way, each step in two calls. The loop stands in a script, or in
the package that such a class is written for.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

FEEDS = (
    "feed_train_data",
    "feed_train_batch",
    "feed_data",
    "feed_batch",
    "feed_inputs",
    "feed_input",
    "set_input",
    "set_inputs",
)
"""Methods that take the batch; where a class has one for training and one for all else, that for training first."""
_TRAINS = ("optimize_parameters", "optimize_weights")
_OF_A_PACKAGE = pattern(r"^(?!torch\.|pydantic\.)\w+(?:\.\w+)*\.\w*Model$")
"""A base class of another package that is a model: `basicsr.models.sr_model.SRModel`."""


def fed_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a method of such a class that takes the batch or trains on it; None for any other."""
    function = index.function(key)
    if function.class_index < 0 or function.name not in (*FEEDS, *_TRAINS):
        return None
    other = _partner(index, key)
    if other is None:
        base = _base_elsewhere(index, key)
        because = f"is given the batch that `{last_part(base or '')}`, of which its class is one, trains on"
        return Role("step", because, "every training step", Confidence.LIKELY) if base else None
    partner = index.function(other)
    because = (
        f"is told the batch that `{partner.name}` (line {partner.header_line}) trains on"
        if function.name in FEEDS
        else f"trains on the batch that `{partner.name}` (line {partner.header_line}) was given"
    )
    return Role("step", because, "every training step", Confidence.LIKELY)


def is_fed(index: Index, key: FunctionKey, parameter: str) -> bool:
    """Whether a parameter is the batch that such an object is handed."""
    function = index.function(key)
    if function.class_index < 0 or function.name not in FEEDS or len(function.parameters) <= function.bound:
        return False
    named = function.parameters[function.bound].name == parameter
    return named and (_partner(index, key) is not None or _base_elsewhere(index, key) is not None)


def _partner(index: Index, key: FunctionKey) -> FunctionKey | None:
    """The method that makes the other of the two calls, in the class or one of its bases."""
    function = index.function(key)
    cls = Thing("class", key.path, function.class_index)
    wanted = _TRAINS if function.name in FEEDS else FEEDS
    return next((found for name in wanted if (found := index.method(cls, name)) is not None), None)


def _base_elsewhere(index: Index, key: FunctionKey) -> str | None:
    """The base class, of another package, whose own method makes the other call; of a method that takes the batch."""
    function = index.function(key)
    if function.name not in FEEDS or len(function.parameters) <= function.bound:
        return None
    bases = index.external_bases(Thing("class", key.path, function.class_index))
    return next(filter(_OF_A_PACKAGE.search, sorted(bases)), None)
