"""`repeat_interleave` by a tensor of counts: the result is as large as their sum, which only the device knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.looks import may_be_tensor
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.indexing.put_together import as_long_as
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.conditions import words
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.value import Value

_NAME = "repeat_interleave"
MADE, NUMBERED, SUMMED, SHARED, BESIDE, STORED = "made", "numbered", "summed", "shared", "beside", "stored"
"""How the host can know the size: the counts were on the host a moment ago; positions are numbered, of something that
has that size already; the sum of the counts is read in the same function; several results by the same counts need
one read only; what the result is put together with is as long; or it has a row for each element that a sparse matrix
stores."""
_ENDS = frozenset({"crow_indices", "ccol_indices"})
"""Methods of sparse matrices that give where each row, or column, ends among the stored elements."""
_READS = frozenset({"item", "int", "tolist", "max", "cpu"})


class Repeated(NamedTuple):
    """A call that repeats by counts on the device, without saying how many that makes."""

    site: Site
    counts: ast.expr
    value: Value
    known: str | None
    """How the host can know the size; None where nothing shows that it can."""
    size: str | None = None
    """The size as it is written, by what the result is put together with."""


def repeated_by_counts(file: SourceFile) -> list[Repeated]:
    """The hot calls that repeat by a tensor of counts."""
    found = list(_repeated(file))
    places = [(one.site.function, words(one.counts)) for one in found]
    return [
        one._replace(known=SHARED) if one.known is None and places.count(place) > 1 else one
        for one, place in zip(found, places, strict=True)
    ]


def _repeated(file: SourceFile) -> Iterator[Repeated]:
    for site in file.hot_calls(_NAME):
        if site.hot is None or site.hot.kind == "data" or _says_size(site.call):
            continue
        what, counts = _operands(file, site)
        if counts is None or not (isinstance(counts, ast.Attribute) or may_be_tensor(site, counts)):
            continue
        value = on_device(file, site, counts)
        if value is not None and value.kind == "tensor":
            known, size = _known(file, site, what, counts), as_long_as(site, _dimension(file, site))
            stored = _stored(file, site, counts) if size is None else None
            known, size = (STORED, stored) if stored is not None else (known, size)
            yield Repeated(site, counts, value, known or (BESIDE if size is not None else None), size)


def _dimension(file: SourceFile, site: Site) -> int:
    """The dimension that is repeated along, where a number tells it; else the first, which a flat result has."""
    of_torch = file.denotes(site.call.func, site) == f"torch.{_NAME}"
    given = site.keyword("dim") or next(iter(site.call.args[2 if of_torch else 1 :]), None)
    return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else 0


def _says_size(call: ast.Call) -> bool:
    unpacked = any(isinstance(argument, ast.Starred) for argument in call.args)
    return unpacked or any(keyword.arg in (None, "output_size") for keyword in call.keywords)


def _operands(file: SourceFile, site: Site) -> tuple[ast.expr | None, ast.expr | None]:
    """What is repeated (None: its positions are), and the counts."""
    keyword, given = site.keyword("repeats"), site.call.args
    if file.denotes(site.call.func, site) == f"torch.{_NAME}":
        if keyword is not None:
            return (given[0] if given else site.keyword("input")), keyword
        return (None, given[0]) if len(given) == 1 else (given[0], given[1]) if given else (None, None)
    if site.receiver is None or file.project.types.targets(file.path, site.function, chain(site.call.func)):
        return None, None  # a function of the project's own by that name
    return site.receiver, keyword if keyword is not None else given[0] if given else None


def _known(file: SourceFile, site: Site, what: ast.expr | None, counts: ast.expr) -> str | None:
    made = _call(file, site, counts)
    if made is not None and last_part(chain(made.func)) in ("tensor", "as_tensor"):
        return MADE
    numbers = _call(file, site, what) if what is not None else None
    if what is None or (numbers is not None and _is_arange(numbers)):
        return NUMBERED
    return SUMMED if _is_summed(file, site, words(counts)) else None


def _stored(file: SourceFile, site: Site, counts: ast.expr) -> str | None:
    """How many elements a sparse matrix stores, as written, of `e[1:] - e[:-1]` with `e = a.crow_indices()`."""
    apart = _bound(file, site, counts)
    ends: ast.expr | None = None
    if isinstance(apart, ast.BinOp) and isinstance(apart.op, ast.Sub):
        sides = [side for side in (apart.left, apart.right) if isinstance(side, ast.Subscript)]
        same = len(sides) == 2 and words(sides[0].value) == words(sides[1].value)
        ends = sides[0].value if same and all(isinstance(side.slice, ast.Slice) for side in sides) else None
    elif isinstance(apart, ast.Call) and last_part(chain(apart.func)) == "diff":
        of_torch = chain(apart.func) == "torch.diff"
        ends = apart.args[0] if of_torch and apart.args else getattr(apart.func, "value", None)
    made = _bound(file, site, ends) if ends is not None else None
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute) or made.func.attr not in _ENDS:
        return None
    return f"{ast.unparse(made.func.value)}.values().shape[0]"


def _call(file: SourceFile, site: Site, node: ast.expr) -> ast.Call | None:
    """The call that an expression is, or that the only binding of a name is."""
    bound = _bound(file, site, node)
    return bound if isinstance(bound, ast.Call) else None


def _bound(file: SourceFile, site: Site, node: ast.expr) -> ast.expr | None:
    """An expression, or what the only binding of a name is; a placeholder `None` beside it does not count."""
    if not isinstance(node, ast.Name):
        return node
    body = file.project.body(file.path)
    reaching = body.reaching(site.function, node.id, site.start) if body is not None else None
    values = [d.value for d in reaching or () if d.how == "assign" and not is_none(d.value)]
    return values[0] if len(values) == 1 else None


def _is_arange(node: ast.Call) -> bool:
    inner = node.func.value if isinstance(node.func, ast.Attribute) else None
    moved = isinstance(inner, ast.Call) and last_part(chain(node.func)) in ("to", "cuda", "type_as", "long")
    return _is_arange(inner) if moved and isinstance(inner, ast.Call) else last_part(chain(node.func)) == "arange"


def _is_summed(file: SourceFile, site: Site, counts: str) -> bool:
    """Whether the function reads the sum of the counts: `total = int(counts.sum())`."""
    enclosing = file.enclosing(site.function)
    for node in enclosing.of_kinds((ast.Call,)):
        assert isinstance(node, ast.Call)
        if not isinstance(node.func, ast.Attribute) or node.func.attr != "sum" or node.args or node.keywords:
            continue
        outer = enclosing.parents.get(node)
        reader = outer if isinstance(outer, ast.Call) else enclosing.parents.get(outer) if outer is not None else None
        read = isinstance(reader, ast.Call) and last_part(chain(reader.func)) in _READS
        if read and words(node.func.value) == counts:
            return True
    return False
