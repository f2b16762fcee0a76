"""Switches that code throws for its whole process: who decides about them, and whether the code runs at all."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.model import Location
from torchperf_lint.patterns import pattern

_MADE_FOR_IT = pattern(
    r"debug|anomal|determin|reproduc|profil|sanit|(?:^|[._])trac(?:e|ing)|diagnos|(?:^|[._])(?:nan|check|strict)(?:_|$)",
    re.IGNORECASE,
)
"""Functions that exist to make a run slower and safer: who calls them asks for it."""
_ENTRY = pattern(
    r"^_?(?:main|run|launch|cli|app|entry\w*|train\w*|fit\w*|worker|setup\w*|set_?up\w*|init\w*|prepare\w*|seed\w*|set_seed\w*"
    r"|fix_seed\w*|configure\w*|set_env\w*)(?:_|$)",
    re.IGNORECASE,
)
_HELD_BACK = frozenset({"debug", "except", "cadence", "profile", "optional", "memory", "elsewhere", "raise", "lambda"})
_BLOCKS = ("body", "orelse", "finalbody")
_NO_CHOICE = pattern(
    r"^(?:not )?(?:True|1|__name__ == '__main__'|[\w.]*is_available\(\)"
    r"|[\w.]*(?:device_count\(\)|n_gpus?|num_gpus?|world_size) (?:> [01]|== 1|<= 1|< 2)"
    r"|[\w.]*(?:is_)?distributed(?:\(\))?|[\w.]*(?:backend|device|device_type|device\.type) == '(?:nccl|cuda)'"
    r"|(?:[\w.]+\.)?_?(?:get_)?(?:local_|global_|node_|dist_|world_)?rank(?:\(\))?"
    r" (?:== (?:0|-1)|!= -1|>= 0|> -1|in [\[({](?:-1, 0|0, -1)[\])}])"
    r"|[\w.]*is_(?:main|rank_zero|global_zero|master)\w*(?:\(\))?)$"
)
"""Tests that hold in every ordinary run on a device, as written: which script this is, what the machine has."""


@dataclass(frozen=True)
class Mark:
    """Code that a rule judges by what it does, however often it runs."""

    file: SourceFile
    expression: ast.expr | ast.stmt
    function: int
    hot: Hot | None = None

    @property
    def frame(self) -> Frame:
        """Where its expressions are evaluated."""
        return Frame(self.file.path, self.function, self.file.span(self.expression)[0])

    @property
    def location(self) -> Location:
        """The exact span."""
        start, end = self.file.span(self.expression)
        return Location(self.file.shown, *start, *end)


def asked_for(file: SourceFile, node: ast.AST, function: int) -> bool:
    """Whether a flag, a handler, or a function that exists for it decides that the code runs."""
    if function == 0 and file.project.hotness.demonstrations.holds(file.path, getattr(node, "lineno", 0)):
        return True
    parents, inner = file.enclosing(function).parents, node
    while inner in parents:
        parent = parents[inner]
        if isinstance(parent, ast.ExceptHandler | ast.match_case):
            return True
        if isinstance(parent, ast.If | ast.IfExp) and inner is not parent.test and not ordinary(parent.test):
            return True
        if isinstance(inner, ast.stmt) and _left_before(parent, inner):
            return True
        inner = parent
    return _held_back(file, node) or any(_MADE_FOR_IT.search(name) for name in _names(file, function))


def _left_before(parent: ast.AST, statement: ast.stmt) -> bool:
    """Whether a test above a statement of the same block may have left the function: `if works(): return`."""
    blocks: list[list[ast.stmt]] = [getattr(parent, name, None) or [] for name in _BLOCKS]
    above = next((block[: block.index(statement)] for block in blocks if statement in block), [])
    return any(
        isinstance(other, ast.If) and isinstance(other.body[-1], ast.Return) and not ordinary(other.test)
        for other in above
    )


def ordinary(test: ast.expr) -> bool:
    """Whether a test holds in every ordinary run on a device."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return all(_NO_CHOICE.match(ast.unparse(part)) for part in parts)


def reached(file: SourceFile, function: int) -> bool:
    """Whether something in the project runs a function: its module, a caller, a launcher that knows its name.

    What only others may call is an offer, and they decide.
    """
    while function > 0:
        record = file.outline.functions[function]
        if _ENTRY.match(record.name) or record.name == "__init__" or record.decorators:
            return True
        key = FunctionKey(file.path, function)
        hotness = file.project.hotness
        if hotness.callers.get(key) or key in hotness.functions:
            return True
        if record.parent <= 0:
            return False
        function = record.parent
    return True


def _held_back(file: SourceFile, node: ast.AST) -> bool:
    """`if not args.debug: return` above it, and whatever else makes a region rare."""
    assert isinstance(node, ast.expr | ast.stmt)
    regions = file.outline.regions
    index = file.project.hotness.innermost(file.path, file.span(node)[0])
    while index >= 0 and regions[index].kind != "function":
        if regions[index].kind in _HELD_BACK:
            return True
        index = regions[index].parent
    return False


def _names(file: SourceFile, function: int) -> list[str]:
    """A function's name, its class's, and those of the functions around it."""
    found: list[str] = []
    while function > 0:
        record = file.outline.functions[function]
        found.append(record.qualname)
        function = record.parent
    return found


def is_context(file: SourceFile, node: ast.AST, function: int) -> bool:
    """Whether an expression is what a `with` statement enters."""
    return isinstance(file.enclosing(function).parents.get(node), ast.withitem)


def switched_back(file: SourceFile, function: int, callee: str, off: frozenset[object]) -> bool:
    """Whether the same function also calls `callee` with a literal that turns it off."""
    for node in file.enclosing(function).parents:
        if isinstance(node, ast.Call) and node.args and last_part(chain(node.func)) == callee:
            value = node.args[0]
            if isinstance(value, ast.Constant) and value.value in off:
                return True
    return False
