"""Device tensors that each turn of a loop stores into a tensor on the host: `chain[i] = x[:k]`.

    chain = torch.zeros(steps, k, 3)           # in host memory
    for i in range(steps):
        x = denoise(model, x, i)
        chain[i] = x[:k]                       # copies, and waits for all of the turn

Nothing in the line says so. On the device the chain takes the same memory once, and one copy behind the loop fetches
all of it. Memory that was asked for by name, `device="cpu"`, `pin_memory=True`, is left alone: somebody chose it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.environments import steps_an_environment
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.syntax.arguments import keyword, unpacks_keywords
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Value

_MAKERS = frozenset({"torch.zeros", "torch.ones", "torch.empty", "torch.full"})
_MADE_BY = tuple(name.rpartition(".")[2] for name in sorted(_MAKERS))
"""One of them is written where a file has what it stores into from one of those."""
_CHOSEN = ("device", "pin_memory", "out")
_OFTEN = frozenset({"step", "rollout"})


class HostStore(NamedTuple):
    """A statement that copies a device tensor into a part of a host tensor."""

    spot: Spot
    """What is written to: `chain[i]`."""
    base: ast.Name
    value: Value
    """What is stored."""
    made: int
    """The line that makes the host tensor."""


def host_stores(file: SourceFile) -> Iterator[HostStore]:
    """The hot statements that put a device tensor into a part of one that the function has made on the host before."""
    if not file.mentions(_MADE_BY):
        return
    for spot in hot_nodes(file, ast.Assign, where=_stores_into_a_name):
        node, hot = spot.expression, spot.hot
        assert isinstance(node, ast.Assign)
        target = node.targets[0]
        assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        if hot.kind not in _OFTEN or hot.optional or hot.evaluates or hot.loop is None:
            continue
        found = None if steps_an_environment(file.project, hot) else _store(file, spot, target.value, node.value)
        if found is not None:
            yield found._replace(spot=spot.at(target))


def _stores_into_a_name(node: ast.Assign) -> bool:
    target = node.targets[0]
    return len(node.targets) == 1 and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)


def _store(file: SourceFile, spot: Spot, base: ast.Name, stored: ast.expr) -> HostStore | None:
    loop = _own_loop(file, spot)
    body = file.project.body(file.path)
    reaching = body.reaching(spot.function, base.id, body.at(base)) if body is not None and loop else None
    if not reaching or len(reaching) != 1 or reaching[0].how != "assign" or reaching[0].at[0] >= loop:
        return None
    made = reaching[0].value
    if not isinstance(made, ast.Call) or file.denotes(made.func, spot) not in _MAKERS:
        return None
    if unpacks_keywords(made) or any(keyword(made, name) is not None for name in _CHOSEN):
        return None
    held = file.value(base, spot)
    if held.kind != "tensor" or held.device != HOST or held.borrowed:
        return None
    value = on_device(file, spot, stored)
    if value is None or value.kind != "tensor" or (value.device == ANYWHERE and value.borrowed):
        return None
    return HostStore(spot, base, value, made.lineno)


def _own_loop(file: SourceFile, spot: Spot) -> int:
    """The line of the loop that makes a place hot, where that is one of its own function; 0 for another's."""
    path, number = spot.hot.loop or ("", 0)
    if path != file.path:
        return 0
    region = file.outline.regions[number]
    return region.head if region.function == spot.function else 0
