"""What a function gives back at each place, where it gives several: `return model, loader`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.outlines.records import Binding
from torchperf_lint.facts.syntax.chains import chain


def several_given_back(node: ast.Return, function: int) -> Iterator[Binding]:
    """The parts of a returned tuple as bindings of no name, `()[0]`; none for what is starred or computed."""
    parts = node.value.elts if isinstance(node.value, ast.Tuple) else []
    if any(isinstance(part, ast.Starred) for part in parts):
        return
    for place, part in enumerate(parts):
        value = chain(part)
        if "?" not in value:
            yield Binding(function, part_of_call(place), value, node.lineno)


def part_of_call(place: int) -> str:
    """What is written behind the name of a function for one part of what its call gives."""
    return f"()[{place}]"
