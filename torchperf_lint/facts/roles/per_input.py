"""Methods that take one frame, batch or observation to the device and run a network on it: `tracker.step(blob)`.

Nothing in the project calls them: who uses the object does so in a loop over its inputs.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ONE_INPUT = pattern(
    r"^_?(?:step|track|act|observe|(?:process|handle|run|do|forward|infer)_(?:\w+_)?(?:step|frame|batch|chunk)|"
    r"\w+_(?:one_)?(?:frame|chunk))$"
)


def per_input(index: Index, key: FunctionKey) -> Role | None:
    """The role of a method that nothing calls and that runs, by its name, for each input; else None."""
    function = index.function(key)
    if function.class_index < 0 or not _ONE_INPUT.search(function.name):
        return None
    names = {p.name for p in function.parameters[function.bound :]}
    own = index.calls_in(key)
    moved = next((c for c in own if last_part(c.callee) in api.MOVES and _head(c.callee) in names), None)
    methods = index.record(Thing("class", key.path, function.class_index)).methods
    runs = next((c for c in own if _attribute_called(c.callee) not in ("", *methods)), None)
    if moved is None or runs is None:
        return None
    because = (
        f"moves what it is given to the device (line {moved.line}) and runs `{runs.callee}` on it (line {runs.line}), "
        "and no call of it is seen in the project: who uses it does so for each input"
    )
    return Role("eval", because, "with every input", Confidence.LIKELY)


def _head(callee: str) -> str:
    return re.split(r"[.\[(]", callee, maxsplit=1)[0]


def _attribute_called(callee: str) -> str:
    """`detector` of `self.detector`; empty for methods of attributes, and for what logs and draws."""
    name = callee.removeprefix("self.")
    plain = callee.startswith("self.") and name.isidentifier() and not re.search(r"log|print|timer|hook", name)
    return name if plain else ""
