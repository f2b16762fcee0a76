"""Uses of the spellings of automatic mixed precision that torch has replaced, and those kept for old versions."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_TORCH = pattern(
    r"torch\.(?P<device>cuda|cpu)\.amp\.(?:\w+_mode\.|grad_scaler\.)?(?P<name>autocast|GradScaler|custom_fwd|custom_bwd)$"
)
_APEX = pattern(
    r"apex\.(?:amp\.(?:\w+\.)?(?!state_dict$|load_state_dict$)\w+|parallel\.(?:DistributedDataParallel|convert_syncbn_model))$"
)
_VERSION = pattern(
    r"(?:^|[._])torch_?version|torch\.__version__|TORCH_\w*VERSION|torch_?(?:ge|gt|lt|le|at_least|greater|less|higher|newer|older)"
    r"|version\(|hasattr\((?:torch|\w*amp)\b|find_spec\(|_torch_?\d|TORCH_?\d|(?:has|is|have|use|support)\w*_(?:new|old|legacy)\w*|old_torch|new_amp",
    re.IGNORECASE,
)
"""Tests that ask which torch this is."""
_NUMBERS = pattern(r"(?<![\w.])(\d+)(?:\.|, )(\d+)")
_FIRST_NEW = (1, 10)
"""The release that brought `torch.autocast`; what is asked of earlier ones is whether they have mixed precision."""
_NEW = pattern(r"torch\.amp\b|torch\.autocast\b|from torch import (?:\w+, )*(?:amp|autocast)\b")
_NEW_NORM = pattern(r"\bSyncBatchNorm\.convert_sync_batchnorm\b")
"""What torch has for `apex.parallel.convert_syncbn_model`: in the other branch of a test, a setting chooses."""
_OLD = pattern(r"torch\.(?:cuda|cpu)\.amp\b")
_NAMES = frozenset({"autocast", "GradScaler", "custom_fwd", "custom_bwd"})


class Legacy(NamedTuple):
    """A use of a replaced spelling."""

    mark: Mark
    dotted: str
    head: str
    """The first name as written: `amp` of `amp.autocast`."""
    call: ast.Call | None
    """None where the name stands alone: a decorator without arguments, the argument of `partial`, what gets a name."""

    @property
    def device(self) -> str | None:
        """The device type that the spelling stands for; None for apex."""
        found = _TORCH.match(self.dotted)
        return found["device"] if found else None

    @property
    def name(self) -> str:
        """The last part of the spelling."""
        return self.dotted.rpartition(".")[2]


def legacy_uses(file: SourceFile) -> Iterator[Legacy]:
    """Each use that is not there for old versions of torch, in order."""
    body = file.project.body(file.path)
    if body is None:
        return
    chosen = _bound_for_old_versions(body)
    found = [use for number in body.functions for use in _in_function(file, number)]
    yield from sorted((use for use in found if use.head not in chosen), key=lambda use: use.mark.frame.at)


def _in_function(file: SourceFile, number: int) -> Iterator[Legacy]:
    for node in file.enclosing(number).parents:
        if isinstance(node, ast.Call):
            yield from _use(file, node.func, node, number)
            if last_part(chain(node.func)) == "partial":
                yield from (use for argument in node.args[:1] for use in _use(file, argument, None, number))
        elif isinstance(node, ast.Assign) and number and isinstance(node.targets[0], ast.Name):
            # `amp_autocast = torch.cuda.amp.autocast`, one of several that a setting chooses among; a module's own
            # name is told where it is called.
            value = node.value
            for chosen in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                yield from _use(file, chosen, None, number)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _decorators(file, node.decorator_list, number)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield from _decorators(file, inner.decorator_list, number)


def _decorators(file: SourceFile, nodes: list[ast.expr], number: int) -> Iterator[Legacy]:
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _use(file, node.func, node, number)
        else:
            yield from _use(file, node, None, number)


def _use(file: SourceFile, named: ast.expr, call: ast.Call | None, number: int) -> Iterator[Legacy]:
    if not isinstance(named, ast.Name | ast.Attribute):
        return
    if not _is_imported(file, chain(named)) and not _is_another_name(file, named):
        return
    mark = Mark(file, call if call is not None else named, number)
    dotted = file.denotes(named, mark) or _beside_stand_in(file, named)
    if (_TORCH.match(dotted) or _APEX.match(dotted)) and not _for_old_versions(file, mark):
        yield Legacy(mark, dotted, chain(named).partition(".")[0], call)


def _beside_stand_in(file: SourceFile, named: ast.expr) -> str:
    """What an import denotes beside a class by its name in a handler: `except ImportError: class GradScaler: ...`."""
    kind, number = file.outline.tops.get(chain(named), ("", 0))
    if kind != "class":
        return ""
    made = file.outline.classes[number]
    in_handler = any(r.kind == "except" and r.start[0] <= made.line <= r.end[0] for r in file.outline.regions)
    return file.outline.imports.get(made.name, "") if in_handler else ""


def _is_imported(file: SourceFile, written: str) -> bool:
    """Whether a chain begins with an import of torch or apex and ends in a name that matters: quick to tell."""
    head, _, rest = written.partition(".")
    full = file.outline.imports.get(head, head if file.outline.stars else "")
    if full.startswith("apex"):
        return True
    known = full.startswith("torch") or full in _NAMES  # the latter by `from helpers import *`
    return known and last_part(rest or full) in _NAMES


def _is_another_name(file: SourceFile, named: ast.expr) -> bool:
    """Whether a name of the module was bound to a replaced spelling: `autocast = torch.cuda.amp.autocast`."""
    if not isinstance(named, ast.Name) or named.id in file.outline.imports:
        return False
    bound = [b for b in file.outline.bindings if b.function == 0 and b.target == named.id]
    return len(bound) == 1 and _is_imported(file, bound[0].value)


def _for_old_versions(file: SourceFile, mark: Mark) -> bool:
    """Whether a handler, a test of the version, or the new spelling beside it shows a use to be for old versions."""
    enclosing = file.enclosing(mark.function)
    node: ast.AST = mark.expression
    new = _NEW_NORM if "convert_syncbn_model" in ast.unparse(mark.expression) else _NEW
    while node in enclosing.parents:
        parent = enclosing.parents[node]
        if isinstance(parent, ast.ExceptHandler):
            return True
        if isinstance(parent, ast.If | ast.IfExp) and node is not parent.test and _beside_new(parent, node, new):
            return True
        if isinstance(node, ast.stmt) and any(_left_for_new(s) for s in _before(enclosing.suite(node), node)):
            return True
        node = parent
    return _in_a_handler(file, mark.function)


def _in_a_handler(file: SourceFile, function: int) -> bool:
    """Whether a function is defined where something is missing: `except AttributeError: def custom_fwd(...)`."""
    regions = file.outline.regions
    number = file.outline.functions[function].region
    while number >= 0:
        if regions[number].kind == "except":
            return True
        number = regions[number].parent
    return False


def _beside_new(parent: ast.If | ast.IfExp, inner: ast.AST, new: re.Pattern[str]) -> bool:
    if _asks_for_new(parent.test):
        return True
    parts: list[ast.AST] = [parent.body, parent.orelse] if isinstance(parent, ast.IfExp) else []
    if isinstance(parent, ast.If):
        other = parent.orelse if any(inner is s for s in parent.body) else parent.body
        parts = [*other]
    return any(new.search(ast.unparse(part)) for part in parts)


def _asks_for_new(test: ast.expr) -> bool:
    """Whether a test asks for a version of torch that may have the new spelling: `>= "1.6"` asks for an older one."""
    written = ast.unparse(test)
    asked = [(int(major), int(minor)) for major, minor in _NUMBERS.findall(written)]
    return _VERSION.search(written) is not None and not (asked and max(asked) < _FIRST_NEW)


def _is_chosen(node: ast.If) -> bool:
    """Whether a branch of a test of the version has the new spelling."""
    return bool(_VERSION.search(ast.unparse(node.test)) and _NEW.search(ast.unparse(node)))


def _before(suite: Sequence[ast.stmt], node: ast.stmt) -> Iterator[ast.stmt]:
    return itertools.takewhile(lambda statement: statement is not node, suite)


def _left_for_new(statement: ast.stmt) -> bool:
    """`if TORCH_2_4: return torch.amp.autocast(...)`, after which the old spelling is for old versions."""
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], ast.Return):
        return False
    return bool(_asks_for_new(statement.test) or _NEW.search(ast.unparse(statement.body[-1])))


def _bound_for_old_versions(body: Body) -> frozenset[str]:
    """The names that a handler, or a branch of a test of the version, takes from a replaced module.

    A `try` that has nothing newer to offer, but a stand-in for what torch lacked before 1.6, chooses no version.
    """
    found: set[str] = set()
    for node in ast.walk(body.functions[0]):
        chosen = isinstance(node, ast.Try) and _NEW.search(ast.unparse(node)) is not None
        chosen = chosen or (isinstance(node, ast.If) and (_asks_for_new(node.test) or _is_chosen(node)))
        parts = [node] if chosen else node.handlers if isinstance(node, ast.Try) else []
        found.update(name for part in parts for inner in ast.walk(part) for name in names_from_torch(inner))
    return frozenset(found)


def names_from_torch(node: ast.AST) -> Iterator[str]:
    """What a statement binds to `torch.cuda.amp` or a part of it. Apex may be missing, but is never the older one."""
    if isinstance(node, ast.Assign) and _OLD.match(ast.unparse(node.value)):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return
    base = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    for alias in node.names:
        if f"{base}{alias.name}.".startswith(("torch.cuda.amp.", "torch.cpu.amp.")):
            yield alias.asname or alias.name.partition(".")[0]
