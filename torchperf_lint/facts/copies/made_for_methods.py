"""Tensors that one method makes on the host, step by step, and another of its class moves to the device.

    def init_hidden(self, episodes):                       def q_values(self, batch, steps):
        self.hidden = torch.zeros(episodes, self.width)        for step in range(steps):
                                                                   self.hidden = self.hidden.cuda()
    def learn(self, batch):                                        q, self.hidden = self.rnn(batch[step], self.hidden)
        self.init_hidden(len(batch))
        self.q_values(batch, steps)

Where the move is a statement for what the constructor made once, another rule asks for a buffer; here each step makes
the tensor anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.fresh import Fresh, just_made
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain

_FACTORIES = ("zeros", "ones", "empty", "full", "rand", "randn", "eye", "arange")
_MOVES = ("cuda", "to")
_KINDS = frozenset({"step", "forward", "update"})


class MadeForMethods(NamedTuple):
    """A factory's call, and the call that moves what it made."""

    site: Site
    fresh: Fresh
    move: Site


def made_for_methods(file: SourceFile) -> Iterator[MadeForMethods]:
    """The hot factories of a file whose tensor an attribute holds until another method moves it to the device."""
    moves: dict[tuple[int, str], Site] | None = None
    for site in file.hot_calls(*_FACTORIES):
        attribute = _kept_in(site)
        if attribute is None or site.hot is None or site.hot.kind not in _KINDS or site.hot.optional:
            continue
        moves = dict(_moves(file)) if moves is None else moves
        move = moves.get((file.outline.functions[site.function].class_index, attribute))
        if move is None or move.function == site.function:
            continue
        fresh = just_made(file.project.values, site.call, site.frame, _device(move.call))
        if fresh is not None and fresh.call is site.call:
            yield MadeForMethods(site, fresh, move)


def _kept_in(site: Site) -> str | None:
    """`self.hidden` of `self.hidden = torch.zeros(n)` in a method; what a constructor makes is made once."""
    record = site.file.outline.functions[site.function]
    statement = site.file.enclosing(site.function).parents.get(site.call)
    if record.class_index < 0 or record.name == "__init__" or not isinstance(statement, ast.Assign):
        return None
    target = chain(statement.targets[0])
    return target if len(statement.targets) == 1 and _is_own(target) else None


def _moves(file: SourceFile) -> Iterator[tuple[tuple[int, str], Site]]:
    """(class, attribute) and the hot call that moves it and puts it back: `self.hidden = self.hidden.cuda()`."""
    for site in file.hot_calls(*_MOVES):
        record = file.outline.functions[site.function]
        held = chain(site.receiver) if site.receiver is not None else ""
        statement = file.enclosing(site.function).parents.get(site.call)
        back = isinstance(statement, ast.Assign) and [chain(t) for t in statement.targets] == [held]
        own = record.class_index >= 0 and back and _is_own(held)
        if own and moves_to_device(file.project.values, site.call, site.frame):
            yield (record.class_index, held), site


def _is_own(held: str) -> bool:
    return held.startswith("self.") and held.count(".") == 1 and "[" not in held


def _device(move: ast.Call) -> str:
    given = [*move.args, *(k.value for k in move.keywords if k.arg == "device")]
    return ast.unparse(given[0]) if given else '"cuda"'
