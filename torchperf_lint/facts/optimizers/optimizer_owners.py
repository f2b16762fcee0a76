"""Whose parameters an optimizer updates: by what it is made with, or else by its name.

self.d_optimizer = Adam(self.critic.parameters())           def train(gen, disc, opt_gen, opt_disc): ...
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_ASKS = frozenset(("parameters", "named_parameters"))
_OF_OPTIMIZERS = pattern(r"optimi[sz]ers?|optims?|opts?(?![a-z])|(?<![a-z])opts?|solver", re.IGNORECASE)
_OF_NETWORKS = pattern(r"networks?|nets?|models?", re.IGNORECASE)
_IS_ONE = pattern(r"optim|(?:^|[._])opt(?:[._]|$|\d)|_?opt$|solver|^opt", re.IGNORECASE)
_SCHEDULES = pattern(r"sched|(?:^|[._])lr|warmup", re.IGNORECASE)


def stepped(call: ast.Call) -> str:
    """The chain of the optimizer that a call steps: `optimizer.step()`, `scaler.step(optimizer)`; else empty."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return ""
    owner = chain(call.func.value)
    if last_part(owner).lower().endswith("scaler"):
        return chain(call.args[0]) if call.args else ""
    return owner if _IS_ONE.search(owner) and not _SCHEDULES.search(owner) else ""


def owned_by(file: SourceFile, function: int, optimizer: str) -> frozenset[str]:
    """The networks whose parameters an optimizer is made with in the same scope, without `self.`; empty if unknown."""
    return frozenset(name for statement in _made(file, function, optimizer) for name in _asked(file, *statement))


def owns(file: SourceFile, function: int, optimizer: str, network: str) -> bool:
    """Whether an optimizer of a function updates a network, both as written there."""
    known, plain = owned_by(file, function, optimizer), network.removeprefix("self.")
    if known:
        return any(name == plain or name.startswith(f"{plain}.") or plain.startswith(f"{name}.") for name in known)
    one, two = _core(_OF_OPTIMIZERS, optimizer), _core(_OF_NETWORKS, network)
    return bool(one and two) and (one.startswith(two) or two.startswith(one))


def _core(kind: re.Pattern[str], written: str) -> str:
    """What is left of a name without what it says of its kind: `d` of `self.optimizer_D` and of `netD`."""
    return "".join(re.findall(r"[a-z0-9]+", kind.sub("", written.removeprefix("self.")).lower()))


def _made(file: SourceFile, function: int, optimizer: str) -> Iterator[tuple[int, ast.Assign]]:
    """The statements that bind the optimizer, with their functions: the methods of a class, or the functions around."""
    functions = file.outline.functions
    own = functions[function].class_index if optimizer.startswith("self.") else -1
    scopes = {0, function}
    while own < 0 and (function := functions[function].parent) > 0:
        scopes.add(function)
    for number in {b.function for b in file.outline.bindings if b.target == optimizer}:
        if functions[number].class_index != own if own >= 0 else number not in scopes:
            continue
        for node in file.enclosing(number).of_kinds((ast.Assign,)):
            assert isinstance(node, ast.Assign)
            if any(chain(target) == optimizer for target in node.targets):
                yield number, node


def _asked(file: SourceFile, function: int, statement: ast.Assign) -> Iterator[str]:
    """The networks a statement asks for parameters, in names it reads too: `params = list(net.parameters())`."""
    body, stack = file.project.body(file.path), [statement.value]
    for value in stack:
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKS:
                yield chain(node.func.value).removeprefix("self.")
            elif isinstance(node, ast.Name) and body is not None and len(stack) < 8:
                held = body.assigned_once(function, node.id, body.at(statement))
                stack += [held] if isinstance(held, ast.Call | ast.List | ast.BinOp) else []
