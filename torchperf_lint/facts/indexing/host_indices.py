"""Indices in host memory of tensors on the device: `x[torch.randperm(n)]`, `x[:, [i]]`. Each use copies them there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.copies.fresh import Fresh, just_made
from torchperf_lint.facts.copies.left_behind import LeftBehind
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.devices.step_batches import one_tensor
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, hot_nodes
from torchperf_lint.facts.indexing.counted_places import is_counted_place
from torchperf_lint.facts.indexing.host_index_sources import source_of
from torchperf_lint.facts.indexing.index_uses import parts_of_index
from torchperf_lint.facts.indexing.repeated_lists import repeated_list
from torchperf_lint.facts.indexing.steady_indices import steady_index
from torchperf_lint.facts.indexing.tables_of_indices import table_of_row
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.expressions_written import of_part
from torchperf_lint.facts.values.value import DEVICE, Value
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_MAKES_INDEX = (
    "arange(", "randperm(", "randint(", "rand(", "_indices(", "permutation(", "[range(", ", range(", "from_numpy(",
    "choice(", "random.sample(", ".shuffle(", "linspace(", "meshgrid(", "oader(", "multinomial(", "bernoulli(",
    "torch.bool)", "eye(", "triu(", ".tolist()", ".numpy()", "append([",
)  # fmt: skip
"""How what makes an index, or a mask, is written."""
_MAY_BE_ON_HOST = (
    *_MAKES_INDEX, "pack_padded_sequence(", "[self.", "_indices(", "_inds(", "_idx(", "_index(", "atcher(",
    ".type(torch.", ".type('torch.", '.type("torch.',
)  # fmt: skip
_LISTED = (
    pattern(r"\[(?<=[\w\])]\[)(?:[^\[\]\n]*,)?\s*(?:\[[\w\s,.-]+\]|~?self\.[\w.]+[\[\]]|(?:torch\.)?\w*[tT]ensor\()"),
    pattern(r"\[(?<=\w\[)\w+, \w+\] = "),
    pattern(r"\[(?<=[\w\])]\[)(?:[^\[\]\n]*,)?\s*\[\d+\] \* "),
    pattern(r"\[(?<=[\w\])]\[)(?:[^\[\]\n]*,)?\s*\[[^\[\]\n]+ for \w+ in range\("),
    pattern(
        r" = (?:(?<=idx = )|(?<=ind = )|(?<=index = )|(?<=indices = )|(?<=inds = )|(?<=ids = )|(?<=perm = )|"
        r"(?<=order = )|(?<=mask = )|(?<=keep = )|(?<=kept = )|(?<=rows = )|(?<=columns = )|(?<=selected = ))"
        r".*(?:ensor\(|\[)"
    ),
    pattern(r"assign\w*\("),
    pattern(r"(?m:^[\w ,]*(?:ind(?:ex|ices|s)?|idxs?|perm\w*|order)\b[\w ,]* = [\w.]+\()"),
    pattern(r" in range\([^\n]*:\s+\w+\.append\(\w"),
    pattern(r"(?m:^_?[A-Z][A-Z\d_]* = (?:\[\d|\w*\.?\w*[tT]ensor\())"),
    pattern(r"\[(?<=[\w\])]\[)(?:[^\[\]\n]*,)?\s*(?:\w+\.)*_?[A-Z][A-Z\d_]+\s*[\],]"),
)
"""`x[[0, 1]]`, `x[:, [i]]`, `x[:, self.kept]`, `x[i, banned] = 0`, `x[torch.tensor(order)]`, and names for such;
lists that a loop counts into; `index, share = mixed(n)`, what a function of the project makes.

The last: `x[:, LEFT_EYE]`, `x[:, ORDER]`, a constant that may be another module's.
"""


_MAY_BE_SEVERAL = ast.Name | ast.Attribute | ast.Call | ast.Compare | ast.List | ast.ListComp


class HostIndex(NamedTuple):
    """An index in host memory of a tensor on the device."""

    spot: Spot
    """The index, where it is used."""
    base: Value
    """The tensor that it indexes."""
    device: str
    """The device of that, as written."""
    fresh: Fresh | None
    """What made the index; None for a list of numbers, and for what was there before."""
    source: str = "a list is host memory"
    """What an index is that nothing has just made."""
    held: LeftBehind | None = None
    """The attribute of a module that the index is."""
    of: Position = (0, 0)
    """Where the first subscript of its kind stands: several indices of one are copied at once."""
    instead: str = ""
    """What to write instead, where the source of the index says so."""


def host_indices(file: SourceFile) -> Iterator[HostIndex]:
    """The hot subscripts of device tensors by a list, or by what lies in host memory."""
    if not hot_functions(file) or not (file.mentions(_MAY_BE_ON_HOST) or any(way.search(file.text) for way in _LISTED)):
        return
    causes: dict[ast.Call | str, Position] = {}
    for spot in hot_nodes(file, ast.Subscript):
        assert isinstance(spot.expression, ast.Subscript)
        at = file.start(spot.expression)
        for index in _indices(spot):
            found = _of(file, spot, spot.expression.value, index)
            if found is not None:
                whole = spot.expression.slice
                if isinstance(whole, ast.Name) and index is not whole:  # `at = rows, columns`: told where it is used
                    found = found._replace(spot=spot.at(whole))
                # What indexes several tensors is told once, and so are several indices of one subscript.
                cause = found.fresh.call if found.fresh is not None else _shared(found)
                beside = _of_statement(file, found)
                at = causes.setdefault(cause, causes.get(beside, at) if beside else at)
                if beside:
                    causes.setdefault(beside, at)
                yield found._replace(of=at)


def _shared(index: HostIndex) -> str:
    """What tells two uses of one index: an array's name, an attribute's; each list that is written out is its own.

    The rows of one table are one: what holds a tensor of it mends them all.
    """
    node = index.spot.expression
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name | ast.Constant | ast.UnaryOp):
        node = node.value
    own = f"line {node.lineno}:{node.col_offset}" if isinstance(node, ast.List) else ast.unparse(node)
    return f"{index.spot.function} {own}"


def _of_statement(file: SourceFile, index: HostIndex) -> str:
    """What two lists of one statement share that are mended alike: `x[:, row] * x[:, col]`; empty for all else."""
    spot, made = index.spot, index.fresh or index.held
    if made is not None or not index.instead or not isinstance(spot.expression, ast.Name):
        return ""
    statement = file.enclosing(spot.function).statement(spot.expression)
    return f"{spot.function} statement {statement.lineno}:{statement.col_offset} {index.instead}" if statement else ""


def _indices(spot: Spot) -> Iterator[ast.expr]:
    """What may be a tensor with dimensions among the indices: one number on the host (`order[0]`) needs no copy."""
    assert isinstance(spot.expression, ast.Subscript)
    for written in parts_of_index(spot, spot.expression.slice):
        opposite = isinstance(written, ast.UnaryOp) and isinstance(written.op, ast.Invert)
        part = written.operand if opposite and isinstance(written, ast.UnaryOp) else written  # `~mask` is where it is
        several = isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice | ast.Tuple)
        of_list = (
            isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name) and isinstance(part.slice, ast.Name)
        )
        of_list = of_list or repeated_list(part) is not None
        if several or of_list or isinstance(part, _MAY_BE_SEVERAL) or table_of_row(spot, part) is not None:
            yield part


def _of(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr) -> HostIndex | None:
    device = of_part(base, "device")
    fresh = None
    if isinstance(index, ast.List):
        if not _steady(file, spot, index):
            return None
    else:
        fresh = just_made(file.project.values, index, spot.frame, device, Confidence.LIKELY)
        if fresh is None:
            return _kept(file, spot, base, index, device)
    value = _base(file, spot, base, index)
    if value is None or _seems_on_host(file, spot, value):
        return None
    return HostIndex(spot.at(index), value, device, fresh)


def _base(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr) -> Value | None:
    """The tensor on the device that is indexed; a part of a batch is one where it takes an array, or several."""
    value = on_device(file, spot, base)
    if value is None or value.kind == "tensor":
        return value
    several = isinstance(spot.expression, ast.Subscript) and isinstance(spot.expression.slice, ast.Tuple)
    several = several or file.value(index, spot).kind in ("array", "tensor")  # a list takes one number
    return one_tensor(value) if several and value.kind == "batch" and value.device == DEVICE else None


def _kept(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr, device: str) -> HostIndex | None:
    """An index from before the subscript."""
    source = source_of(spot, index, device) or steady_index(spot, index, device)
    value = _base(file, spot, base, index) if source is not None else None
    if source is None or value is None or (source.evident and value.device != DEVICE):
        return None
    if _seems_on_host(file, spot, value):
        return None
    instead = source.instead.format(device=device)
    return HostIndex(spot.at(index), value, device, source.fresh, source.told, source.held, instead=instead)


def _seems_on_host(file: SourceFile, spot: Spot, value: Value) -> bool:
    """`x[rows].to(device)`: what has to be moved is on the host, and so is what it is taken from.

    What only a test shows to be a tensor may be anything that a data set holds.
    """
    parents = file.enclosing(spot.function).parents
    method = parents.get(spot.expression)
    if isinstance(method, ast.Call) and chain(method.func).partition(".")[0] in ("np", "numpy"):
        return True  # `np.isfinite(costs[rows])`: numpy takes no tensor of a device
    call = parents.get(method) if isinstance(method, ast.Attribute) and method.attr in ("to", "cuda") else None
    moves = isinstance(call, ast.Call) and not (call.args and chain(call.args[0]).endswith("dtype"))
    return value.confidence is Confidence.POSSIBLE or (value.device != DEVICE and moves)


def _steady(file: SourceFile, spot: Spot, index: ast.List) -> bool:
    """Whether a list holds one number, for which there is a slice, or numbers that no step changes."""
    values = file.project.values
    if len(index.elts) == 1:
        only = index.elts[0]
        if is_host_number(values, only, spot.frame) or is_counted_place(values, only, spot.frame):
            return True
    return bool(index.elts) and constancy(values, index, spot.frame) is not None
