"""Random numbers that are drawn on the device only to be read by the host: the host could have drawn them itself.

cutoff = torch.randint(1, n, (), device=x.device)
x[:, cutoff:] = y[:, cutoff:]                        # waits, though nothing that the device computed decides
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.model import Location

_FACTORIES = frozenset(
    "torch.rand torch.randn torch.randint torch.rand_like torch.randn_like torch.randint_like".split()
)
_IN_PLACE = frozenset("random_ uniform_ normal_ bernoulli_ exponential_".split())
_KEEPS = frozenset(
    "long int float double clamp floor ceil round squeeze view reshape to cuda type abs sum prod".split()
)
_OF_OTHERS = frozenset(
    "torch.where torch.full_like torch.ones_like torch.zeros_like torch.minimum torch.maximum".split()
)
"""Functions that compute with what they are given, and shapes of it."""
_MAX_STEPS = 6

HOST_DRAWS = "draw it on the host (`random.random()`, `random.randrange(n)`), which needs no wait"
"""What to write instead."""


def is_drawn(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether a number is drawn at random, and made of nothing else but numbers of the host."""
    return _drawn(file, place, node, _MAX_STEPS) is True


def _drawn(file: SourceFile, place: Place, node: ast.expr, steps: int) -> bool | None:
    """True for a random number, False for one of the host, None where something else goes in."""
    if steps <= 0:
        return None
    if isinstance(node, ast.Name):
        return _named(file, place, node, steps)
    if isinstance(node, ast.Call):
        return _called(file, place, node, steps)
    if isinstance(node, ast.BinOp):
        return _any(file, place, [node.left, node.right], steps)
    if isinstance(node, ast.Compare):
        return _any(file, place, [node.left, *node.comparators], steps)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _drawn(file, place, node.value, steps - 1)
    return _plain(file, place, node)


def _plain(file: SourceFile, place: Place, node: ast.expr) -> bool | None:
    if isinstance(node, ast.Constant):
        return False
    kind = file.value(node, place).kind
    # A setting of which nothing is known is a number, unless it is computed.
    return False if kind == "plain" or (kind == "unknown" and isinstance(node, ast.Attribute)) else None


def _any(file: SourceFile, place: Place, parts: list[ast.expr], steps: int) -> bool | None:
    found = [_drawn(file, place, part, steps - 1) for part in parts]
    return None if None in found else any(found)


def _named(file: SourceFile, place: Place, node: ast.Name, steps: int) -> bool | None:
    body = file.project.body(file.path)
    values = body.assigned(place.function, node.id, body.at(node)) if body is not None else []
    return _any(file, place, values, steps) if values else _plain(file, place, node)


def _called(file: SourceFile, place: Place, node: ast.Call, steps: int) -> bool | None:
    denoted = file.denotes(node.func, place) or ""
    if denoted in _FACTORIES:
        return True
    if denoted in _OF_OTHERS:
        return _any(file, place, node.args, steps)
    helper = None if isinstance(place, _Inside) else file.project.values.thing(node.func, place.frame)
    if helper is not None and helper.kind == "function" and helper.path == file.path:
        return _by_helper(file, place, node, helper.index, steps)
    if not isinstance(node.func, ast.Attribute):
        return _plain(file, place, node)
    method = node.func.attr
    if method in _IN_PLACE:
        return True
    return _drawn(file, place, node.func.value, steps - 1) if method in _KEEPS else _plain(file, place, node)


def _by_helper(file: SourceFile, place: Place, call: ast.Call, function: int, steps: int) -> bool | None:
    """Of a function of the file that draws: `self.random_int(0, h - s)`; what it is given has to be the host's."""
    body = file.project.body(file.path)
    returned = body.returns(function) if body is not None else []
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    if body is None or len(returned) != 1 or any(_drawn(file, place, part, steps - 1) is not False for part in given):
        return None
    return _drawn(file, _Inside(file, returned[0], function, place.hot, body.at(returned[0])), returned[0], _MAX_STEPS)


class _Inside(NamedTuple):
    """What a function returns, as a place of its own; a `Place`."""

    file: SourceFile
    expression: ast.expr | ast.stmt
    function: int
    hot: Hot | None
    start: Position

    @property
    def frame(self) -> Frame:
        """Where its parts are evaluated."""
        return Frame(self.file.path, self.function, self.start)

    @property
    def location(self) -> Location:
        """Its exact span."""
        start, end = self.file.span(self.expression)
        return Location(self.file.shown, *start, *end)
