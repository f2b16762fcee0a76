"""Names that are moved to the device and bound to what the move gives, in a loop that may not bind them anew.

    for data in loader:
        if sampled:
            x, negatives = data
        else:
            x = data
        if sampled:
            negatives = negatives.cuda()

As far as branches tell, the move may get what it gave itself a turn before. What it is for is what the turn has taken.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.bindings import BlockPath, Definition
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.records import Position


def before_its_move(name: str, reaching: Sequence[Definition], at: Position, body: Body) -> Sequence[Definition]:
    """The bindings that `x` may have in `x = x.cuda()`, without that one, where the same loop has another."""
    if len(reaching) < 2:
        return reaching
    own = next((d for d in reaching if _is_moved_there(name, d, at, body)), None)
    if own is None:
        return reaching
    others = [d for d in reaching if d is not own]
    loop = _loop_of(own.block)
    return others if loop and all(d.block[: len(loop)] == loop for d in others) else reaching


def _is_moved_there(name: str, d: Definition, at: Position, body: Body) -> bool:
    if d.how != "assign" or not isinstance(d.value, ast.Call) or not body.at(d.value) <= at < d.end:
        return False
    func = d.value.func
    moves = isinstance(func, ast.Attribute) and func.attr in api.MOVES
    return moves and isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == name


def _loop_of(block: BlockPath) -> BlockPath:
    """The blocks around the innermost loop, and its own."""
    places = [place for place, (_, kind) in enumerate(block) if kind == "loop"]
    return block[: places[-1] + 1] if places else ()
