"""Tensors that a factory makes on the host unless a flag, off by default, puts other numbers in their place.

    def sample(cdf, n, fixed=False):
        u = torch.rand(len(cdf), n)
        if fixed:                                         # asked for by tests
            u = torch.Tensor(np.random.rand(len(cdf), n))
        return search(cdf, u.contiguous().to(device))     # moves what `rand` drew
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.off_flags import OffFlags
from torchperf_lint.facts.copies.fresh import Fresh, just_made
from torchperf_lint.facts.devices.devices import destination
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import DEVICE, HOST
from torchperf_lint.model import Confidence

_VIEWS = api.DERIVING - {"to", "type"}
_WAYS = 4
"""How many bindings may reach a move."""


def drawn_by_default(site: Site) -> Fresh | None:
    """What a call of `.to` or `.cuda` moves, where a factory made it in all ways but those behind a flag; else None."""
    values, body = site.file.project.values, site.file.project.body(site.file.path)
    name = _name_below(site.receiver)
    reaching = body.reaching(site.function, name.id, site.start) if body is not None and name is not None else None
    if body is None or name is None or not 1 < len(reaching or ()) <= _WAYS:
        return None
    if any(d.how != "assign" or d.value is None or _is_elsewhere(body, site, d) for d in reaching or ()):
        return None
    flags = OffFlags(site.file, site.function)
    usual = [d.value for d in reaching or () if d.value is not None and flags.before(d.value) is None]
    if not 0 < len(usual) < len(reaching or ()) or _is_used_between(body, site, name, usual, flags):
        return None
    value = values.of(name, site.frame)
    device, written = destination(values, site.call, site.frame)
    if device != DEVICE or value.kind != "tensor" or value.device != HOST:
        return None
    made = [just_made(values, v, site.frame.back(body.at(v)), written, Confidence.LIKELY) for v in usual]
    return made[-1] if None not in made else None


def _name_below(node: ast.expr | None) -> ast.Name | None:
    """`u` of `u.contiguous()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
        node = node.func.value
    return node if isinstance(node, ast.Name) else None


def _is_elsewhere(body: Body, site: Site, d: Definition) -> bool:
    """Whether a binding runs more or less often than the move does, of one that branches do not tell apart."""
    here, there = body.block_of(site.function, site.start), d.block
    common = next((n for n, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), min(len(here), len(there)))
    return any(branch not in ("body", "else") for _, branch in (*here[common:], *there[common:]))


def _is_used_between(body: Body, site: Site, name: ast.Name, usual: list[ast.expr], flags: OffFlags) -> bool:
    """Whether anything but what the flag asks for reads the tensor before it is moved."""
    first, (line, column) = min(body.at(value, end=True) for value in usual), site.start
    own = {id(part) for part in ast.walk(site.call)}
    made = {id(part) for value in usual for part in ast.walk(value)}
    return any(
        first < body.at(read) <= (line, column)
        and id(read) not in own | made
        and flags.before(read) is None
        for read in body.reads(site.function, name.id)
    )
