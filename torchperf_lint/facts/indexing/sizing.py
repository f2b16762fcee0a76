"""Tensors where Python needs an integer: an index, the bound of a slice, a size, a count of turns."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.given_settings import is_given_setting
from torchperf_lint.facts.constants.tracing import parts_of
from torchperf_lint.facts.element_loops.lookups import names_a_count, names_an_entry
from torchperf_lint.facts.element_loops.one_number import is_element, is_one, picks_one, walks_numbers
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.files.called_in_turns import called_in_turns
from torchperf_lint.facts.files.looks import may_be_tensor
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.indexing.compared_as_one import is_compared_as_one
from torchperf_lint.facts.indexing.indexed_texts import gives_text, is_given_one_tensor
from torchperf_lint.facts.indexing.kept_numbers import is_kept_number
from torchperf_lint.facts.indexing.listed_settings import picks_a_setting
from torchperf_lint.facts.indexing.one_place import is_shown_to_be_one, picks_by_one
from torchperf_lint.facts.indexing.windows import begins_window, window_length
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import is_mapping

_FUNCTIONS = frozenset("range islice arange zeros ones empty full eye linspace randint randperm rand randn".split())
"""Functions whose positional arguments are sizes and bounds; of `full` and `linspace` a value too, which is read."""
_METHODS = frozenset(
    "view reshape expand repeat narrow chunk new_zeros new_ones new_empty unflatten select unfold tile topk".split()
)
_OF_TORCH = frozenset("topk narrow chunk tile unfold select reshape roll".split())
"""Those methods that torch has as functions too: behind the tensor come sizes."""
_KEYWORDS = frozenset("k size length steps start end low high stop chunks dims shifts num_samples".split())
"""Keywords for a size or bound."""
_OFTEN = 3
"""Places from which on one tensor is read often: once more than a mask and what it masks take."""
_CALLERS = 8
_WHOLE = frozenset("sum max min amax amin argmax argmin mean median prod count_nonzero".split())
"""Reductions that give one number when no dimension is named."""
_NO_TENSORS = ("unknown", "plain", "object", "sequence")
"""Kinds of what may hold texts."""


class Sized(NamedTuple):
    """An expression that has to become an integer."""

    place: Place
    operand: ast.expr
    several: bool
    """Whether that happens several times a step: in a loop inside the step."""
    again: int = 0
    """The line that binds a tensor which has to be an integer in several places: one read does for all. 0 for others"""
    window: bool = False
    """Whether it is only where a slice of a known length begins, which the device can gather."""
    text: bool = False
    """Whether it picks a word or a character, which no device has."""
    alone: bool = False
    """Whether it is an index of a tensor on the device, which can pick by it: `x[i.view(1)]`."""
    setting: bool = False
    """Whether it picks from a list of settings, which whoever calls picks from as well."""
    kept: bool = False
    """Whether it is an entry of a buffer that the constructor made of numbers."""


def sized(file: SourceFile) -> list[Sized]:
    """The hot indices, bounds and sizes that may be tensors with one element."""
    found = list(_sized(file))
    bound = [_bound(file, one) for one in found]
    uses = Counter(bound)
    return [
        one._replace(again=b[2][0][0]) if b is not None and uses[b] >= _OFTEN else one
        for one, b in zip(found, bound, strict=True)
    ]


def _bound(file: SourceFile, one: Sized) -> tuple[int, str, tuple[Position, ...]] | None:
    """What tells the tensor behind a bound from others: its function, its name, and where that is bound.

    The bound may be one more or less: `x[:, :end]` and `mask[:, : end - 1]` read the same tensor.
    """
    name, body = _before_shift(one.operand), file.project.body(file.path)
    if name is None or body is None:
        return None
    reaching = body.reaching(one.place.function, name.id, body.at(name)) or []
    return (one.place.function, name.id, tuple(sorted(found.at for found in reaching))) if reaching else None


def _sized(file: SourceFile) -> Iterator[Sized]:
    for spot in hot_nodes(file, ast.Subscript):
        assert isinstance(spot.expression, ast.Subscript)
        if _stores_a_record(file, spot):
            continue
        for operand in _indices(file, spot, spot.expression.slice):
            # Of a parameter without an annotation only a test of its value shows what it is.
            kept = is_kept_number(spot, operand)
            if kept or may_be_tensor(spot, operand) or is_compared_as_one(file, spot, operand):
                several = _in_inner_loop(file, spot, operand)
                window = _begins_window(file, spot, spot.expression, operand)
                text = gives_text(file, spot, spot.expression)
                alone = picks_by_one(file, spot, spot.expression, operand)
                setting = picks_a_setting(file, spot, operand)
                yield Sized(spot.at(operand), operand, several, 0, window, text, alone, setting, kept)
    for site in file.hot_calls(*_FUNCTIONS, *_METHODS):
        operands = [a for a in _flat(_given(file, site)) if may_be_tensor(site, a) or _is_given_one_number(site, a)]
        if operands and _takes_sizes(file, site):
            for operand in operands:
                yield Sized(site, operand, _in_inner_loop(file, site, operand))


def _stores_a_record(file: SourceFile, place: Place) -> bool:
    """`found[name] = {"box": box}`: no tensor holds a dict, and a dict takes its keys as they are."""
    taken = place.expression
    if not isinstance(taken, ast.Subscript) or not isinstance(taken.ctx, ast.Store):
        return False
    statement = file.enclosing(place.function).statement(taken)
    record = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict | ast.DictComp)
    if not record:
        return False
    value = file.value(taken.value, place)
    return value.kind != "sequence" or is_mapping(value)


def _is_given_one_number(site: Site, node: ast.expr) -> bool:
    """Whether a count of turns is a parameter, bound to nothing else, for which a call passes `max(lengths)`."""
    file, record = site.file, site.file.outline.functions[site.function]
    body = file.project.body(file.path)
    if site.record.callee != "range" or not isinstance(node, ast.Name) or body is None:
        return False
    if node.id not in {p.name for p in record.parameters} or body.definitions(site.function).get(node.id):
        return False
    for caller in file.project.hotness.callers.get(FunctionKey(file.path, site.function), ())[:_CALLERS]:
        call = call_at(file.project.values, caller)
        given = argument_for(call, record, node.id) if call is not None else None
        if isinstance(given, ast.Call) and last_part(chain(given.func)) in _WHOLE:
            return True
    return False


def _begins_window(file: SourceFile, place: Place, taken: ast.Subscript, bound: ast.expr) -> bool:
    parts = taken.slice.elts if isinstance(taken.slice, ast.Tuple) else [taken.slice]
    slices = [part for part in parts if isinstance(part, ast.Slice)]
    own = next((part for part in slices if part.lower is bound or part.upper is bound), None)
    length = window_length(own) if own is not None else None
    if own is None or length is None or file.value(taken.value, place).kind != "tensor":
        return False
    return begins_window(own, file.value(length, place).kind == "plain")


def _indices(file: SourceFile, place: Place, node: ast.expr) -> Iterator[ast.expr]:
    """The bounds of slices, which must be one number each, and the indices that evidently are."""
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        if isinstance(part, ast.Slice):
            yield from (bound for bound in (part.lower, part.upper, part.step) if bound is not None)
        elif isinstance(part, ast.expr) and (
            _is_one_number(file, place, part)
            or _of_a_list(file, place, node, part)
            or is_shown_to_be_one(file, place, part)
            or picks_a_setting(file, place, part)
            or is_kept_number(place, part)
        ):
            yield part


def _of_a_list(file: SourceFile, place: Place, index: ast.expr, part: ast.expr) -> bool:
    """`self.experts[i]` for `i in hit`, `chain[parents[i]]`: lists, of modules too, take numbers."""
    if part is not index or not isinstance(place.expression, ast.Subscript):
        return False
    if isinstance(part, ast.Subscript):
        return _picks_a_number(file, place, part, place.expression.value)
    name = _before_shift(part)
    if name is None or not may_be_tensor(place, name):
        return False
    text = file.value(place.expression.value, place).kind in _NO_TENSORS and gives_text(file, place, place.expression)
    if not _walks_one_tensor(file, place, name, text):
        return False
    if text or name is not part:
        return text
    whole, body = place.expression.value, file.project.body(file.path)
    tested = body.narrowing(place.function, chain(whole), place.frame.at) if body is not None else None
    if tested is not None and tested.holds and tested.classes in ("list", "tuple", "(list, tuple)"):
        return True
    value = file.value(whole, place)
    listed = value.kind == "sequence" and not is_mapping(value)  # a tensor as the key of a dict is no number
    return listed or (value.kind == "module" and "ModuleList" in value.because)


def _before_shift(part: ast.expr) -> ast.Name | None:
    """`i` of `i` and of `i - 1`."""
    shifts = isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add | ast.Sub)
    inner = part.left if shifts and isinstance(part, ast.BinOp) and isinstance(part.right, ast.Constant) else part
    return inner if isinstance(inner, ast.Name) else None


def _picks_a_number(file: SourceFile, place: Place, part: ast.Subscript, whole: ast.expr) -> bool:
    """Whether an element of a tensor is what a list is indexed by: `chain[parents[i]]`."""
    if not isinstance(part.slice, ast.Name | ast.Constant | ast.BinOp) or isinstance(part.ctx, ast.Store):
        return False
    if not may_be_tensor(place, part) or file.value(part, place).kind != "tensor":
        return False
    value = file.value(whole, place)
    if value.kind == "unknown" and isinstance(whole, ast.Name):
        return is_given_setting(file.project.values, FunctionKey(file.path, place.function), whole.id)
    return value.kind == "sequence" and not is_mapping(value)


def _walks_one_tensor(file: SourceFile, place: Place, name: ast.Name, given: bool) -> bool:
    """Whether a name goes over the elements of one tensor: not over the keys of a dict, or a list of tensors.

    `given`: whether callers are asked, too, what they pass.
    """
    walked = [
        part
        for loop in file.enclosing(place.function).loops(name)
        for target, part in parts_of(loop.target, loop.iter)
        if target == name.id
    ]
    if not walked or file.value(walked[0], place).kind != "tensor":
        return False
    return is_one_tensor(file, place, walked[0]) or (given and is_given_one_tensor(file, place, walked[0]))


def _is_one_number(file: SourceFile, place: Place, node: ast.expr, hops: int = 0) -> bool:
    """Whether an expression is a reduction without a dimension, a name for one, or shown to pick one element."""
    if isinstance(node, ast.BinOp):
        return any(_is_one_number(file, place, side, hops) for side in (node.left, node.right))
    if isinstance(node, ast.Call) and last_part(chain(node.func)) in _WHOLE:
        dotted = file.denotes(node.func, place) or ""
        of_module = dotted.startswith("torch.") and "()" not in dotted
        return len(node.args) == (1 if of_module else 0) and not node.keywords
    if names_an_entry(file, place, node):
        return True
    if isinstance(node, ast.Subscript):
        asked = isinstance(node.slice, ast.Name) and (picks_one(file, place, node) or is_one(file, place, node))
        return asked or is_element(file, place, node) or names_a_count(file, place, node)
    body = file.project.body(file.path)
    if not isinstance(node, ast.Name) or hops or body is None:
        return False
    if walks_numbers(file, place, node):
        return True
    reaching = body.reaching(place.function, node.id, body.at(node)) or []
    return any(d.how == "assign" and d.value is not None and _is_one_number(file, place, d.value, 1) for d in reaching)


def _takes_sizes(file: SourceFile, site: Site) -> bool:
    name, dotted = last_part(site.record.callee), file.denotes(site.call.func, site) or ""
    if name in _OF_TORCH and dotted == f"torch.{name}":
        return True
    if name in _FUNCTIONS and (dotted.startswith(("torch.", "itertools.")) or site.record.callee == "range"):
        return True
    if dotted.startswith("torch.") and "()" not in dotted:
        return False  # `torch.nested.narrow(x, 1, starts, lengths)` takes tensors, and keeps them
    return name in _METHODS and site.receiver is not None and file.value(site.receiver, site).kind == "tensor"


def _given(file: SourceFile, site: Site) -> list[ast.expr]:
    """The arguments of a call that may be sizes: `torch.topk(x, n)`, `x.topk(k=n)`."""
    called = last_part(site.record.callee)
    given = site.call.args
    if called in _OF_TORCH and (file.denotes(site.call.func, site) or "") == f"torch.{called}":
        given = given[1:]
    return [*given, *(k.value for k in site.call.keywords if k.arg in _KEYWORDS)]


def _flat(arguments: list[ast.expr]) -> Iterator[ast.expr]:
    for argument in arguments:
        if isinstance(argument, ast.Tuple | ast.List):
            yield from argument.elts
        elif not isinstance(argument, ast.Starred):
            yield argument


def _in_inner_loop(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether a loop inside the step turns around a place, or around the call of its function.

    Not the step loop itself, nor what a loop is over.
    """
    hot = place.hot
    head = None
    if hot is not None and hot.loop is not None and hot.loop[0] == file.path:
        head = file.outline.regions[hot.loop[1]].head
    for loop in file.enclosing(place.function).loops(node):
        if isinstance(loop, ast.comprehension):
            return True
        return loop.lineno != head
    return called_in_turns(place)
