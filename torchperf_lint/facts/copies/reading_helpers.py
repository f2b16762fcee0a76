"""Functions of the project that only bring a tensor to the host: `to_numpy(x)`; and the hot calls of them.

def to_numpy(data):
    if isinstance(data, np.ndarray):
        return data
    return data.detach().cpu().numpy()

Such a helper is called from everywhere, with arrays as well as with tensors: in itself it shows neither where the
tensors are nor how often it runs, each of its calls does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.roles.cold import is_cold
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.syntax.syntax import below, nodes_of
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.patterns import pattern

_SHORT = 14
"""Lines of a function that does little else."""
_STATEMENTS = 6
_COPYING = ("cpu", "to")
_VIEWS = frozenset("detach data float double long int half clone contiguous squeeze view reshape numpy".split())
_OFTEN = frozenset({"step", "forward", "update"})
"""Kinds of hot code that keep what they compute on the device; the results of others belong on the host."""
_TO_FILES = pattern(
    r"(?:^|_|2|to)(?:im|img|ims|image|images|pil|uint8?|label|video|audio|wav|json|csv|str|text)(?:_|$)|"
    r"(?:^|_)(?:save|plot|show|draw|dump|write|vis|visuali[sz]e|render|log|decode)(?:_|$)",
    re.IGNORECASE,
)
"""Names of those whose results are looked at or kept in files."""


class HelperRead(NamedTuple):
    """A hot call that hands a tensor to such a function."""

    site: Site
    operand: ast.expr
    """The tensor."""
    path: str
    line: int
    """Where the function copies it."""


def helper_reads(file: SourceFile) -> tuple[HelperRead, ...]:
    """The hot calls of a file that hand a tensor to a function which copies it to the host, told of nowhere else."""
    return file.once(_helper_reads)


def where_copied(file: SourceFile, site: Site) -> tuple[str, int] | None:
    """(path, line) of the copy that a call has its helper make; None for calls that copy themselves."""
    return next(((read.path, read.line) for read in helper_reads(file) if read.site.call is site.call), None)


def _helper_reads(file: SourceFile) -> tuple[HelperRead, ...]:
    return tuple(_found_in(file))


def _found_in(file: SourceFile) -> Iterator[HelperRead]:
    records = []
    found: dict[tuple[int, int, str], tuple[FunctionKey, int]] = {}
    copying, targets_of = file.project.once(_may_copy), file.project.types.targets
    for call in file.outline.calls if copying else ():
        targets = targets_of(file.path, call.function, call.callee)
        if len(targets) != 1 or targets[0] not in copying or not _runs_often(file, call.region):
            continue
        line = _copied_on(file.project, targets[0])
        if line is not None and not _tells_itself(file.project, targets[0]):
            records.append(call)
            found[call.line, call.column, call.callee] = targets[0], line
    for site in file.calls_among(records):
        key, line = found[site.record.line, site.record.column, site.record.callee]
        function = file.project.index.function(key)
        operand = argument_for(site.call, function, function.parameters[function.bound].name)
        if operand is not None:
            yield HelperRead(site, operand, key.path, line)


def _runs_often(file: SourceFile, region: int) -> bool:
    """Whether a region of a file holds hot code that keeps what it computes on the device."""
    hot = file.project.hotness.of_region(file.path, region)
    return hot is not None and hot.kind in _OFTEN and not hot.optional and not hot.evaluates


def _may_copy(project: Project) -> frozenset[FunctionKey]:
    """The short functions that call `cpu` or `to`, or hold one that does: few, and so asked for first."""
    found: set[FunctionKey] = set()
    for site in (site for name in _COPYING for site in project.index.calls_named.get(name, ())):
        functions, number = project.index.outlines[site.path].functions, site.call.function
        while number > 0 and functions[number].end_line - functions[number].line <= _SHORT:
            found.add(FunctionKey(site.path, number))
            number = functions[number].parent
    return frozenset(found)


def hot_callers(file: SourceFile, site: Site) -> Iterator[CallSite]:
    """The hot calls of the helper that a copy stands in, in sorted order; none where it stands in no helper."""
    key = FunctionKey(file.path, site.function)
    if _copied_on(file.project, key) != site.record.line:
        return
    for caller in file.project.hotness.callers.get(key, ()):
        hot = file.project.hotness.of_region(caller.path, caller.call.region)
        if hot is not None and hot.kind in _OFTEN and not hot.optional:
            yield caller


def _tells_itself(project: Project, key: FunctionKey) -> bool:
    """Whether the copy in the helper is found where it stands: it is known to be hot there, and what it is given."""
    hot = project.hotness.functions.get(key)
    if hot is None or hot.kind not in _OFTEN or hot.optional or hot.evaluates:
        return False
    function, body = project.index.function(key), project.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if not isinstance(node, ast.FunctionDef) or body is None:
        return False
    name = ast.Name(function.parameters[function.bound].name, ast.Load(), **_place(node.body[-1]))
    value = project.values.of(name, Frame(key.path, key.index, body.at(node.body[-1])))
    return value.on_device


def _place(node: ast.stmt) -> dict[str, int]:
    return {"lineno": node.lineno, "col_offset": node.col_offset}


def _copied_on(project: Project, key: FunctionKey) -> int | None:
    """The line on which a short function copies its first parameter to the host, to give it back; None in others."""
    function = project.index.function(key)
    if function.end_line - function.line > _SHORT or len(function.parameters) <= function.bound:
        return None
    if "cpu" not in project.text(key.path):
        return None
    if _TO_FILES.search(function.name) or is_cold(project.index, key, True):
        return None
    body = project.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if not isinstance(node, ast.FunctionDef) or sum(isinstance(n, ast.stmt) for n in nodes_of(node)) > 2 * _STATEMENTS:
        return None
    name = function.parameters[function.bound].name
    copies = [call for call in nodes_of(node) if isinstance(call, ast.Call) and _copies(call, name)]
    return copies[0].lineno if len(copies) == 1 and _gives_back(node, copies[0], name) else None


def _copies(call: ast.Call, name: str) -> bool:
    """`x.detach().cpu()` or `x.to("cpu")` of a parameter `x`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in _COPYING:
        return False
    if len(call.args) != (call.func.attr == "to") or not all(is_literal(a, "cpu") for a in call.args):
        return False
    copied = below(call.func.value, _VIEWS)
    return isinstance(copied, ast.Name) and copied.id == name


def _gives_back(node: ast.FunctionDef, copy: ast.Call, name: str) -> bool:
    """Whether the copy is what the function returns: at once, or under the name it came by."""
    for statement in ast.walk(node):
        value = statement.value if isinstance(statement, ast.Return | ast.Assign) else None
        if value is None or all(part is not copy for part in ast.walk(value)):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        return not targets or any(isinstance(target, ast.Name) and target.id == name for target in targets)
    return False
