"""Tensors that are copied to the host and back to the device in one function, with nothing in between but torch."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.array_helpers import computes_as_torch_does
from torchperf_lint.facts.copies.host_choices import weights
from torchperf_lint.facts.copies.packed_lengths import packed_lengths
from torchperf_lint.facts.devices.devices import target_device
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.syntax.syntax import children_of
from torchperf_lint.facts.syntax.torch_counterparts import counterpart
from torchperf_lint.facts.values.value import HOST
from torchperf_lint.patterns import pattern

_GATHERS = ("append", "extend")
_ENDS = frozenset({"item", "tolist", "size", "dim", "numel", "sum_to_size"})
_SAME = frozenset({"data", "T", "mT"})
"""Attributes that are the same tensor, or a view of it."""
_PUTS_IN = frozenset(
    "scatter_ scatter scatter_add_ scatter_add index_add_ index_add index_fill_ index_fill masked_fill_ masked_fill "
    "index_copy_ index_copy".split()
)
"""Methods of one tensor that take the places from another: `torch.zeros(n, k).scatter_(1, labels.cpu(), 1)`.

None that only pick, `self.store.index_select(0, ids.cpu())`: what is picked from may be too large for the device.
"""
_CALLERS = 4
"""Callers that are looked at."""
_FROM_DATA = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})

_ON_HOST = pattern(r"(?:^|_)(?:host|cpu|np|numpy)(?:_|$)")


class RoundTrip(NamedTuple):
    """What was copied to the host, and goes back."""

    upload: ast.Call | ast.Subscript
    """What uploads it; a subscript where it comes back as the indices of a tensor."""
    through: tuple[str, ...]
    """The functions of numpy and other libraries that worked on it, by their full names, in order."""
    table: str = ""
    """The table of the host that comes back, where what was copied only says which of its places are filled."""
    picks: bool = False
    """Whether it picks the elements of a list that comes back."""


def round_trip(file: SourceFile, site: Site) -> RoundTrip | None:
    """The way of what a call copied to the host back to the device; None where it stays, or others work on it."""
    trip = _Trip(file, site)
    back = _way_back(file, site, trip) or _back_at_callers(file, site, trip)
    if back is None or _is_packed(file, site, trip):
        return None
    return RoundTrip(back, tuple(trip.through), trip.table, trip.picks)


def is_packed(file: SourceFile, site: Site) -> bool:
    """Whether what a call copied to the host is needed there: as the lengths of a packed sequence."""
    trip = _Trip(file, site)
    _way_back(file, site, trip)
    return _is_packed(file, site, trip)


def _is_packed(file: SourceFile, site: Site, trip: _Trip) -> bool:
    """Whether what was copied, or made of it, is the lengths of a packed sequence, which torch takes on the host."""
    return any(map(trip.holds, packed_lengths(file.enclosing(site.function))))


def comes_back_at_callers(file: SourceFile, site: Site) -> bool:
    """Whether the function returns what it made of a copy, and all that call it upload that."""
    trip = _Trip(file, site)
    return _way_back(file, site, trip) is None and _back_at_callers(file, site, trip) is not None


def _back_at_callers(file: SourceFile, site: Site, trip: _Trip) -> ast.Call | None:
    """Where the first caller uploads what a function made of a copy: in its own file, and all others do so as well.

    `torch.tensor(self.mask(ids), device=x.device)` of a function that returns `[[i != 0 for i in row] for row in
    ids.cpu().tolist()]`.
    """
    body = file.project.body(file.path)
    returned = body.returns(site.function) if body is not None else []
    if not returned or not all(trip.holds(one) and not isinstance(one, ast.Tuple) for one in returned):
        return None  # of several results the callers may upload another one
    callers = file.project.hotness.callers.get(FunctionKey(file.path, site.function), ())
    if not callers or len(callers) > _CALLERS or any(caller.path != file.path for caller in callers):
        return None
    calls = file.calls_among([caller.call for caller in callers])
    ways = [_way_back(file, call, _Trip(file, call, by_shape=False)) for call in calls]
    uploads = [back for back in ways if isinstance(back, ast.Call)]
    return uploads[0] if len(uploads) == len(callers) else None


def comes_back(file: SourceFile, site: Site) -> int | None:
    """The line on which what a call copied to the host is uploaded again; None where it stays, or others work on it."""
    back = _way_back(file, site)
    return back.lineno if back is not None else None


def comes_back_as_index(file: SourceFile, site: Site) -> bool:
    """Whether what was copied first comes back as the indices of what is taken from a tensor on the device."""
    return isinstance(_way_back(file, site), ast.Subscript)


def comes_back_at_once(file: SourceFile, site: Site) -> bool:
    """Whether the statement that copies uploads as well: `torch.from_numpy(f(x.cpu().numpy())).cuda()`."""
    back = _way_back(file, site)
    around = file.enclosing(site.function)
    return isinstance(back, ast.Call) and around.statement(back) is around.statement(site.call)


def comes_back_in_table(file: SourceFile, site: Site) -> bool:
    """Whether what was copied only says which places of a table of the host are filled, and that is uploaded.

    `index = np.argmax(out.cpu().numpy())`, `one_hot[0, index] = 1` and `torch.from_numpy(one_hot).cuda()`: no program
    needs the place itself, unless it does something else with it, as to hand it back or to call with it.
    """
    trip = _Trip(file, site)
    return isinstance(_way_back(file, site, trip), ast.Call) and bool(trip.table) and not _is_wanted(file, site, trip)


def comes_back_as_picked(file: SourceFile, site: Site) -> bool:
    """Whether what was copied only picks the elements of a list that is uploaded: a mask on the device picks them."""
    trip = _Trip(file, site)
    return isinstance(_way_back(file, site, trip), ast.Call) and trip.picks


def _is_wanted(file: SourceFile, site: Site, trip: _Trip) -> bool:
    """Whether a function does more with what was copied than to fill a table by it, or to ask whether it was given."""
    around = file.enclosing(site.function)
    for use in around.of_kinds((ast.Name,)):
        if not isinstance(use, ast.Name) or use.id not in trip.fills or not isinstance(use.ctx, ast.Load):
            continue
        statement = around.statement(use)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if targets and all(isinstance(t, ast.Name) and t.id in trip.fills for t in targets):
            continue  # `index = probs.argmax()`
        part: ast.AST = use
        parent = around.parents.get(part)
        while isinstance(parent, ast.Tuple):
            part, parent = parent, around.parents.get(parent)
        indexes = isinstance(parent, ast.Subscript) and parent.slice is part
        if not indexes and not (isinstance(parent, ast.Compare) and is_none(parent.comparators[-1])):
            return True
    return False


def _way_back(file: SourceFile, site: Site, trip: _Trip | None = None) -> ast.Call | ast.Subscript | None:
    trip = trip or _Trip(file, site)
    own = file.enclosing(site.function).statement(site.call)
    ways = file.once(_ways)
    if site.function not in ways:
        ways[site.function] = _Way(file.enclosing(site.function).top.body)
    way = ways[site.function]
    number = way.numbers.get(own) if own is not None else None
    others = _other_arms(file, site)
    while number is not None:
        back = None if way.statements[number] in others else trip.passes(way.statements[number], way.parts[number])
        if back is not None:
            return back
        number = way.next_with(trip.names, number)
    return None


def _other_arms(file: SourceFile, site: Site) -> set[ast.stmt]:
    """The statements that do not run where a copy does: those behind the `else` of the branch that it stands in."""
    found: set[ast.stmt] = set()
    inside: ast.AST = site.call
    for around in file.enclosing(site.function).around(site.call):
        if isinstance(around, ast.If) and inside in around.body:
            found.update(statements(around.orelse))
        inside = around
    return found


def _ways(file: SourceFile) -> dict[int, _Way]:
    """Function -> its way, for those that were asked for."""
    del file
    return {}


class _Way:
    """The statements of one function in order, and which of them have a name in them: only those can move it on."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self.statements = list(statements(body))
        self.numbers: dict[ast.stmt, int] = {}
        self.parts: list[list[ast.Call | ast.Subscript]] = []
        """The calls and subscripts of each statement, those of statements in its blocks left out."""
        self._with: dict[str, list[int]] = {}
        for number, statement in enumerate(self.statements):
            self.numbers[statement] = number
            parts = list(_own_parts(statement))
            self.parts.append([part for part in parts if isinstance(part, ast.Call | ast.Subscript)])
            for name in {chain(part) for part in parts if isinstance(part, ast.Name | ast.Attribute)}:
                self._with.setdefault(name, []).append(number)

    def next_with(self, names: set[str], number: int) -> int | None:
        """The next statement that has one of some names in it."""
        found = []
        for name in names:
            places = self._with.get(name, [])
            following = bisect_right(places, number)
            found += places[following : following + 1]
        return min(found, default=None)


class _Trip:
    """Which names hold what was copied."""

    def __init__(self, file: SourceFile, site: Site, by_shape: bool = True) -> None:
        self.file = file
        self.place: Place = site
        self.by_shape = by_shape
        """Whether what has its shape is made of it, `np.zeros_like(x)`: that was copied for nothing."""
        self.start = site.call
        self.names: set[str] = set()
        self.fills: set[str] = set()
        """The names of what was copied, and of what was made of it, when a table was filled by that."""
        self.table = ""
        self.picks = False
        """Whether a comprehension picks by what was copied, `[i for i in range(n) if labels[i]]`, as a mask does."""
        self.through: dict[str, None] = {}

    def passes(self, statement: ast.stmt, parts: Sequence[ast.Call | ast.Subscript]) -> ast.Call | ast.Subscript | None:
        """Go past a statement, with its calls and subscripts; the upload in it."""
        for node in parts:
            if node is not self.start and (self.uploads(node) if isinstance(node, ast.Call) else self.indexes(node)):
                return node
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            bound = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple | ast.List) else [t])]
            held = {chain(part) for part in bound if isinstance(part, ast.Name | ast.Attribute)}
            self.names = self.names | held if self.holds(statement.value) else self.names - held
            self.names |= {table for part in bound if (table := self._filled_by(part)) is not None}
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            function, given = statement.value.func, statement.value.args
            if isinstance(function, ast.Attribute) and function.attr in _GATHERS and any(map(self.holds, given)):
                self.names.add(chain(function.value))
        return None

    def _filled_by(self, target: ast.expr) -> str | None:
        """The table of the host, `one_hot` of `one_hot[0][index] = 1`, in which what was copied says where."""
        indices: list[ast.expr] = []
        while isinstance(target, ast.Subscript):
            indices.append(target.slice)
            target = target.value
        if not isinstance(target, ast.Name) or not any(map(self.holds, indices)):
            return None
        frame = self.place.frame._replace(at=self.file.span(target)[0])
        value = self.file.project.values.of(target, frame)
        if value.kind != "array" and (value.kind != "tensor" or value.device != HOST):
            return None
        if not self.table:
            self.table, self.fills = target.id, set(self.names)
        return target.id

    def uploads(self, node: ast.Call) -> bool:
        """`x.to(device)`, `x.cuda()`, `torch.tensor(x, device=device)` of what was copied."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cuda") and self.holds(node.func.value):
            return node.func.attr == "cuda" or self._is_elsewhere(node)
        made = (self.file.denotes(node.func, self.place) or "") in _FROM_DATA
        return made and bool(node.args) and self.holds(node.args[0]) and self._is_elsewhere(node)

    def indexes(self, node: ast.Subscript) -> bool:
        """`y[order]` of a tensor on the device: it uploads the indices that were made of what was copied."""
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not any(self._selects(index) for index in indices):
            return False
        if _ON_HOST.search(last_part(chain(node.value))):
            return False
        value = self.file.value(node.value, self.place)
        return value.kind == "tensor" and value.on_device and not self.holds(node.value)

    def _selects(self, index: ast.expr) -> bool:
        """Whether an index is what was copied, or masks of it joined: `y[kept & ~padded]`."""
        if isinstance(index, ast.Name):
            return index.id in self.names
        return isinstance(index, ast.BinOp) and isinstance(index.op, ast.BitAnd | ast.BitOr) and self.holds(index)

    def _is_elsewhere(self, node: ast.Call) -> bool:
        frame = self.place.frame._replace(at=self.file.span(node)[0])
        found = target_device(self.file.project.values, node, frame)
        # Who moves what is on the host to where another tensor is knows that one to be elsewhere.
        given = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "device")]
        beside = any(isinstance(part, ast.Attribute) and part.attr == "device" for part in given)
        return found is not None and (found != HOST or beside)

    def holds(self, node: ast.expr) -> bool:
        """Whether an expression is what was copied, or what torch and numpy make of it."""
        if node is self.start:
            return True
        if isinstance(node, ast.Name):
            return node.id in self.names
        if isinstance(node, ast.Attribute):
            return chain(node) in self.names or (node.attr in _SAME and self.holds(node.value))
        if isinstance(node, ast.Subscript):
            return self.holds(node.value) or (self._looks_up(node) and self.holds(node.slice))
        if isinstance(node, ast.UnaryOp):
            return self.holds(node.operand)
        if isinstance(node, ast.Compare):
            return any(map(self.holds, [node.left, *node.comparators]))
        if isinstance(node, ast.BoolOp):
            return any(map(self.holds, node.values))
        if isinstance(node, ast.BinOp):
            return self.holds(node.left) or self.holds(node.right)
        if isinstance(node, ast.IfExp):
            return self.holds(node.body) or self.holds(node.orelse)
        if isinstance(node, ast.List | ast.Tuple):
            return any(map(self.holds, node.elts))
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._made_of_each(node)
        return isinstance(node, ast.Call) and self._made_of(node)

    def _made_of_each(self, node: ast.ListComp | ast.GeneratorExp) -> bool:
        """`[cv2.resize(image, size) for image in images]`."""
        over = node.generators[0]
        if len(node.generators) == 1 and _picks(node) and any(map(self.holds, over.ifs)):
            self.picks = True
            return True
        walked = _whole(over.iter) if _asks(node.elt) else over.iter
        if not isinstance(over.target, ast.Name) or not self.holds(walked):
            return False
        outside, self.names = self.names, {*self.names, over.target.id}
        held = self.holds(node.elt)
        self.names = outside
        return held

    def _looks_up(self, node: ast.Subscript) -> bool:
        """`self.names[labels - 1]`: a table of numpy's, which gives an array for an array."""
        return self.file.value(node.value, self.place).kind == "array"

    def _made_of(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Attribute) and self.holds(node.func.value):
            return node.func.attr not in _ENDS
        if isinstance(node.func, ast.Attribute) and node.func.attr in _PUTS_IN and any(map(self.holds, node.args)):
            return self.file.value(node.func.value, self.place).kind == "tensor"
        denoted = self.file.denotes(node.func, self.place) or ""
        if any(self._reworked(node, given) for given in node.args if self.holds(given)):
            return True
        known = denoted.startswith(("torch.", "numpy.")) or counterpart(denoted) is not None
        if not known or "()" in denoted or last_part(denoted) in api.SIZED_FACTORIES:
            return False
        if denoted.endswith("_like") and not self.by_shape:
            return False
        if not any(map(self.holds, [*_plain(node.args), *weights(denoted, node)])):
            return False
        if not denoted.startswith("torch."):
            self.through[denoted] = None
        return True

    def _reworked(self, node: ast.Call, given: ast.expr) -> bool:
        """`flip_back(x, pairs)`: a function of the project that slices and computes as torch could have."""
        project = self.file.project
        targets = project.types.targets(self.file.path, self.place.function, chain(node.func))
        return len(targets) == 1 and computes_as_torch_does(project, targets[0], node, given)


def _picks(node: ast.ListComp | ast.GeneratorExp) -> bool:
    """Whether a comprehension keeps some of the elements, and makes nothing of them."""
    return isinstance(node.elt, ast.Name) and chain(node.generators[0].target) == node.elt.id


def _asks(node: ast.expr) -> bool:
    """Whether a comprehension only asks each element something: torch compares all of them, `isin` too."""
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return len(node.generators) == 1 and not node.generators[0].ifs and _asks(node.elt)
    return all(map(_asks, node.values)) if isinstance(node, ast.BoolOp) else isinstance(node, ast.Compare)


def _whole(node: ast.expr) -> ast.expr:
    """`x` of `x.tolist()`."""
    lists = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "tolist"
    return node.func.value if lists else node  # type: ignore[attr-defined]


def _plain(arguments: Sequence[ast.expr]) -> list[ast.expr]:
    return [argument for argument in arguments if not isinstance(argument, ast.Starred)]


def _own_parts(statement: ast.stmt) -> Iterator[ast.AST]:
    """A statement and its parts, those of statements in its blocks left out."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        stack += [c for c in children_of(node) if not isinstance(c, ast.stmt | ast.ExceptHandler)]
