"""What a result is put together with, so that it must be as long: `torch.cat([x, y], dim=-1)`, `x + y`, `x[mask]`.

The host knows how long that is before the result is made, where the other was there by then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.indexing.masks import is_mask
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_JOINED = frozenset({"cat", "concat", "concatenate"})
_ROW_BY_ROW = frozenset({"cross", "cosine_similarity", "pairwise_distance"})
"""Functions that take two tensors row by row."""
_ADDS = frozenset({"index_add", "index_add_", "index_reduce", "index_reduce_"})
_OF_ONE = pattern(r"(?:^|_)(?:bias|weights?|scales?|gamma|beta|eps|mean|std|var|temp\w*|alpha|factor)$")
"""Names of what may be one row, or one number, for all."""
_REPEATS = "repeat_interleave"


def as_long_as(site: Site, dim: int) -> str | None:
    """How long the result of a call is along a dimension, in words: `y.shape[0]`, of what it is put together with."""
    for use in _uses(site):
        for other in _beside(site, use, dim):
            if _was_there(site, other):
                return f"{ast.unparse(other)}.shape[{dim}]"
    return None


def _uses(site: Site) -> Iterator[ast.expr]:
    """The call, and the places where a name is read that it alone is bound to."""
    yield site.call
    around, body = site.file.enclosing(site.function), site.file.project.body(site.file.path)
    statement = around.statement(site.call)
    if body is None or not isinstance(statement, ast.Assign) or statement.value is not site.call:
        return
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    for use in around.of_kinds((ast.Name,)):
        read = isinstance(use, ast.Name) and use.id in names and isinstance(use.ctx, ast.Load)
        if isinstance(use, ast.Name) and read and body.assigned_once(site.function, use.id, body.at(use)) is site.call:
            yield use


def _beside(site: Site, use: ast.expr, dim: int) -> Iterator[ast.expr]:
    """The expressions that have to be as long as what is used here."""
    around = site.file.enclosing(site.function)
    parent = around.parents.get(use)
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        yield parent.right if parent.left is use else parent.left
    elif isinstance(parent, ast.Subscript) and parent.slice is use and dim == 0:
        if is_mask(site.file.project.values, use, site.frame):
            yield parent.value
    elif isinstance(parent, ast.Call):
        yield from _of_call(site, parent, use)
    elif isinstance(parent, ast.List | ast.Tuple):
        call = around.parents.get(parent)
        if isinstance(call, ast.Call) and parent in call.args and _takes_alike(site, call, dim):
            yield from (part for part in parent.elts if part is not use)


def _of_call(site: Site, call: ast.Call, use: ast.expr) -> Iterator[ast.expr]:
    name = last_part(chain(call.func))
    if name in _ROW_BY_ROW and api.is_torchs_own(site.file.denotes(call.func, site) or ""):
        yield from (part for part in call.args[:2] if part is not use and use in call.args[:2])
    elif name in _ADDS and isinstance(call.func, ast.Attribute) and call.args[1:2] == [use]:
        yield from call.args[2:3]


def _takes_alike(site: Site, call: ast.Call, dim: int) -> bool:
    """Whether a call joins tensors that are equally long: along another dimension, or along a new one."""
    denoted = site.file.denotes(call.func, site) or ""
    if not api.is_torchs_own(denoted):
        return False
    name = last_part(denoted)
    if name == "stack":
        return True
    told = next((k.value for k in call.keywords if k.arg in ("dim", "axis")), next(iter(call.args[1:2]), None))
    along = _number(told)
    return name in _JOINED and along is not None and along != dim


def _number(node: ast.expr | None) -> int | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    bare = node.operand if negative and isinstance(node, ast.UnaryOp) else node
    if not isinstance(bare, ast.Constant) or not isinstance(bare.value, int):
        return None
    return -bare.value if negative else bare.value


def _was_there(site: Site, other: ast.expr) -> bool:
    """Whether a tensor, not one row for all, is bound before the call: it is not made of its result."""
    if not isinstance(other, ast.Name) or _OF_ONE.search(other.id):
        return False
    value = site.file.value(other, site)
    body = site.file.project.body(site.file.path)
    if value.kind != "tensor" or body is None:
        return False
    reaching = body.reaching(site.function, other.id, body.at(other))
    before = body.reaching(site.function, other.id, site.start)
    if reaching is None or before is None:
        return True
    if not reaching or {d.at for d in reaching} != {d.at for d in before}:
        return False
    return not any(_reduces(d.value) for d in reaching)


def _reduces(value: ast.expr | None) -> bool:
    """Whether what is bound is repeated itself, or may be a number or a row for all."""
    if not isinstance(value, ast.Call):
        return False
    return last_part(chain(value.func)) in (_REPEATS, "sum", "mean", "max", "min", "amax", "amin", "norm", "tensor")
