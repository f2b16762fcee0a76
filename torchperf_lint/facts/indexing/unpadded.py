"""Padded sequences that torch cuts to their lengths again, where the lengths lie on the device.

    lengths = torch.bincount(batch)
    x = nn.utils.rnn.pad_sequence(x.split(lengths.tolist()), batch_first=True)
    x, _ = self.rnn(x)
    x = nn.utils.rnn.unpad_sequence(x, lengths, batch_first=True)

Of each sequence it takes `sequence[positions < length]` (torch 2.9): a mask on the device, whose elements the host
waits to have counted. Slices by numbers that the host has wait for nothing. Lengths that a function is given are left
alone: whoever packs sequences keeps them on the host.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Value

_CUTS = "torch.nn.utils.rnn.unpad_sequence"


class Unpadded(NamedTuple):
    """A hot call that selects from each sequence by a mask on the device."""

    site: Site
    lengths: ast.expr
    value: Value
    """Of the lengths."""
    listed: int | None
    """The line that has read the lengths as a list before, 1-based."""


def unpadded(file: SourceFile) -> Iterator[Unpadded]:
    """The hot calls of `unpad_sequence` whose lengths were computed on the device."""
    for site in file.hot_calls("unpad_sequence"):
        lengths = site.call.args[1] if len(site.call.args) > 1 else keyword(site.call, "lengths")
        if lengths is None or site.hot is None or site.hot.kind == "data" or site.hot.optional:
            continue
        if file.denotes(site.call.func, site) != _CUTS:
            continue
        value = on_device(file, site, lengths)
        if value is not None and value.kind == "tensor" and _is_computed(file, site, lengths):
            yield Unpadded(site, lengths, value, _listed(file, site, lengths))


def _is_computed(file: SourceFile, site: Site, lengths: ast.expr) -> bool:
    """Whether the function computes the lengths itself, by `torch.bincount(batch)` or `mask.sum(1)`."""
    body = file.project.body(file.path)
    if not isinstance(lengths, ast.Name) or body is None:
        return isinstance(lengths, ast.Call)
    bound = body.reaching(site.function, lengths.id, body.at(lengths)) or ()
    return bool(bound) and all(d.how == "assign" and isinstance(d.value, ast.Call) for d in bound)


def _listed(file: SourceFile, site: Site, lengths: ast.expr) -> int | None:
    """The line of `lengths.tolist()` above, where the name is bound to nothing else since."""
    body = file.project.body(file.path)
    if body is None or not isinstance(lengths, ast.Name):
        return None
    bound = body.reaching(site.function, lengths.id, body.at(lengths))
    for node in file.enclosing(site.function).of_kinds((ast.Call,)):
        if not isinstance(node, ast.Call) or chain(node.func) != f"{lengths.id}.tolist" or body.at(node) > site.start:
            continue
        if body.reaching(site.function, lengths.id, body.at(node)) == bound:
            return node.lineno
    return None
