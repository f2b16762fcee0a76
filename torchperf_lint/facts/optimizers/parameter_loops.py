"""Loops that update a model tensor by tensor, where one call for a whole list (`torch._foreach_*`) does it.

    for q, p in zip(ema.parameters(), model.parameters()):        for p in model.parameters():
        q.mul_(decay).add_(p, alpha=1 - decay)                        p.grad.mul_(scale)

Told from others by what the turns do: they blend two models, change gradients or bound weights, take the step of plain
SGD by hand, add what is kept for each parameter, gather gradients or their squares, copy one list into another, or are
the update of an optimizer, with nothing in it that has no such form. What the operations are is foreach_forms.py's
business.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.element_loops.parameters import per_parameter
from torchperf_lint.facts.files.host_scripts import hands_out_arrays
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import NOT_KNOWN, Spot
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.optimizers.copied_from_flat import parts_of_flat
from torchperf_lint.facts.optimizers.descents import descends
from torchperf_lint.facts.optimizers.few_parameters import goes_over_few
from torchperf_lint.facts.optimizers.foreach_forms import (
    asks_for_norms,
    blends,
    changes,
    is_elementwise,
    moves_or_reads,
)
from torchperf_lint.facts.optimizers.gathered_gradients import gathers
from torchperf_lint.facts.optimizers.helper_blends import given_blends, helper_blends
from torchperf_lint.facts.optimizers.left_to_helpers import helper_of
from torchperf_lint.facts.optimizers.shifted_parameters import shifts
from torchperf_lint.facts.optimizers.soft_updates import at_own_pace, paces, softly
from torchperf_lint.facts.optimizers.whole_copies import copies
from torchperf_lint.facts.roles.cold import COLD_NAME
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import first_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

BLEND, CHANGE, OPTIMIZER, DESCENT, SHIFT, GATHER = "blend", "change", "optimizer", "descent", "shift", "gather"
COPY = "copy"
_OVER = pattern(r"param|state_dict|grads|buffers|weights|\.(?:keys|items)\(\)")
_AVERAGES = pattern(
    r"(?:^|_|[a-z])(?:update|step|ema|momentum|soft|polyak|target|track|averag|moving|sync|teacher|shadow)|^__call__$",
    re.IGNORECASE,
)
_RARE = pattern(
    r"epoch|merge|soup|checkpoint|load|interpolat|restor|swap|init|reset|final|swa|blend_models", re.IGNORECASE
)
_PROGRAM = pattern(r"\.add_argument\(|\.parse_args\(|\bif __name__ == ")
_HOPS = 2
"""Calls between a method for users and the loop."""


class Update(NamedTuple):
    """A loop that updates tensors one by one."""

    spot: Spot
    """What the loop goes over, and why it is hot."""
    loop: ast.For
    kind: str
    named: bool
    """Whether the turns ask for the name of the parameter."""


def updates(file: SourceFile) -> Iterator[Update]:
    """The loops of a file that run every step and update parameters with what has a form for lists."""
    if "_foreach_" in file.text:
        return  # whoever knows the forms had a reason
    if hands_out_arrays(file):
        return  # nothing is launched there, and torch goes through the lists one by one itself
    for function in sorted({r.function for r in file.outline.regions if r.kind == "loop" and _OVER.search(r.detail)}):
        for node in file.enclosing(function).of_kinds((ast.For,)):
            assert isinstance(node, ast.For)
            found = _update(file, node, function)
            if found is not None:
                yield found


def _update(file: SourceFile, loop: ast.For, function: int) -> Update | None:
    start = file.span(loop.body[0])[0]
    hot = file.project.hotness.at(file.path, start)
    inside = Spot(file, loop.body[0], function, hot or NOT_KNOWN, start)
    if per_parameter(file, inside) is not loop or moves_or_reads(loop) or goes_over_few(file, loop, function):
        return None
    kind = _kind(file, loop, function, hot)
    if kind is None and not _of_a_group(loop.iter):
        kind = BLEND if helper_blends(file, loop, function) or given_blends(file, loop, function) else None
    if kind is None:
        return None
    if hot is None and kind == BLEND:
        hot = softly(file, function) or at_own_pace(file, function, start) or _by_form(file, loop, function, start)
    if hot is None or hot.kind in ("data", "eval") or (hot.kind == "forward" and kind != BLEND):
        return None
    return Update(inside._replace(expression=loop.iter, hot=hot), loop, kind, _asks_for_names(loop))


def _kind(file: SourceFile, loop: ast.For, function: int, hot: Hot | None) -> str | None:
    if hot is not None and hot.kind == "update" and "optimizer" in hot.because:
        return OPTIMIZER if is_elementwise(loop, lambda call: helper_of(file, call, function)) else None
    if asks_for_norms(loop):
        return None
    if blends(loop):
        return OPTIMIZER if _of_a_group(loop.iter) else BLEND
    if descends(loop):
        return DESCENT
    if changes(loop):
        return CHANGE
    if copies(loop):
        body = file.project.body(file.path)
        return None if body is None or parts_of_flat(body, function, loop) else COPY
    if _of_a_group(loop.iter):
        return None
    return GATHER if gathers(loop) else SHIFT if shifts(loop) else None


def _of_a_group(iterated: ast.expr) -> bool:
    """`for p in group["params"]`: what an optimizer updates."""
    return any(isinstance(n, ast.Subscript) and ast.unparse(n.slice) == "'params'" for n in ast.walk(iterated))


def _by_form(file: SourceFile, loop: ast.For, function: int, start: tuple[int, int]) -> Hot | None:
    """Averages of weights are kept up after every step; who calls such a method is not in sight, in a library."""
    record = file.outline.functions[function]
    owner = file.outline.classes[record.class_index].name if record.class_index >= 0 else ""
    if function == 0 or _RARE.search(record.name) or COLD_NAME.search(record.name) or _RARE.search(owner):
        return None
    if not _AVERAGES.search(record.name) or not _left_to_users(file, FunctionKey(file.path, function), _HOPS):
        return None
    if paces(file, function, start) is None or _is_left_over(file, function):
        return None
    written = f"`{record.qualname}` (line {record.header_line})"
    because = f"{written} keeps a moving average of weights, as is done after every step"
    return Hot("update", because, "every training step", Confidence.LIKELY, file.path, loop.lineno)


def _is_left_over(file: SourceFile, function: int) -> bool:
    """Whether a function of a program is named nowhere else in it: nobody who uses a program calls its functions."""
    record = file.outline.functions[function]
    if record.class_index >= 0 or not _PROGRAM.search(file.text):
        return False
    return len(re.findall(rf"\b{re.escape(record.name)}\b", file.text)) == 1


def _left_to_users(file: SourceFile, key: FunctionKey, hops: int) -> bool:
    """Whether nothing calls a function but others that say by their names that they keep up an average."""
    for site in file.project.hotness.callers.get(key, ()):
        caller = file.project.index.outlines[site.path].functions[site.call.function]
        if hops == 0 or not _AVERAGES.search(caller.name) or _RARE.search(caller.name):
            return False
        if not _left_to_users(file, FunctionKey(site.path, site.call.function), hops - 1):
            return False
    return True


def _asks_for_names(loop: ast.For) -> bool:
    """Whether a test in the loop asks for the name of the parameter: `if "bn" in name`."""
    if last_part(chain(loop.iter)) not in ("named_parameters", "named_buffers", "items"):
        return False
    first = first_part(loop.target)
    if first is loop.target or not isinstance(first, ast.Name):
        return False
    name = first.id
    tests = [node.test for node in ast.walk(loop) if isinstance(node, ast.If)]
    return any(isinstance(part, ast.Name) and part.id == name for test in tests for part in ast.walk(test))
