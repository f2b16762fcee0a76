"""Options that are off by default, and that hot code passes nevertheless; ways through a function that no call takes.

def train_step(model, batch, ema=None):          for batch in loader:
    if ema is not None:                              train_step(model, batch, ema=ema)
        ...
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from torchperf_lint.facts.bindings.argument_kinds import kind_of
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.call_graph.left_none import left_none
from torchperf_lint.facts.call_graph.passed import by_place
from torchperf_lint.facts.outlines.parameter_tests import (
    ANYTHING,
    UNKNOWN,
    each_way,
    may_hold,
    named_freely,
    parameter_of,
)
from torchperf_lint.facts.outlines.parameter_tests import ways as tests_of
from torchperf_lint.facts.outlines.turned_flags import usual
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of


def options_around(index: Index, path: str, number: int) -> set[str]:
    """The parameters with defaults that the guards around a region ask for, inside its function."""
    regions = index.outlines[path].regions
    function = index.function(FunctionKey(path, regions[number].function))
    asked: set[str] = set()
    while number >= 0 and regions[number].kind != "function":
        if regions[number].kind == "optional":
            asked |= set(re.findall(r"\w+", regions[number].detail))
        number = regions[number].parent
    return asked & {p.name for p in function.parameters if p.default}


def ways_around(index: Index, path: str, number: int) -> set[tuple[str, int]]:
    """What parameters must be for a region to run, inside its function, as text, and where: `turns is None`."""
    regions = index.outlines[path].regions
    found = set()
    while number >= 0 and regions[number].kind != "function":
        if regions[number].kind == "way":
            found |= {(way, regions[number].start[0]) for way in each_way(regions[number].detail)}
        number = regions[number].parent
    return found


Counts = Callable[[CallSite], bool]
"""Whether a call counts: one from hot code."""


class Callers(Protocol):
    """Function -> its calls, as far as they are of interest."""

    def get(self, key: FunctionKey, default: Sequence[CallSite], /) -> Sequence[CallSite]:
        """The calls of a function."""


_HOPS = 3
"""How far a parameter is followed that callers hand on: `def outer(x, mode="fast"): return inner(x, mode)`."""


class Given:
    """What the calls of a project give to parameters: literals, or UNKNOWN; of all calls where none counts."""

    def __init__(
        self,
        index: Index,
        body_of: Callable[[str], Body | None],
        callers: Callers,
        counts: Counts = lambda site: True,
    ) -> None:
        self.index = index
        self.body_of = body_of
        self.callers = callers
        self.counts = counts

    def never_takes(self, key: FunctionKey, way: str, line: int) -> bool:
        """Whether all calls, of which there are some, give a parameter what is for another way than that at a line."""
        body = self.body_of(key.path) if self.callers.get(key, ()) else None
        name = parameter_of(way)
        looped = name not in {p.name for p in self.index.function(key).parameters}
        if body is None or _is_bound(body, key.index, name, line, way.endswith(" is None"), looped):
            return False
        return not any(may_hold(way, value) for value in self.values(key, name, _HOPS))

    def _calls(self, key: FunctionKey) -> Sequence[CallSite]:
        sites = self.callers.get(key, ())
        return [site for site in sites if self.counts(site)] or sites

    def values(self, key: FunctionKey, name: str, hops: int) -> Iterator[object]:
        """One for each call of a function; ANYTHING for a call that cannot be seen through."""
        body = self.body_of(key.path)
        function = body.functions.get(key.index) if body is not None else None
        default = None if isinstance(function, ast.Module | None) else _defaults(function.args).get(name)
        if name not in {p.name for p in self.index.function(key).parameters}:
            yield from self._named_freely(key, function, name)
            return
        for site in self._calls(key):
            given = _given(self.index, self.body_of, key, site)
            value = given.get(name, None if None in given else default)
            yield from self._of(site, value, hops)

    def _named_freely(self, key: FunctionKey, function: object, name: str) -> Iterator[object]:
        """What calls give beyond the named parameters, each of which `name` is: `for k, name in kwargs.items()`."""
        body = self.body_of(key.path)
        bound = body.definitions(key.index).get(name, ()) if body is not None else ()
        loops = sum(definition.how == "loop" for definition in bound)
        if loops != 1 or not isinstance(function, ast.FunctionDef) or not _goes_through(function, name):
            yield ANYTHING
            return
        named = {p.name for p in self.index.function(key).parameters}
        for site in self._calls(key):
            given = _given(self.index, self.body_of, key, site)
            yield from [ANYTHING] if None in given else []
            for value in (value for other, value in given.items() if other not in named):
                yield from self._of(site, value, 1)

    def _of(self, site: CallSite, value: ast.expr | None, hops: int) -> Iterator[object]:
        if isinstance(value, ast.Constant):
            yield value.value
        elif value is None or _is_parameter(self.index, site, value):
            yield from self._handed_on(site, value, hops)
        elif isinstance(value, ast.IfExp) and (chosen := self._chosen(site, value, hops)) is not None:
            yield from self._of(site, chosen, hops)
        elif isinstance(value, ast.IfExp | ast.BoolOp) or self._left_none(site, value):
            yield ANYTHING
        elif (usual := self._usual(site, value)) is not None:
            yield usual
        else:
            body = self.body_of(site.path)
            at = (site.call.line, site.call.column)
            kind = kind_of(body, site.call.function, value, at) if body is not None else None
            yield UNKNOWN if kind is None else kind

    def _usual(self, site: CallSite, value: ast.expr) -> bool | None:
        """What an argument is in all calls but one: `skip=not self.wanted`, a flag that the caller takes down."""
        body = self.body_of(site.path) if isinstance(value, ast.UnaryOp | ast.Attribute | ast.Name) else None
        node = body.functions.get(site.call.function) if body is not None else None
        if body is None or not isinstance(node, ast.FunctionDef):
            return None
        if isinstance(value, ast.Name):
            bound = body.reaching(site.call.function, value.id, (site.call.line, site.call.column)) or ()
            values = [d.value for d in bound if d.how == "assign"]
            if len(bound) != 1 or len(values) != 1 or values[0] is None:
                return None
            value = values[0]
        return usual(value, node.body, site.call.line)

    def turned_away(self, key: FunctionKey, way: str, line: int) -> bool:
        """Whether each call, of which there are some, gives a parameter a flag that is for another way but for once."""
        name, sites, body = parameter_of(way), self.callers.get(key, ()), self.body_of(key.path)
        if not sites or body is None or _is_bound(body, key.index, name, line, way.endswith(" is None")):
            return False
        given = [_given(self.index, self.body_of, key, site).get(name) for site in sites]
        usual = [self._usual(s, v) if v is not None else None for s, v in zip(sites, given, strict=True)]
        return all(value is not None and not may_hold(way, value) for value in usual)

    def _chosen(self, site: CallSite, value: ast.IfExp, hops: int) -> ast.expr | None:
        """The side of a choice that a caller takes in all calls of it: `mask[i] if mask is not None else None`."""
        caller = FunctionKey(site.path, site.call.function)
        named = frozenset(p.name for p in self.index.function(caller).parameters)
        for way, other in zip(tests_of(value.test, named), (value.orelse, value.body), strict=True):
            decided = hops and " and " not in way and self.callers.get(caller, ())
            if way and decided and self._never_holds(caller, way, value.lineno, hops - 1):
                return other
        return None

    def _never_holds(self, key: FunctionKey, way: str, line: int, hops: int) -> bool:
        body, name = self.body_of(key.path), parameter_of(way)
        if body is None or _is_bound(body, key.index, name, line):
            return False
        return not any(may_hold(way, given) for given in self.values(key, name, hops))

    def _left_none(self, site: CallSite, value: ast.expr) -> bool:
        return left_none(self.index, self.body_of, FunctionKey(site.path, site.call.function), value)

    def _handed_on(self, site: CallSite, value: ast.expr | None, hops: int) -> Iterator[object]:
        caller = FunctionKey(site.path, site.call.function)
        body = self.body_of(site.path)
        if body is None or not isinstance(value, ast.Name):
            yield ANYTHING
            return
        kind = kind_of(body, caller.index, value, (site.call.line, site.call.column))
        if kind is not None:
            yield kind
        elif _is_filled(body, caller.index, value.id, site.call.line):
            yield UNKNOWN
        elif not hops or not self.callers.get(caller, ()) or _is_bound(body, caller.index, value.id, site.call.line):
            yield ANYTHING
        else:
            yield from self.values(caller, value.id, hops - 1)


def _is_filled(body: Body, function: int, name: str, line: int) -> bool:
    """Whether a function gives a parameter a value where it was called without: `if mask is None: mask = ones(n)`."""
    before = [d for d in body.definitions(function).get(name, ()) if d.at[0] < line and d.within is None]
    unsure = ast.Constant | ast.Name | ast.Attribute | ast.IfExp | None
    if not before or any(isinstance(d.value, unsure) for d in before):
        return False
    return any(
        isinstance(s, ast.If) and s.lineno < line and ast.unparse(s.test) == f"{name} is None" and _sets(s.body, name)
        for s in body.functions[function].body
    )


def _sets(statements: Sequence[ast.stmt], name: str) -> bool:
    """Whether a block gives a name a value, whatever comes before and after."""
    targets = [target for s in statements if isinstance(s, ast.Assign) for target in s.targets]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _goes_through(function: ast.FunctionDef, name: str) -> bool:
    """Whether a function has a loop that gives a name each value of its `**kwargs`."""
    over = f"{function.args.kwarg.arg}.items()" if function.args.kwarg is not None else ""
    loops = (node for node in nodes_of(function) if isinstance(node, ast.For))
    return any(named_freely(loop) == name and chain(loop.iter) == over for loop in loops)


def _is_bound(body: Body, function: int, name: str, line: int, to_none: bool = False, looped: bool = False) -> bool:
    """Whether a function gives a name another value before a line: `mode = mode or "fast"`.

    `to_none`: one that may be None; what is given and made a tuple is there as before. `looped`: beside the loop that
    gives it each of the values of a table: `for k, v in kwargs.items()`.
    """
    before = [d for d in body.definitions(function).get(name, ()) if d.at[0] < line and d.within is None]
    before = [d for d in before if not looped or d.how != "loop"]
    return any(not to_none or not isinstance(d.value, ast.Tuple | ast.List | ast.BinOp) for d in before)


def _defaults(args: ast.arguments) -> dict[str, ast.expr]:
    places = [*args.posonlyargs, *args.args]
    last = dict(zip([a.arg for a in places[len(places) - len(args.defaults) :]], args.defaults, strict=True))
    named = {a.arg: value for a, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value is not None}
    return last | named


def passes(
    index: Index,
    body_of: Callable[[str], Body | None],
    key: FunctionKey,
    site: CallSite,
    name: str,
    callers: Callers | None = None,
    hops: int = _HOPS,
) -> bool:
    """Whether a call gives a parameter something that is no literal, nor an option that is off by default itself.

    `callers`: who calls whom; what a caller hands on counts where a call of that one gives it.
    """
    given = _given(index, body_of, key, site)
    value = given.get(name)
    if value is None or isinstance(value, ast.Constant):
        return False
    if not _is_handed_on(index, site, value):
        return True
    assert isinstance(value, ast.Name)
    caller = FunctionKey(site.path, site.call.function)
    outer = callers.get(caller, ()) if callers is not None and hops else ()
    return any(passes(index, body_of, caller, other, value.id, callers, hops - 1) for other in outer)


def _given(
    index: Index, body_of: Callable[[str], Body | None], key: FunctionKey, site: CallSite
) -> dict[str | None, ast.expr]:
    """What a call gives each parameter; under None what may give any: `f(*args)`, `f(**options)`."""
    body = body_of(site.path)
    call = body.node_of(site.call) if body is not None else None
    if not isinstance(call, ast.Call):
        return {None: ast.Constant(None)}
    function = index.function(key)
    names = by_place(function)
    stars = [a for a in call.args if isinstance(a, ast.Starred)]
    given: dict[str | None, ast.expr] = {keyword.arg: keyword.value for keyword in call.keywords}
    return given | ({None: stars[0]} if stars else dict(zip(names, call.args, strict=False)))


def _is_handed_on(index: Index, site: CallSite, value: ast.expr) -> bool:
    """Whether a value is an option of the caller itself, off by default perhaps."""
    caller = index.function(FunctionKey(site.path, site.call.function))
    return isinstance(value, ast.Name) and value.id in {p.name for p in caller.parameters if p.default}


def _is_parameter(index: Index, site: CallSite, value: ast.expr) -> bool:
    caller = index.function(FunctionKey(site.path, site.call.function))
    return isinstance(value, ast.Name) and value.id in {p.name for p in caller.parameters}
