"""Tensors that a step copies while it waits, beside others that it has pinned and copies without waiting.

    tokens = torch.tensor(rows, pin_memory=True)
    inputs = tokens[:, :-1].to(device, non_blocking=True)
    mask = torch.tensor(mask_rows)
    mask = mask.to(device)                                  # waits for the copy of `tokens` as well

What one copy saves, the other loses: the host waits until all that was queued before is done.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.host_data import Made, made_on_host, upload_at
from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_false

_PINS = "pin_memory"
_KINDS = ("step", "eval")


class PinnedBeside(NamedTuple):
    """A blocking copy of what was just made on the host, and the copy beside it that does not wait."""

    site: Site
    made: Made
    name: str
    """What is pinned."""
    line: int
    """Of its copy."""


def pinned_beside(file: SourceFile) -> Iterator[PinnedBeside]:
    """The hot blocking copies in one block with the copy of something pinned that does not wait."""
    for site in file.hot_calls("to", "cuda") if file.mentions((_PINS,)) else ():
        if site.hot is None or site.hot.kind not in _KINDS or site.hot.optional or not is_blocking(site.call):
            continue
        if keyword(site.call, "non_blocking") is not None:  # `non_blocking=False` is written on purpose
            continue
        beside = _copied_without_waiting(file, site)
        made = _made_for_it(file, site) if beside is not None else None
        if beside is not None and made is not None:
            yield PinnedBeside(site, made, *beside)


def _made_for_it(file: SourceFile, site: Site) -> Made | None:
    """The `torch.tensor` that makes it in the same block, of data that no other rule knows to be constant.

    That one pins what it makes without another copy; what `from_numpy` wraps would be copied to be pinned.
    """
    values, body = file.project.values, file.project.body(file.path)
    made = made_on_host(values, site.receiver, site.frame) if site.receiver is not None else None
    if made is None or body is None or made.function != site.function or made.factory != "tensor":
        return None
    if body.block_of(site.function, body.at(made.call)) != body.block_of(site.function, site.start):
        return None
    if upload_at(values, site.call, site.frame) or not moves_to_device(values, site.call, site.frame):
        return None
    return made


def _copied_without_waiting(file: SourceFile, site: Site) -> tuple[str, int] | None:
    """The name of a pinned tensor, and the line of its copy in the same block; None where there is none."""
    body = file.project.body(file.path)
    assert body is not None
    block = body.block_of(site.function, site.start)
    for call in file.enclosing(site.function).of_kinds((ast.Call,)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr not in ("to", "cuda") or is_blocking(call) or keyword(call, "non_blocking") is None:
            continue
        name = _below_slices(call.func.value)
        bound = body.assigned_once(site.function, name, body.at(call)) if name else None
        if bound is not None and _is_pinned(bound) and body.block_of(site.function, body.at(call)) == block:
            return name, call.lineno
    return None


def _below_slices(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return chain(node) if isinstance(node, ast.Name) else ""


def _is_pinned(node: ast.expr) -> bool:
    """`torch.tensor(rows, pin_memory=use_cuda)`, `torch.stack(rows).pin_memory()`."""
    if not isinstance(node, ast.Call):
        return False
    given = keyword(node, _PINS)
    if given is not None:
        return not is_false(given)
    return isinstance(node.func, ast.Attribute) and node.func.attr == _PINS
