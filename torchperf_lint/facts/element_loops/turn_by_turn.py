"""Reads of which each turn of a loop has its own: of a list's tensors one by one, or of what all turns could compute at
once before the loop.

    sizes = [int(mask.sum()) for mask in masks]          for score, token in zip(*scores[i].topk(k)):
                                                             kept[token.item()] = score.item()

Whatever such reads decide, all of them could be stacked and read together. Asked of code that is known to be hot, and
of loops over the parts that a tensor was cut into.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.constants.tracing import Loop, bound_by, changed_in, parts_of
from torchperf_lint.facts.element_loops.one_number import is_one, picks_one
from torchperf_lint.facts.element_loops.repeated import Repeated, handles_data
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import first_part, names_of
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence

_HOPS = 3
_DRAWS = frozenset("normal rand randn sample uniform_ exponential_".split())
"""Draws that take no row; `multinomial` draws for all rows of a matrix at once."""


def together(file: SourceFile, place: Place, read: ast.expr, value: Value, shown: bool) -> Repeated | None:
    """What the turns of a loop read one by one, each its own, and could read together."""
    if value.confidence is Confidence.POSSIBLE or handles_data(file, place.function):
        return None
    if not isinstance(place.expression, ast.Call) and any(isinstance(n, ast.Call) for n in ast.walk(read)):
        return None  # `if mask.any():` asks whether there is anything to do in this turn
    if _ends_with_the_answer(file, place):
        return None
    found = own_each_turn(file, place, read, shown)
    if found is None or (_is_many(place) and file.value(found[0], place).kind != "tensor"):
        return None  # lists of different lengths are not stacked
    return Repeated(found[0], True, value.weaker(Confidence.LIKELY), found[1], True)


def _ends_with_the_answer(file: SourceFile, place: Place) -> bool:
    """`return any(float(overlap(a, b)) > t for b in seen)`: the turns after the first hit are spared."""
    around = file.enclosing(place.function)
    node: ast.AST = place.expression
    for parent in around.ancestors(place.expression):
        if isinstance(node, ast.GeneratorExp) and isinstance(parent, ast.Call):
            returned = isinstance(around.statement(parent), ast.Return)
            return returned and last_part(chain(parent.func)) in ("any", "all")
        node = parent
    return False


def of_cut_parts(file: SourceFile, place: Place, read: ast.expr) -> Repeated | None:
    """What a loop over the parts of one tensor reads of each, in code of which nothing else says that it is hot.

    `for part in x.split(sizes): if part.sum() == 0:` computes on the device what one read would fetch of all parts.
    """
    if _is_many(place) or not any(_cuts(loop.iter) for loop in file.enclosing(place.function).loops(read)):
        return None
    found = own_each_turn(file, place, read)
    value = file.value(read, place)
    if found is None or not _cuts(found[0]) or not value.on_device or not file.project.uses_accelerator:
        return None
    return Repeated(found[0], True, value.weaker(Confidence.LIKELY), found[1], True)


def _cuts(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and last_part(chain(n.func)) in _CUTTERS for n in ast.walk(node))


_CUTTERS = frozenset({"split", "split_with_sizes", "tensor_split"})


def _is_many(place: Place) -> bool:
    """Whether a read fetches a whole tensor: `x.tolist()`, `x.cpu()`."""
    call = place.expression
    return isinstance(call, ast.Call) and last_part(chain(call.func)) in ("tolist", "cpu", "numpy", "to")


def own_each_turn(file: SourceFile, place: Place, read: ast.expr, shown: bool = False) -> tuple[ast.expr, Loop] | None:
    """What the innermost loop around a read goes over, one tensor a turn, and that loop; None for other reads.

    `shown`: whether the read itself shows that there is a tensor, of which nothing else is known.
    """
    for loop in file.enclosing(place.function).loops(place.expression):
        turns = literal_turns(loop.iter)
        few = turns is not None and turns <= FEW_TURNS
        if few or any(HANDFUL.search(n.id) for n in ast.walk(loop.target) if isinstance(n, ast.Name)):
            return None
        taken = _Turn(file, place, loop, shown).taken(read, _HOPS)
        return (taken, loop) if taken is not None else None
    return None


class _Turn:
    """One turn of a loop, and what it has of its own."""

    def __init__(self, file: SourceFile, place: Place, loop: Loop, shown: bool = False) -> None:
        self.shown = shown
        self.file = file
        self.place = place
        self.loop = loop
        self.bound = bound_by(file, place.function, loop)
        self.variables = {name: whole for name, whole in _walked(loop) if self._is_of_tensors(whole)}
        self.counters = _counters(loop)
        self.numbers: set[int] = set()
        """Expressions, by `id`, of which the function asks one number."""

    def taken(self, node: ast.expr, hops: int) -> ast.expr | None:
        """What the turns take an expression's tensors from, where all of it is there before the loop; else None."""
        names = names_of(node) & self.bound
        calls = (call for call in ast.walk(node) if isinstance(call, ast.Call))
        if not names or self._looks_up(node) or not all(map(self._only_looks, calls)):
            return None
        found = [self._of_name(name, hops) for name in sorted(names)]
        if None in found or self._is_written(node):
            return None
        if not self._indexes_by(node, names & self.counters):
            return None
        whole = next((part for part in found if part is not None and part is not self.loop.target), None)
        return whole if whole is not None else self._indexed(node)

    def _is_written(self, node: ast.expr) -> bool:
        """Whether turns write into a tensor beside their own, `(mask & taken).sum()`, `taken[mask] = True`."""
        written = (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id not in self.bound)
        return any(
            self.file.value(n, self.place).kind == "tensor"
            and changed_in(self.file, self.place.function, self.loop, n, trained=False)
            for n in written
        )

    def _indexes_by(self, node: ast.expr, counters: set[str]) -> bool:
        """Whether the numbers of turns are only used as indices, and not compared or computed with."""
        indices = [part.slice for part in ast.walk(node) if isinstance(part, ast.Subscript)]
        inside = {id(n) for index in indices for n in ast.walk(index)}
        return all(id(n) in inside for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in counters)

    def _looks_up(self, node: ast.expr) -> bool:
        """Whether a variable of the loop is a key, `x[name]`, or one of several numbers, `x[:, [0, i]]`."""
        keys = self.variables.keys() - self.counters
        for part in ast.walk(node):
            if not isinstance(part, ast.Subscript) or self._picks_by_number(part):
                continue
            inside = list(ast.walk(part.slice))
            if any(isinstance(n, ast.List) or (isinstance(n, ast.Name) and n.id in keys) for n in inside):
                return True
        return False

    def _picks_by_number(self, part: ast.Subscript) -> bool:
        """`scores[i]` for `i` of a tensor of indices, one number each: `scores[order]` picks for all turns at once.

        So does `found[best[i]]`.
        """
        index = part.slice
        if not self._is_of_tensors(part.value) or self.file.value(part.value, self.place).kind != "tensor":
            return False
        if id(part) in self.numbers:
            self.numbers.add(id(index))  # one number is picked by one number
        if isinstance(index, ast.Subscript):
            return self._picks_by_number(index)
        if not isinstance(index, ast.Name) or index.id not in self.variables:
            return False
        if self.file.value(self.variables[index.id], self.place).kind != "tensor":
            return False
        one = picks_one(self.file, self.place, index) or is_one(self.file, self.place, index)
        return one or id(part) in self.numbers

    def _of_name(self, name: str, hops: int) -> ast.expr | None:
        if name in self.variables:
            return self.variables[name]
        if name in self.counters:
            return self.loop.target
        body = self.file.project.body(self.file.path)
        if body is None or hops <= 0:
            return None
        only = body.assigned_once(self.place.function, name, self.place.frame.at)
        if only is not None and is_one(self.file, self.place, ast.Name(name, ast.Load())):
            self.numbers.add(id(only))
        return self._made(only, hops - 1) if only is not None else None

    def _made(self, value: ast.expr, hops: int) -> ast.expr | None:
        """What a name of the loop's body is made of: of counters alone, a position; else as any expression."""
        names = names_of(value) & self.bound
        if names and names <= self.counters and self.file.value(value, self.place).kind in ("plain", "unknown"):
            return self.loop.target
        return self.taken(value, hops)

    def _indexed(self, node: ast.expr) -> ast.expr | None:
        """The tensor of which each turn takes the row with its number: `x[i]`, `x[2 * i + 1]`."""
        for part in ast.walk(node):
            if isinstance(part, ast.Subscript) and (self._is_of_tensors(part.value) or self._is_shown(part)):
                return None if changed_in(self.file, self.place.function, self.loop, part.value) else part.value
        return None

    def _is_shown(self, part: ast.Subscript) -> bool:
        """`x[i].item()` of an `x` of which nothing else is known."""
        return (
            self.shown
            and isinstance(part.slice, ast.Name)
            and self.file.value(part.value, self.place).kind == "unknown"
        )

    def _is_of_tensors(self, whole: ast.expr) -> bool:
        """Whether what a loop goes over are tensors that are there before it: no batches, nothing made on the way."""
        if isinstance(whole, ast.Call) and not isinstance(whole.func, ast.Attribute):
            return False
        value = self.file.value(whole, self.place)
        listed = value.kind == "sequence" and value.item is not None and value.item.on_device
        if not listed and not (value.kind == "tensor" and value.on_device):
            return False
        return not changed_in(self.file, self.place.function, self.loop, whole)

    def _only_looks(self, call: ast.Call) -> bool:
        """Whether a call is a method of a tensor, or a function of torch, that changes and draws nothing."""
        name = last_part(chain(call.func))
        if name in _DRAWS or (name.endswith("_") and not name.endswith("__")):
            return False
        if (self.file.denotes(call.func, self.place) or "").startswith("torch."):
            return True
        return isinstance(call.func, ast.Attribute) and self.file.value(call.func.value, self.place).kind == "tensor"


def _walked(loop: Loop) -> Iterator[tuple[str, ast.expr]]:
    """(variable, what its values are the elements of), also of `zip(*x.topk(k))`."""
    iterated = loop.iter
    if isinstance(iterated, ast.Call) and chain(iterated.func) == "zip" and len(iterated.args) == 1:
        only = iterated.args[0]
        if isinstance(only, ast.Starred):
            yield from ((n.id, only.value) for n in ast.walk(loop.target) if isinstance(n, ast.Name))
            return
    yield from parts_of(loop.target, iterated)


def _counters(loop: Loop) -> set[str]:
    """The variable that numbers the turns."""
    if not isinstance(loop.iter, ast.Call) or last_part(chain(loop.iter.func)) not in ("range", "enumerate", "trange"):
        return set()
    first = first_part(loop.target)
    return {first.id} if isinstance(first, ast.Name) else set()
