"""Batches that are converted on the host before they are copied: `x.to(torch.bfloat16).cuda()`, `x.float().to(device)`.

What a conversion makes there is a new tensor, which no loader has pinned. In one call that does not block,
`x.to(device, torch.bfloat16, non_blocking=True)`, torch copies what was pinned and converts it on the device. So it is
where the conversion stands in a statement of its own before: `x = x.type(torch.FloatTensor)`, and then `x.cuda()`.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.copies.host_types import HOST_TYPES
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain, last_part

_DTYPES = {
    "float": "torch.float32",
    "double": "torch.float64",
    "half": "torch.float16",
    "bfloat16": "torch.bfloat16",
    "long": "torch.int64",
    "int": "torch.int32",
    "bool": "torch.bool",
}
"""Methods without arguments -> what they convert to."""
_NEVER_LOADED = frozenset({"half", "float16", "bfloat16"})
"""Types that batches of a loader hardly ever have: a conversion to one of them makes a new tensor."""
_SIZES = frozenset({"shape", "size", "ndim", "dim", "numel"})
"""What no conversion changes."""


class Conversion(NamedTuple):
    """What a copy to the device is called of."""

    of: ast.expr
    """What is converted."""
    dtype: str
    """To what, as written."""
    made: bool
    """Whether that surely makes a new tensor; `x.float()` gives back what is float32 already."""
    line: int = 0
    """Where a statement of its own converts; 0 where the copy is called of the conversion itself."""


def converted_first(call: ast.Call) -> Conversion | None:
    """The conversion whose result `.to(device)` or `.cuda()` copies; None where these convert as well."""
    return _conversion(call.func.value) if _only_moves(call) else None  # type: ignore[attr-defined]


def converted_before(site: Site) -> Conversion | None:
    """The conversion in a statement of its own whose result a call copies; None where it may be copied without it."""
    body, name = site.file.project.body(site.file.path), site.receiver
    if body is None or not isinstance(name, ast.Name) or not _only_moves(site.call):
        return None
    reaching = body.reaching(site.function, name.id, site.start) or ()
    made = reaching[0] if len(reaching) == 1 and reaching[0].how == "assign" else None
    if made is None or made.value is None:
        return None
    block = body.block_of(site.function, site.start)
    inside = block[len(made.block) :]
    if block[: len(made.block)] != made.block or any(kind == "loop" for _, kind in inside):
        return None
    if body.mentions_between(site.function, name.id, made.end, site.start):
        return None  # it may need there what the conversion makes
    if not _rebinds(site, name.id) and _is_read_behind(site, body, name, made):
        return None  # what is read on the host later is the converted one
    found = _conversion(made.value)
    return found._replace(line=made.value.lineno) if found is not None else None


def _rebinds(site: Site, name: str) -> bool:
    """Whether the statement of a copy gives its name another value: `x = x.cuda()`, `x, y = x.cuda(), y.cuda()`."""
    statement = site.file.enclosing(site.function).statement(site.call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [part for target in targets for part in ast.walk(target)]
    return any(isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store) for part in parts)


def _is_read_behind(site: Site, body: Body, name: ast.Name, made: Definition) -> bool:
    """Whether something behind a copy reads the elements of what was bound before it."""
    parents = site.file.enclosing(site.function).parents
    reads = [read for read in body.reads(site.function, name.id) if read is not name]
    elements = [read for read in reads if getattr(parents.get(read), "attr", "") not in _SIZES]
    behind = [at for at in map(body.at, elements) if at >= site.start]
    return any(made in (body.reaching(site.function, name.id, at) or [made]) for at in behind)


def _only_moves(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda") or len(call.args) > 1:
        return False
    return all(keyword.arg in ("device", "non_blocking") for keyword in call.keywords)


def _conversion(inner: ast.expr) -> Conversion | None:
    if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute):
        return None
    of, method = inner.func.value, inner.func.attr
    if method in _DTYPES and not inner.args and not inner.keywords:
        return Conversion(of, _DTYPES[method], method in _NEVER_LOADED)
    if method not in ("to", "type") or len(inner.args) + len(inner.keywords) != 1:
        return None
    if inner.keywords and inner.keywords[0].arg not in ("dtype", "dst_type"):
        return None
    dtype = _dtype(inner.args[0] if inner.args else inner.keywords[0].value)
    return Conversion(of, dtype, last_part(dtype) in _NEVER_LOADED) if dtype else None


def _dtype(given: ast.expr) -> str:
    """The dtype that a dtype or a type of tensors on the host stands for, as written; empty for others."""
    written = chain(given)
    name = last_part(written)
    if not written.startswith(("torch.", "th.")) or written.count(".") != 1:
        return ""
    return written if name in {*_DTYPES.keys(), *map(last_part, _DTYPES.values())} else HOST_TYPES.get(name, "")


def in_one_call(call: ast.Call, conversion: Conversion) -> str:
    """The copy and the conversion as one call."""
    asked = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "device"), None)
    device = ast.unparse(asked) if asked is not None else '"cuda"'
    return f"{ast.unparse(conversion.of)}.to({device}, {conversion.dtype}, non_blocking=True)"
