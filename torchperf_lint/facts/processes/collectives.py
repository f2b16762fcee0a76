"""Collectives of a training step that only serve to show a number, and barriers in it.

    loss.backward()
    optimizer.step()
    dist.all_reduce(loss)
    meter.update(loss.item())

A value serves only to be shown where it is the loss, or made of it, and no gradient is computed of the result.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.processes.barrier_helpers import ACCELERATOR, OF_LIBRARIES, WAITS, barrier_calls
from torchperf_lint.facts.processes.exchanged_numbers import (
    SCALES,
    clipped_norms,
    goes_through,
    is_a_duration,
    is_a_logged_number,
    names_before,
)
from torchperf_lint.facts.processes.loss_terms import (
    addends,
    bound_before,
    made_from,
    only_ends,
    run_backward,
    terms_of,
)
from torchperf_lint.facts.processes.reducing_helpers import EXCHANGE, reducing_calls
from torchperf_lint.facts.processes.shown_one_by_one import shown_one_by_one
from torchperf_lint.facts.roles.fabrics import is_fabric
from torchperf_lint.facts.syntax.calls_within import calls_in, counted_by
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.syntax import children_of, names_of
from torchperf_lint.patterns import pattern

_OF_ACCELERATE = frozenset("gather gather_for_metrics reduce".split())
_OF_FABRIC = frozenset("all_reduce all_gather".split())
NAMES = tuple(sorted(EXCHANGE | _OF_ACCELERATE | WAITS))
_RARE = pattern(r"save|checkpoint|ckpt|every|interval|freq|epoch|done|last|final|first|eval|log", re.IGNORECASE)
_FILES = pattern(r"(?:^|[._])(?:save\w*|load|open|write|write_\w+|mkdir|makedirs|remove|rename|dump)$")
_TRAINS = frozenset({"backward", "step", "zero_grad"})
_UPDATES = frozenset({"step", "zero_grad"})
_LEAVES = (ast.Break, ast.Return, ast.Raise, ast.Continue)


Turn = ast.For | ast.While | ast.FunctionDef | ast.AsyncFunctionDef


class Collective(NamedTuple):
    """A collective in a training step that the step does not need."""

    site: Site
    about: str
    """What it exchanges, as written; empty for a barrier."""
    inside: Call | None = None
    """In a helper: the collective itself."""
    helper: str = ""
    """The file of the helper."""
    behind_files: bool = False
    """Of a barrier: whether files are written beside it, in a branch for something rare."""
    checked: bool = False
    """Whether the program ends where the result is not finite, which each process can ask of its own numbers."""


def needless_collectives(file: SourceFile) -> Iterator[Collective]:
    """The barriers of a file's training steps, and the collectives that exchange a loss only to show it."""
    if file.mentions(("distributed", "accelerat", "composer", "fabric")):
        known = list(_written_out(file))
        yield from known
        told = {collective.site.call for collective in known}
        yield from (Collective(s.site, s.about) for s in shown_one_by_one(file) if s.site.call not in told)
    yield from _in_helpers(file)
    for site, inside, helper in barrier_calls(file):
        turn = _turn(site, True)
        if turn is not None and not _is_rare(site, turn):
            yield from _barrier(site, inside, helper)


def _written_out(file: SourceFile) -> Iterator[Collective]:
    for site in file.hot_calls(*NAMES):
        name = last_part(chain(site.call.func))
        turn = _turn(site, name in WAITS)
        if turn is None or not _is_collective(file, site, name) or _is_rare(site, turn):
            continue
        if name in WAITS:
            yield from _barrier(site)
        elif site.call.args or site.call.keywords:
            loss = _of_the_loss(file, site, turn, name)
            if loss is not None and not _decides(site, turn, name):
                yield Collective(site, loss, checked=_is_checked(site, turn, name))


def _in_helpers(file: SourceFile) -> Iterator[Collective]:
    for site, inside, helper in reducing_calls(file):
        turn = _turn(site)
        if turn is None or _is_rare(site, turn):
            continue
        loss = _of_the_loss(file, site, turn, "reduce")
        if loss is not None and not _decides(site, turn, ""):
            yield Collective(site, loss, inside, helper, checked=_is_checked(site, turn, ""))


def _barrier(site: Site, inside: Call | None = None, helper: str = "") -> Iterator[Collective]:
    files = _files_beside(site)
    if files is not True:
        yield Collective(site, "", inside, helper, behind_files=files is False)


def _turn(site: Site, barrier: bool = False) -> Turn | None:
    """What runs once a step: the loop right around a call, or its function; it computes gradients itself.

    Around a barrier the loop alone says enough: `while step < last: train_step(next(batches))`; so does a function
    that a framework calls in every step, as a callback's hook.
    """
    hot = site.hot
    if hot is None or hot.kind != "step" or hot.optional:
        return None
    turns = [node for node in site.file.enclosing(site.function).around(site.call) if isinstance(node, Turn)]
    if len(turns) > 1 and isinstance(turns[0], ast.For) and not barrier and not _is_own_loop(site, turns[0]):
        turns = turns[1:]  # a loop over what is shown
    turn = turns[0] if turns else None
    if isinstance(turn, ast.For | ast.While):
        own = _is_own_loop(site, turn)
        return turn if own and (barrier or any(map(_is_backward, calls_in(turn)))) else None
    body = site.file.project.body(site.file.path)
    function = body.functions.get(site.function) if body is not None else None
    hooked = barrier and hot.depth == 0 and hot.loop is None
    steps = isinstance(function, Turn) and (hooked or any(map(_is_backward, calls_in(function))))
    return function if steps and isinstance(function, Turn) else None


def _is_own_loop(site: Site, loop: ast.For | ast.While) -> bool:
    """Whether a loop is the one that says how often the call runs."""
    hot = site.hot
    if hot is None or hot.loop is None or hot.loop[0] != site.file.path:
        return False
    region = site.file.outline.regions[hot.loop[1]]
    return region.head == loop.lineno and region.function == site.function


def _is_backward(call: ast.Call) -> bool:
    written = chain(call.func)
    return last_part(written) in ("backward", "manual_backward") or bool(call.args and SCALES.search(written))


def _is_collective(file: SourceFile, site: Site, name: str) -> bool:
    dotted = file.denotes(site.call.func, site) or ""
    if dotted.startswith(OF_LIBRARIES):
        return name in EXCHANGE or name in WAITS
    if _is_of_accelerator(site):
        return name in _OF_ACCELERATE or name in WAITS
    return is_fabric(site.receiver) and (name in _OF_FABRIC or name in WAITS)


def _is_of_accelerator(site: Site) -> bool:
    return site.receiver is not None and bool(ACCELERATOR.search(chain(site.receiver)))


def _is_rare(site: Site, turn: ast.AST) -> bool:
    """Whether a branch around a call asks for a count, or says that it is for something rare."""
    around = site.file.enclosing(site.function)
    for node in around.around(site.call):
        if node is turn:
            return False
        if isinstance(node, ast.If | ast.IfExp | ast.ExceptHandler | ast.While):
            test = getattr(node, "test", None)
            if test is None or _RARE.search(ast.unparse(test)):
                return True
            if counted_by(around, test) is not None and not _ends_accumulation(turn, test):
                return True
    return False


def _ends_accumulation(turn: ast.AST, test: ast.expr) -> bool:
    """Whether a test asks for the steps in which the optimizer steps: gradients of several batches are added up."""
    same = (node for node in ast.walk(turn) if isinstance(node, ast.If) and ast.dump(node.test) == ast.dump(test))
    return any(last_part(chain(call.func)) in _UPDATES for branch in same for s in branch.body for call in calls_in(s))


def _files_beside(site: Site) -> bool | None:
    """Whether the turn writes or reads files beside a barrier: one process then waits for another's file.

    False where it does so only in branches for something rare, into which the barrier belongs; None without files.
    """
    around = site.file.enclosing(site.function)
    statement = around.statement(site.call)
    beside = around.suite(statement) if statement is not None else ()
    touching = [call for part in beside for call in calls_in(part) if _FILES.search(chain(call.func))]
    if not touching:
        return None
    return not all(_is_counted(around, call, statement) or _is_seldom(site, call) for call in touching)


def _is_counted(around: Enclosing, call: ast.Call, beside: ast.stmt | None) -> bool:
    """Whether a branch that asks for a count is around a call, below the block that a statement stands in."""
    outer = around.parents.get(beside) if beside is not None else None
    for node in around.around(call):
        if node is outer:
            break
        if isinstance(node, ast.If) and counted_by(around, node.test) is not None:
            return True
    return False


def _is_seldom(site: Site, call: ast.Call) -> bool:
    """Whether a branch for one turn in many, however its test is written, is around a call and not around a barrier."""
    at = site.file.start(call)
    seldom = (r for r in site.file.outline.regions if r.kind == "cadence" and r.function == site.function)
    return any(r.start <= at < r.end and not r.start <= site.start < r.end for r in seldom)


def _of_the_loss(file: SourceFile, site: Site, turn: Turn, name: str) -> str | None:
    """What a collective exchanges, where it is the loss of the turn or made of it and no gradient needs the result."""
    body = file.project.body(file.path)
    given = _exchanged(site, name)
    if body is None or given is None:
        return None
    losses = {operand.partition(".")[0].partition("[")[0] for operand in body.backward_operands(site.function)}
    losses |= _loss_of_accelerator(turn) | run_backward(turn)
    made = _made_of(turn, losses | terms_of(turn, losses)) | _entries(site, losses, turn) | clipped_norms(turn)
    of_host = is_a_duration(site, given) or is_a_logged_number(site, given)
    if not of_host and not names_of(given) & made:
        return None
    backward = max(call.lineno for call in calls_in(turn) if _is_backward(call))
    back = _receivers(site, name) & names_before(turn, losses)
    if back and (site.call.lineno < backward or not back <= made & bound_before(turn, site.call)):
        return None
    return file.brief(given)


def _entries(site: Site, losses: set[str], turn: Turn) -> set[str]:
    """The names of a loop around a call that goes through the entries of which a loss of the turn is one."""
    around = site.file.enclosing(site.function).around(site.call)
    loops = (node for node in around if node is not turn and goes_through(node, losses, turn))
    return {name for loop in loops if isinstance(loop, ast.For) for name in names_of(loop.target)}


def _exchanged(site: Site, name: str) -> ast.expr | None:
    """The tensor that a collective is given: `all_gather` takes a list for the results first."""
    place = 1 if name in ("all_gather", "all_gather_into_tensor") and site.receiver is not None else 0
    place = 0 if _is_of_accelerator(site) or is_fabric(site.receiver) else place
    return site.call.args[place] if len(site.call.args) > place else site.keyword("tensor")


def _loss_of_accelerator(turn: ast.AST) -> set[str]:
    """The names that `accelerator.backward(loss / n)` runs on, and `booster.backward(loss=loss, ...)`."""
    backwards = [call for call in calls_in(turn) if _is_backward(call)]
    given = [call.args[0] for call in backwards if call.args]
    given += [keyword.value for call in backwards for keyword in call.keywords if keyword.arg == "loss"]
    return {name for node in given for name in addends(node)}


def _made_of(turn: Turn, names: set[str]) -> set[str]:
    """Some names, and those that the turn makes of nothing else: `shown = loss.detach().clone()`, another name."""
    found = set(names)
    for statement in ast.walk(turn):
        if isinstance(statement, ast.Assign | ast.AugAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            root = chain(statement.value).partition(".")[0]
            alike = last_part(chain(statement.value)) in ("detach", "clone", "data", "mean", "float", "item")
            if isinstance(target, ast.Name) and root in found and (alike or isinstance(statement.value, ast.Name)):
                found.add(target.id)
    return found


def _receivers(site: Site, name: str) -> set[str]:
    """The names that hold the result: what the statement assigns, and what a collective in place changes."""
    statement = site.file.enclosing(site.function).statement(site.call)
    if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return names_of(*targets)
    given = _exchanged(site, name)
    return {given.id} if isinstance(given, ast.Name) else set()


def _decides(site: Site, turn: Turn, name: str) -> bool:
    """Whether the result decides what the turn does next: all processes have to agree on it then."""
    for branch in _asking(site, turn, name):
        parts = [part for inner in children_of(branch) for part in ast.walk(inner)]
        trains = any(isinstance(part, ast.Call) and last_part(chain(part.func)) in _TRAINS for part in parts)
        if trains or (any(isinstance(part, _LEAVES) for part in parts) and not only_ends(branch)):
            return True
    return False


def _is_checked(site: Site, turn: Turn, name: str) -> bool:
    """Whether the program ends where the result is not finite."""
    return any(only_ends(branch) for branch in _asking(site, turn, name))


def _asking(site: Site, turn: Turn, name: str) -> Iterator[ast.If | ast.While]:
    """The branches and loops whose tests ask for the result, or for what the turn makes of it."""
    results = made_from(turn, _receivers(site, name), site.call.lineno)
    for node in site.file.enclosing(site.function).of_kinds((ast.If, ast.While)):
        assert isinstance(node, ast.If | ast.While)
        if names_of(node.test) & results or any(part is site.call for part in ast.walk(node.test)):
            yield node
