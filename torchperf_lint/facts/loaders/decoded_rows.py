"""Rows of a Hugging Face data set that one item fetches several times: each time all their columns are decoded.

    text, audio = self.data[i]["text"], self.data[i]["audio"]        # decodes the audio of row i twice

A row is read from Arrow, and its audio and images are decoded, whenever it is asked for; nothing keeps it. What an item
of another key gives may be a column, which is told from a split by how its rows are read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.bindings.bindings import BlockPath
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_MADE = (
    r"datasets\.(?:\w+\.)?(?:(?:load_dataset|load_from_disk|concatenate_datasets|interleave_datasets)\(\)"
    r"|Dataset(?:\.from_\w+)?\(\))"
)
_SAME = (
    r"(?:map|filter|select|shuffle|sort|shard|cast|cast_column|rename_columns?|remove_columns|select_columns|add_column|"
    r"with_format|with_transform|flatten_indices|class_encode_column|take|skip)"
)
_ROWS = pattern(rf"^{_MADE}(?:\.{_SAME}\(\))*(?:\[(?P<key>\w*)\](?:\.{_SAME}\(\))*)?$")
"""What gives a data set of rows, or of splits; group: the key that was taken of it, "" where it is no literal."""
_SPLIT = pattern(r"^(?:train|test|eval|dev|val)")
_MEDIA = pattern(r"audio|speech|wav|image|img|video|pixel|picture|photo")
_OF_AUDIO = frozenset({"array", "sampling_rate", "path", "bytes"})


class Refetched(NamedTuple):
    """A row that one item fetches several times."""

    spot: Spot
    """Where it is fetched a second time."""
    first: ast.expr
    times: int
    decodes: bool
    """Whether a column that is read of it is audio or images by its name."""


def rows_fetched_again(file: SourceFile) -> Iterator[Refetched]:
    """The rows of Hugging Face data sets that a function of a data set fetches more than once, in order."""
    body = file.project.body(file.path) if file.mentions(("__getitem__",)) else None
    groups: dict[tuple[int, str], list[Spot]] = {}
    for spot in hot_nodes(file, ast.Subscript) if body is not None else ():
        node = spot.expression
        assert isinstance(node, ast.Subscript)
        if spot.hot.kind == "data" and isinstance(node.ctx, ast.Load) and _is_simple(node):
            groups.setdefault((spot.function, ast.unparse(node)), []).append(spot)
    for spots in groups.values():
        assert body is not None
        together = _run_together(file, body, spots)
        if len(together) < 2 or not _are_the_same(body, together):
            continue
        columns = {column for spot in spots for column in _columns(file, body, spot)}
        if _are_rows(file, spots[0], columns):
            decodes = any(_MEDIA.search(column) for column in columns)
            first, second = together[0].expression, together[1]
            assert isinstance(first, ast.expr)
            yield Refetched(second, first, len(together), decodes)


def _is_simple(node: ast.Subscript) -> bool:
    """`self.data[index]`: what is fetched, and which row, are names."""
    return (
        isinstance(node.slice, ast.Name)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and chain(node.value) != ""
    )


def _run_together(file: SourceFile, body: Body, spots: Sequence[Spot]) -> list[Spot]:
    """The most of some places, in order, that one run of the function comes by."""
    best: list[Spot] = []
    for last in spots:
        block = _block(body, last)
        before = [s for s in spots if s.start < last.start and _is_around(_block(body, s), block)]
        before = [s for s in before if not _are_alternatives(file, s, last)]
        best = max(best, [*before, last], key=len)
    return best


def _block(body: Body, spot: Spot) -> BlockPath:
    return body.block_of(spot.function, spot.start)


def _is_around(outer: BlockPath, inner: BlockPath) -> bool:
    return inner[: len(outer)] == outer


def _are_alternatives(file: SourceFile, one: Spot, other: Spot) -> bool:
    """Whether two expressions are the branches of one `a if test else b`."""
    parents = file.enclosing(one.function).parents
    sides: dict[int, str] = {}
    for number, spot in enumerate((one, other)):
        node: ast.AST | None = spot.expression
        while node is not None:
            parent = parents.get(node)
            if isinstance(parent, ast.IfExp) and node is not parent.test:
                side = "body" if node is parent.body else "orelse"
                if number and sides.get(id(parent), side) != side:
                    return True
                sides.setdefault(id(parent), side)
            node = parent
    return False


def _are_the_same(body: Body, spots: Sequence[Spot]) -> bool:
    """Whether the names of a row are bound alike at all its places, and its data set is not set between them."""
    node = spots[0].expression
    assert isinstance(node, ast.Subscript)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    function = spots[0].function
    for name in names:
        bound = [body.reaching(function, name, spot.start) for spot in spots]
        if any(b != bound[0] for b in bound):
            return False
    return chain(node.value) not in body.attributes(function)


def _are_rows(file: SourceFile, spot: Spot, columns: set[str]) -> bool:
    """Whether what an index picks is a row of a data set, of which these columns are read; not one of a column."""
    node = spot.expression
    assert isinstance(node, ast.Subscript)
    thing = file.project.values.thing(node.value, spot.frame)
    found = _ROWS.match(thing.dotted) if thing is not None and thing.kind == "external" else None
    if found is None:
        return False
    key = found["key"]
    return key is None or _SPLIT.search(key) is not None or (not key and bool(columns - _OF_AUDIO))


def _columns(file: SourceFile, body: Body, spot: Spot) -> Iterator[str]:
    """The columns that are taken of a row by their names, at once or of the variable that it is given to."""
    parents = file.enclosing(spot.function).parents
    parent = parents.get(spot.expression)
    rows: list[ast.AST] = [spot.expression]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        rows += body.reads(spot.function, parent.targets[0].id)
    for row in rows:
        node = parents.get(row)
        taken = node.slice if isinstance(node, ast.Subscript) and node.value is row else None
        if isinstance(taken, ast.Constant) and isinstance(taken.value, str):
            yield taken.value
