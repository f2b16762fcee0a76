"""Groups of one parameter each, which optimizers update one after the other: no list of them has more than one tensor.

    groups = [{"params": p, "weight_decay": decay(name)} for name, p in net.named_parameters()]

    for name, p in net.named_parameters():
        groups += [{"params": [p], "lr": rate * scale(name)}]
    optimizer = torch.optim.AdamW(groups)

Torch updates each group by itself. Settings that differ by name are few: a group for each of them does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import NOT_KNOWN, Spot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_KEY = "params"
_WRITTEN = re.compile(r"""["']params["']\s*:""")
_ALL = frozenset({"parameters", "named_parameters"})
_OPTIMIZES = pattern(r"optim", re.IGNORECASE)
_NOT_TORCHS = pattern(r"(?:^|\.)(?:optimi[sz]e|minimi[sz]e)$", re.IGNORECASE)
Loop = ast.For | ast.comprehension


class Groups(NamedTuple):
    """A list with a group for each parameter."""

    spot: Spot
    """The group."""
    over: ast.expr
    """What its loop goes over."""
    optimizer: ast.Call
    """Who is given the list."""
    confidence: Confidence


def groups_of_one(file: SourceFile) -> Iterator[Groups]:
    """The lists of a file that an optimizer gets and that hold a group for each parameter of a model."""
    lines = [number for number, line in enumerate(file.lines, 1) if _WRITTEN.search(line)]
    regions = file.outline.regions
    functions = sorted({regions[file.project.hotness.innermost(file.path, (n, 10**6))].function for n in lines})
    for function in functions:
        around = file.enclosing(function)
        for node in around.of_kinds((ast.Dict,)):
            assert isinstance(node, ast.Dict)
            one = _single(node)
            loop = _loop_of(around, node, one) if one is not None else None
            given = _given(file, function, around, node) if loop is not None else None
            if loop is not None and given is not None:
                spot = Spot(file, node, function, NOT_KNOWN, file.start(node))
                yield Groups(spot, loop.iter, *given)


def _single(group: ast.Dict) -> ast.Name | None:
    """`p` of `{"params": p, ...}` and of `{"params": [p], ...}`."""
    for key, value in zip(group.keys, group.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == _KEY:
            one = value.elts[0] if isinstance(value, ast.List | ast.Tuple) and len(value.elts) == 1 else value
            return one if isinstance(one, ast.Name) else None
    return None


def _loop_of(around: Enclosing, group: ast.Dict, one: ast.Name) -> Loop | None:
    """The loop over all parameters, each turn of which makes a group of its own."""
    node: ast.AST = group
    while (parent := around.parents.get(node)) is not None:
        if isinstance(parent, ast.For):
            return parent if _goes_over_all(parent, one) else None
        if isinstance(parent, ast.ListComp | ast.GeneratorExp):
            return parent.generators[-1] if _goes_over_all(parent.generators[-1], one) else None
        node = parent
    return None


def _goes_over_all(loop: Loop, one: ast.Name) -> bool:
    over = loop.iter
    while isinstance(over, ast.Call) and last_part(chain(over.func)) in ("list", "filter", "tqdm") and over.args:
        over = over.args[-1]
    return isinstance(over, ast.Call) and last_part(chain(over.func)) in _ALL and one.id in names_of(loop.target)


def _given(file: SourceFile, function: int, around: Enclosing, group: ast.Dict) -> tuple[ast.Call, Confidence] | None:
    """The optimizer that the list of groups is given to, in the same function, and how sure it is to be torch's."""
    kept = _kept(around, group)
    if kept is None:
        return None
    for call in around.of_kinds((ast.Call,)):
        assert isinstance(call, ast.Call)
        arguments = [*call.args[:1], *(k.value for k in call.keywords if k.arg == _KEY)]
        if not any(a is kept or (isinstance(kept, str) and chain(a) == kept) for a in arguments):
            continue
        told = _optimizes(file, function, call)
        if told is not None:
            return call, told
    return None


def _kept(around: Enclosing, group: ast.Dict) -> ast.expr | str | None:
    """The name of the list that a group is put into, or the list itself where it has none."""
    node: ast.AST = group
    while (parent := around.parents.get(node)) is not None:
        if isinstance(parent, ast.ListComp | ast.GeneratorExp):
            above = around.parents.get(parent)
            if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
                return above.targets[0].id
            return parent
        if isinstance(parent, ast.Call):
            appends = isinstance(parent.func, ast.Attribute) and parent.func.attr == "append"
            return chain(parent.func.value) or None if appends and isinstance(parent.func, ast.Attribute) else None
        if isinstance(parent, ast.AugAssign):
            return chain(parent.target) or None
        if not isinstance(parent, ast.List):
            return None
        node = parent
    return None


def _optimizes(file: SourceFile, function: int, call: ast.Call) -> Confidence | None:
    """How sure a call is to make an optimizer of torch; None where it is another's, or none at all."""
    written = chain(call.func)
    dotted = file.denotes(call.func, Spot(file, call, function, NOT_KNOWN, file.start(call))) or ""
    if dotted.startswith("torch.optim."):
        return Confidence.CERTAIN
    if dotted.startswith("torch.") or file.project.types.targets(file.path, function, written):
        return None
    return Confidence.LIKELY if _OPTIMIZES.search(written) and not _NOT_TORCHS.search(written) else None
