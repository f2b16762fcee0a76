"""What calls of the project's functions give at one place, where those give several back.

    def build(config):
        ...
        return model, loader

    model, loader = build(config)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.types import Types


def given_back(types: Types, called: Sequence[Thing], parts: Sequence[str]) -> list[Thing]:
    """What things give that are called and of whose result one part is taken: `()` and `[1]`."""
    if len(parts) != 2 or parts[0] != "()":
        return []
    part = "".join(parts)
    return [
        thing
        for function in called
        if function.kind == "function"
        for binding in types.bindings(function.path).get((function.index, part), ())
        for thing in types.bound_to(function.path, function.index, binding.value)
    ]
