"""Loops with as few turns as an option says that nobody has to give, and without an optimizer that learns in them.

    parser.add_argument("--rounds", type=int, default=1)
    for i in range(args.rounds):
        model(x, labels=x).loss.backward()       # what is to be pruned is told by its gradients
        pruner.step()

Who trains asks for more turns than the default; who only wants gradients has no reason to.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.option_declarations import declared_in, default, may_declare, option_named
from torchperf_lint.facts.outlines.records import Outline, Region
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_COUNTED = pattern(r"\brange\(([\w.]+)\)$")
_LEARNS = pattern(r"opt|scaler|accelerator|engine|trainer|model", re.IGNORECASE)
"""Receivers of a `step` that changes weights."""


def turns_by_default(outline: Outline, body: Body | None, region: Region) -> int | None:
    """How often a loop turns unless an option of its file is given; None where that is not seen, or weights learn."""
    counted = _COUNTED.search(region.detail)
    if counted is None or body is None or not may_declare(outline) or _learns(outline, region.function):
        return None
    option = ast.parse(counted[1], mode="eval").body
    name = option_named(option)
    declared = [default(call) for call in declared_in(outline, body, name)] if name else []
    if len(declared) != 1 or not isinstance(declared[0], ast.Constant):
        return None
    turns = declared[0].value
    return turns if type(turns) is int else None


def _learns(outline: Outline, function: int) -> bool:
    """Whether a function has an optimizer step, or what steps for one."""
    called = (call.callee for call in outline.calls if call.function == function)
    steps = (callee.rpartition(".")[0] for callee in called if last_part(callee) in ("step", "optimizer_step"))
    return any(_LEARNS.search(receiver) for receiver in steps)
