"""Backward passes that go back through a network whose gradients are zeroed before its optimizer steps.

    fake = generator(noise)
    loss = criterion(critic(fake), zeros) + ...
    loss.backward()
    critic_optimizer.step()

    generator_optimizer.zero_grad()
    ...
    generator_optimizer.step()

Told by which network each optimizer updates, by the value going from one network to the other and to `backward`, and by
every step of the first one's optimizer having a `zero_grad` in front of it that the backward pass comes before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.flows import Reached, reached
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.optimizers.optimizer_owners import owns, stepped
from torchperf_lint.facts.syntax.arguments import arguments, keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.patterns import pattern

_BACKWARD = frozenset(("backward", "manual_backward"))
_FREEZES = pattern(r"grad|freez|frozen|trainable")
_LEFT_TO_OTHERS = ("toggle_optimizer", "deepspeed", "untoggle", "zero_grads(", "optimize_parameters(self", "higher.")
"""Who says one of these may have switched the gradients off, or zeroes them, out of sight."""
_UP = 3


class Undetached(NamedTuple):
    """A call of a network on what another one has computed, whose gradients nobody uses."""

    site: Site
    """The call of the network that is trained."""
    given: str
    """What it gets, as written."""
    source: str
    """The network that computed it."""
    backward: int
    """The line of the backward pass."""
    zeroed: int
    """A line where the gradients are zeroed, unused."""


def undetached(file: SourceFile) -> Iterator[Undetached]:
    """The calls in training steps that a backward pass goes through into a network it is not for."""
    if file.mentions(_LEFT_TO_OTHERS):
        return
    functions = {call.function for call in file.outline.calls if last_part(call.callee) in _BACKWARD}
    for function in sorted(functions):
        yield from _Step(file, function).found()


class _Step:
    """One function that runs backward passes."""

    def __init__(self, file: SourceFile, function: int) -> None:
        self.file, self.function = file, function
        self.around = file.enclosing(function)
        calls = [node for node in self.around.of_kinds((ast.Call,)) if isinstance(node, ast.Call)]
        self.calls = calls
        self.steps = [(call, stepped(call)) for call in calls if stepped(call)]

    def found(self) -> Iterator[Undetached]:
        """What is found, each call once."""
        if not self.steps:
            return
        others = {name for _, name in _all_steps(self.file, self.function)}
        if len(others) < 2:
            return
        for source in self._networks(others):
            for to, backward, zeroed in self._through(source, others):
                site = self._site(to.call)
                if site is not None:
                    given = self.file.brief(to.given)
                    yield Undetached(site, given, source.record.callee, backward.lineno, zeroed)

    def _networks(self, optimizers: set[str]) -> Iterator[Site]:
        """The calls of networks that one of the optimizers updates, gradients recorded."""
        records = [c for c in self.file.outline.calls if c.function == self.function and _is_plain(c.callee)]
        for site in self.file.calls_among(records):
            hot, name = site.hot, site.record.callee
            if hot is None or hot.kind != "step" or hot.optional or not arguments(site.call):
                continue
            if not any(owns(self.file, self.function, optimizer, name) for optimizer in optimizers):
                continue
            if self.file.project.hotness.grad_mode.records(self.file.path, site.start) and not self._frozen(name):
                yield site

    def _through(self, source: Site, optimizers: set[str]) -> Iterator[tuple[Reached, ast.Call, int]]:
        """(call, backward, line of `zero_grad`) for the other networks that get what one computes."""
        name = source.record.callee
        own = [o for o in sorted(optimizers) if owns(self.file, self.function, o, name)]
        if any(last_part(chain(r.call.func)) == "grad" for r in reached(self.file, self.function, source.call)):
            return  # what is asked for the gradient of what the network made
        for to in reached(self.file, self.function, source.call, lambda r: self._is_handed_on(r, name, optimizers)):
            if not self._is_other(to.call, name, optimizers):
                continue
            then = [r.call for r in reached(self.file, self.function, to.call)]
            backwards = [c for c in then if last_part(chain(c.func)) in _BACKWARD]
            if len(backwards) != 1:
                continue
            (backward,) = backwards
            if keyword(backward, "inputs") is not None or not self._is_for(backward, to.call, own):
                continue
            zeroed = [self._zeroed(backward, optimizer, name) for optimizer in own]
            if all(zeroed) and self._starts_there(source, own, optimizers):
                yield to, backward, zeroed[0] or 0

    def _is_handed_on(self, to: Reached, name: str, optimizers: set[str]) -> bool:
        """Whether a call computes something of what it gets: not of other values at the indices it gets."""
        behind = [*to.call.args[1:], *(k.value for k in to.call.keywords)]
        return to.given not in behind and not self._is_other(to.call, name, optimizers)

    def _is_other(self, call: ast.Call, name: str, optimizers: set[str]) -> bool:
        """Whether a call is of a network of another optimizer than that of `name`."""
        written = chain(call.func)
        if written == name or not _is_plain(written):
            return False
        of = [o for o in optimizers if owns(self.file, self.function, o, written)]
        return bool(of) and not any(owns(self.file, self.function, o, name) for o in of)

    def _is_for(self, backward: ast.Call, call: ast.Call, own: list[str]) -> bool:
        """Whether the first step behind a backward pass is one of the network that is called, not of the first."""
        later = [name for step, name in self.steps if step.lineno > backward.lineno]
        return bool(later) and later[0] not in own and owns(self.file, self.function, later[0], chain(call.func))

    def _zeroed(self, backward: ast.Call, optimizer: str, name: str) -> int | None:
        """A line where the gradients are zeroed after the backward pass and before each step; None if not each time."""
        lines: list[int] = []
        for function, steps in _steps_of(self.file, self.function, optimizer).items():
            around = self.file.enclosing(function)
            zeroing = [c for c in _calls(around) if self._zeroes(c, function, optimizer, name)]
            for step in steps:
                before = [z for z in zeroing if z.lineno < step.lineno and _comes_before(around, z, step)]
                if function == self.function and backward.lineno < step.lineno:
                    before = [z for z in before if z.lineno > backward.lineno]
                elif function != self.function and self._runs_between(function, before, step):
                    return None
                if not before:
                    return None
                lines.append(before[-1].lineno)
        return min(lines, default=None)

    def _zeroes(self, call: ast.Call, function: int, optimizer: str, name: str) -> bool:
        """`optimizer.zero_grad()`, `network.zero_grad()`, or a method of the file that does one of them."""
        if last_part(chain(call.func)) == "zero_grad" and isinstance(call.func, ast.Attribute):
            return chain(call.func.value) in (optimizer, name)
        wanted = {f"{optimizer}.zero_grad", f"{name}.zero_grad"}
        for key in self.file.project.types.targets(self.file.path, function, chain(call.func)):
            own = optimizer.startswith("self.") and key.path == self.file.path
            if own and any(c.callee in wanted and c.function == key.index for c in self.file.outline.calls):
                return True
        return False

    def _runs_between(self, function: int, zeroing: list[ast.Call], step: ast.Call) -> bool:
        """Whether another function runs this one between its last `zero_grad` and its step."""
        last = max((call.lineno for call in zeroing), default=0)
        for call in _calls(self.file.enclosing(function)):
            targets = self.file.project.types.targets(self.file.path, function, chain(call.func))
            here = any(key.path == self.file.path and key.index == self.function for key in targets)
            if here and last <= call.lineno <= step.lineno:
                return True
        return False

    def _starts_there(self, source: Site, own: list[str], optimizers: set[str]) -> bool:
        """Whether nothing in front of a network is trained by what comes back through it."""
        values, body = [*arguments(source.call)], self.file.project.body(self.file.path)
        for hop, value in enumerate(values):
            for node in ast.walk(value):
                if isinstance(node, ast.Call) and _is_plain(chain(node.func)):
                    of = [o for o in optimizers if owns(self.file, self.function, o, chain(node.func))]
                    if of and not set(of) & set(own):
                        return False
                asks = isinstance(node, ast.keyword) and node.arg == "requires_grad"
                if asks or (isinstance(node, ast.Attribute) and node.attr == "requires_grad_"):
                    return False
                if isinstance(node, ast.Name) and body is not None and hop < _UP * 4:
                    found = body.reaching(self.function, node.id, body.at(node)) or ()
                    values += [d.value for d in found if d.value is not None and d.value not in values]
        return True

    def _frozen(self, name: str) -> bool:
        """Whether a line that names a network, or the one behind it, says anything about its gradients."""
        last, lines = last_part(name), self.file.lines
        word = pattern(rf"\b{last}\b")
        for number, line in enumerate(lines):
            if word.search(line) and "zero_grad" not in line and "clip" not in line:
                behind = lines[number + 1] if number + 1 < len(lines) and line.lstrip().startswith("for ") else ""
                if _FREEZES.search(line.partition("#")[0]) or "requires_grad" in behind:
                    return True
        return False

    def _site(self, call: ast.Call) -> Site | None:
        at, callee = self.file.start(call), chain(call.func)
        records = [c for c in self.file.outline.calls if (c.line, c.column) == at and c.callee == callee]
        return next(self.file.calls_among(records), None)


def _is_plain(written: str) -> bool:
    """`generator(x)`, `self.generator(x)`: something that has a name is called itself."""
    return written.removeprefix("self.").isidentifier()


def _calls(around: Enclosing) -> list[ast.Call]:
    return [node for node in around.of_kinds((ast.Call,)) if isinstance(node, ast.Call)]


def _comes_before(around: Enclosing, first: ast.Call, then: ast.Call) -> bool:
    """Whether one call always runs where another one does, in front of it."""
    statement = around.statement(first)
    if statement is None:
        return False
    suite = around.suite(statement)
    second: ast.AST = then
    while second not in suite:
        parent = around.parents.get(second)
        if parent is None:
            return False
        second = parent
    return suite.index(statement) < suite.index(second)


def _all_steps(file: SourceFile, function: int) -> Iterator[tuple[int, str]]:
    """(function, optimizer) for what may step in the same scope: methods of the class, functions around and within."""
    functions = file.outline.functions
    own = functions[function].class_index
    for record in file.outline.calls:
        if last_part(record.callee) != "step":
            continue
        alike = record.function == function or functions[record.function].class_index == own >= 0
        within = functions[record.function].parent == function or functions[function].parent == record.function
        body = file.project.body(file.path)
        node = body.node_of(record) if (alike or within) and body is not None else None
        if node is not None and stepped(node):
            yield record.function, stepped(node)


def _steps_of(file: SourceFile, function: int, optimizer: str) -> dict[int, list[ast.Call]]:
    """Function -> the calls that step an optimizer, which has the same name in all of them."""
    numbers = sorted({number for number, name in _all_steps(file, function) if name == optimizer})
    return {number: [c for c in _calls(file.enclosing(number)) if stepped(c) == optimizer] for number in numbers}
