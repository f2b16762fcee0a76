"""Names that are moved to the device and bound to what the move gives, in a loop that may not bind them anew.

    for data in loader:
        if sampled:
            x, negatives = data
        else:
            x = data
        if sampled:
            negatives = negatives.cuda()

As far as branches tell, the move may get what it gave itself a turn before. What it is for is what the turn has taken.
So it is of what each branch of a choice by text binds, `if kind == "faces": ... elif kind == "words": ...`, whatever
the name was before the loop: the choice has no `else` because there is nothing else to choose.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.bindings.bindings import BlockPath, Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain


def before_its_move(
    name: str, reaching: Sequence[Definition], function: int, at: Position, body: Body
) -> Sequence[Definition]:
    """The bindings that `x` may have in `x = x.cuda()`, without that one, where the same loop has another."""
    if len(reaching) < 2:
        return reaching
    own = next((d for d in reaching if _is_moved_there(name, d, at, body)), None)
    if own is None:
        return reaching
    others = [d for d in reaching if d is not own]
    loop = _loop_of(own.block)
    inside = [d for d in others if loop and d.block[: len(loop)] == loop]
    taken_anew = bool(inside) and (len(inside) == len(others) or _chosen_by_text(inside, len(loop), function, body))
    return others if taken_anew else reaching


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


def _chosen_by_text(bound: Sequence[Definition], depth: int, function: int, body: Body) -> bool:
    """Whether a name is bound in each branch of a choice by text, of two or more, that the loop's turn makes.

    `depth`: how many blocks stand around the loop's own statements.
    """
    blocks = {d.block[depth:] for d in bound}
    ifs = {s.lineno: s for s in body.statements(function) if isinstance(s, ast.If)}
    first = min((block[0][0] for block in blocks if block), default=0)
    branches = _branches(ifs.get(first))
    return len(branches) > 1 and blocks == set(branches)


def _branches(chosen: ast.If | None) -> list[BlockPath]:
    """The blocks of `if kind == "a": ... elif kind == "b": ...`; none where it tests anything else."""
    found: list[BlockPath] = []
    above: BlockPath = ()
    asked = ""
    while chosen is not None:
        test = chosen.test
        if not isinstance(test, ast.Compare) or not _is_text(test) or asked not in ("", chain(test.left)):
            return []
        asked = chain(test.left)
        found.append((*above, (chosen.lineno, "body")))
        above = (*above, (chosen.lineno, "else"))
        rest = chosen.orelse
        chosen = rest[0] if len(rest) == 1 and isinstance(rest[0], ast.If) else None
    return found


def _is_text(test: ast.Compare) -> bool:
    """`self.data_set == "faces"`."""
    (other, *more) = test.comparators
    written = isinstance(other, ast.Constant) and isinstance(other.value, str)
    return written and not more and isinstance(test.ops[0], ast.Eq) and chain(test.left).replace(".", "").isidentifier()
