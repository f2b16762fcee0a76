"""What the bindings of a name say of its sameness: how they lie to the loops and branches around its use, and what
they take its values from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchperf_lint.facts.bindings.bindings import BlockPath, Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.gathered import is_empty_list
from torchperf_lint.facts.bindings.hints import are_numbers
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part

BINDS = frozenset({"assign", "item", "loop", "augmented"})
"""How a name gets a value that stands somewhere: not by an import, a `with`, or a handler."""


def turns_with(block: BlockPath, around: BlockPath) -> bool:
    """Whether a loop around one place is around another, too."""
    return any(part[1] == "loop" and part in around for part in block)


def bound_alike(reaching: list[Definition], around: BlockPath) -> bool:
    """Whether a name is bound alike each time: neither by the turns of a loop around its use nor in some branch."""
    for d in reaching:
        again = turns_with(d.block, around)
        turns = again and (d.how != "loop" or d.block[-1] in around)
        if turns and (d.how in ("loop", "augmented") or len(reaching) > 1):
            return False
        if len(reaching) > 1 and any(part[1] != "loop" and part not in around for part in d.block):
            return False
    return True


def chosen_among(reaching: list[Definition]) -> bool:
    """Whether branches, in no loop, choose among bindings: whichever was taken, its numbers could be kept."""
    return all(d.how == "assign" and all(part[1] != "loop" for part in d.block) for d in reaching)


def branches_of_all(reaching: list[Definition]) -> BlockPath:
    """The branches that all bindings of a name lie in: what stands there as well is as sure to have run."""
    first = reaching[0].block if reaching else ()
    return tuple(part for part in first if part[1] != "loop" and all(part in d.block for d in reaching))


def written_out(reaching: list[Definition]) -> bool:
    """Whether a name is bound to lists of numbers that are written out, in one branch or another."""
    lists = (isinstance(d.value, ast.List | ast.Tuple) and are_numbers(d.value) for d in reaching)
    return bool(reaching) and all(d.how == "assign" for d in reaching) and all(lists)


def counts_turns(definition: Definition) -> bool:
    """Whether a name counts the turns of a loop over anything: `for i, f in enumerate(fs)`, `in range(len(fs))`."""
    over = definition.value
    if definition.how != "loop" or not isinstance(over, ast.Call) or not over.args:
        return False
    callee = last_part(chain(over.func))
    if callee == "range" and len(over.args) == 1 and not definition.index:
        return isinstance(over.args[0], ast.Call) and chain(over.args[0].func) == "len"
    return callee == "enumerate" and definition.index == (0,)


def sources(reaching: Iterable[Definition]) -> list[ast.expr]:
    """What bindings take the values of a name from; a list that starts empty brings none."""
    return [part for d in reaching if d.value is not None and not is_empty_list(d.value) for part in _elements(d)]


def bound_on_every_way(body: Body, reaching: list[Definition], scope: int, at: Position) -> bool:
    """Whether a definition is made on every way to a place; `if kernel is None: kernel = [1]` keeps what is given."""
    around = body.block_of(scope, at)
    return any(around[: len(definition.block)] == definition.block for definition in reaching)


def _elements(definition: Definition) -> list[ast.expr]:
    """What a name is bound to, or takes its values from: the one list of several that a loop takes together.

    Of tuples that are written out, `for name, low, high in [("snr", 3, 30), ...]`, the part that is its own.
    """
    over, index = definition.value, definition.index
    assert over is not None
    while definition.how == "loop" and isinstance(over, ast.Call) and index:
        callee, arguments = last_part(chain(over.func)), over.args
        if callee == "zip" and index[0] < len(arguments):
            over, index = arguments[index[0]], index[1:]
        elif callee == "enumerate" and arguments and index[0] == 1:
            over, index = arguments[0], index[1:]
        else:
            break
    rows = over.elts if definition.how == "loop" and len(index) == 1 and isinstance(over, ast.List | ast.Tuple) else []
    own = [row.elts[index[0]] for row in rows if isinstance(row, ast.Tuple) and index[0] < len(row.elts)]
    return own if own and len(own) == len(rows) else [over]
