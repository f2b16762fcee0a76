"""Results of `torch.compile` that nothing runs: dropped, bound to a name nobody reads, used for other methods, or asked
only for what the original has:

    trainer = Trainer(model=model, ...)
    model = torch.compile(model)        # after it was handed on
    trainer.train()
    model.save_pretrained(folder)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.processes.compiling import COMPILE, compiled_by
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import children_of, names_of
from torchperf_lint.patterns import pattern

DROPPED, UNREAD, SELF, METHOD, UNRUN = "dropped", "unread", "self", "method", "unrun"
_RUNS = pattern(
    r"^_?(?:generate|sample|encode|decode|predict|infer|inference|embed|forecast|transcribe|translate|synthesi[sz]e|"
    r"training_step|validation_step|loss|compute_loss|forward_\w+|(?:encode|decode|sample|generate|predict|get)_"
    r"(?:image|text|audio|latent|feature|embedding|logit|step)\w*)$"
)
"""Methods that do a network's work under another name than `forward`."""
_HARMLESS = pattern(
    r"^(?:train|eval|to|cuda|cpu|half|float|bfloat16|parameters|named_parameters|state_dict|load_state_dict|modules|"
    r"named_modules|children|requires_grad_|zero_grad|buffers|named_buffers|apply|compile|save_pretrained|"
    r"(?:generation_)?config|device|dtype|print_trainable_parameters)$"
)
"""What is asked of a network without running it."""
_ASKS = pattern(r"avail|support|check|can_|_can|(?:^|_)(?:is|has|test|try|probe|warm)(?:_|$)", re.IGNORECASE)
"""Functions that compile only to see whether it works."""


class Unused(NamedTuple):
    """A compilation for nothing; `way` is one of the names above, `name` what it was bound to, `method` what is run."""

    site: Site
    way: str
    what: ast.expr
    name: str = ""
    method: str = ""


def unused(file: SourceFile) -> Iterator[Unused]:
    """What is compiled and never run compiled, in order."""
    for site in file.calls_of(COMPILE):
        what = compiled_by(site.call)
        if what is None or isinstance(what, ast.Lambda) or _asks(file, site.function):
            continue
        found = _judged(file, site, what)
        if found is not None:
            yield found


def _judged(file: SourceFile, site: Site, what: ast.expr) -> Unused | None:
    statement = file.enclosing(site.function).statement(site.call)
    if isinstance(statement, ast.Expr) and statement.value is site.call:
        return Unused(site, DROPPED, what)
    if not isinstance(statement, ast.Assign) or statement.value is not site.call or len(statement.targets) != 1:
        return None
    (target,) = statement.targets
    if not isinstance(target, ast.Name):
        return None
    uses = _uses(file, site, statement, target.id)
    if uses is None:
        return None
    is_self = site.function > 0 and target.id == "self" == chain(what)
    if not uses:
        return Unused(site, SELF if is_self else UNREAD, what, target.id)
    methods = _methods(uses, file.enclosing(site.function).top)
    if is_self and all(methods):
        return Unused(site, SELF, what, target.id)
    named = [method for method in methods if method and _RUNS.match(method)]
    rest = all(method and (_RUNS.match(method) or _HARMLESS.match(method)) for method in methods)
    if not rest or site.function == 0:
        return None
    return Unused(site, METHOD, what, target.id, named[0]) if named else Unused(site, UNRUN, what, target.id)


def _methods(uses: Sequence[ast.Name], within: ast.AST) -> list[str]:
    """For each use of a name the method that is called on it, or the attribute that is read; empty for other uses, and
    for `forward`."""
    asked = {node.value: node.attr for node in _all_of(within) if isinstance(node, ast.Attribute)}
    found = (asked.get(use, "") for use in uses)
    return ["" if method in ("forward", "__call__") else method for method in found]


def _asks(file: SourceFile, function: int) -> bool:
    return function > 0 and bool(_ASKS.search(file.outline.functions[function].name))


# -- uses of a name ------------------------------------------------------------------------------------------


def _uses(file: SourceFile, site: Site, statement: ast.Assign, name: str) -> list[ast.Name] | None:
    """Where the compiled function's name is read; None where that cannot be told."""
    enclosing = file.enclosing(site.function)
    loop = next((a for a in enclosing.around(statement) if isinstance(a, ast.For | ast.AsyncFor | ast.While)), None)
    given = isinstance(loop, ast.For | ast.AsyncFor) and name in _stored(loop.target)
    if site.function == 0 and not given:  # others may import it
        return None
    nodes = [node for node in _all_of(enclosing.top) if isinstance(node, ast.Name | ast.Global | ast.Nonlocal)]
    if any(isinstance(node, ast.Global | ast.Nonlocal) and name in node.names for node in nodes):
        return None
    own = {id(node) for node in ast.walk(statement)}
    body = file.project.body(file.path)
    assert body is not None
    after = [n for n in body.reads(site.function, name) if id(n) not in own]
    if loop is None or given:
        end = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
        # A nested function reads it whenever that runs.
        after = [n for n in after if (n.lineno, n.col_offset) >= end or n not in enclosing.parents]
    # What is bound again behind it is another value.
    again = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    rebound = [n for n in again if id(n) not in own and n.lineno > statement.lineno]
    return None if rebound and after else after


def _stored(target: ast.expr) -> set[str]:
    return names_of(target)


def _all_of(top: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function, nested functions included."""
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        stack += children_of(node)
