"""Options that are off by default, and that hot code passes nevertheless; ways through a function that no call takes.

def train_step(model, batch, ema=None):          for batch in loader:
    if ema is not None:                              train_step(model, batch, ema=ema)
        ...
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.parameter_tests import ANYTHING, UNKNOWN, may_hold, parameter_of


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
            found.add((regions[number].detail, regions[number].start[0]))
        number = regions[number].parent
    return found


Counts = Callable[[CallSite], bool]
"""Whether a call counts: one from hot code."""
_HOPS = 3
"""How far a parameter is followed that callers hand on: `def outer(x, mode="fast"): return inner(x, mode)`."""


class Given:
    """What the calls of a project give to parameters: literals, or UNKNOWN; of all calls where none counts."""

    def __init__(
        self,
        index: Index,
        body_of: Callable[[str], Body | None],
        callers: Mapping[FunctionKey, Sequence[CallSite]],
        counts: Counts = lambda site: True,
    ) -> None:
        self.index = index
        self.body_of = body_of
        self.callers = callers
        self.counts = counts

    def never_takes(self, key: FunctionKey, way: str, line: int) -> bool:
        """Whether all calls, of which there are some, give a parameter what is for another way than that at a line."""
        body = self.body_of(key.path) if self.callers.get(key) else None
        if body is None or _is_bound(body, key.index, parameter_of(way), line, way.endswith(" is None")):
            return False
        return not any(may_hold(way, value) for value in self.values(key, parameter_of(way), _HOPS))

    def _calls(self, key: FunctionKey) -> Sequence[CallSite]:
        sites = self.callers.get(key, ())
        return [site for site in sites if self.counts(site)] or sites

    def values(self, key: FunctionKey, name: str, hops: int) -> Iterator[object]:
        """One for each call of a function; ANYTHING for a call that cannot be seen through."""
        body = self.body_of(key.path)
        function = body.functions.get(key.index) if body is not None else None
        default = None if isinstance(function, ast.Module | None) else _defaults(function.args).get(name)
        for site in self._calls(key):
            given = _given(self.index, self.body_of, key, site)
            value = given.get(name, None if None in given else default)
            yield from self._of(site, value, hops)

    def _of(self, site: CallSite, value: ast.expr | None, hops: int) -> Iterator[object]:
        if isinstance(value, ast.Constant):
            yield value.value
        elif value is None or _is_parameter(self.index, site, value):
            yield from self._handed_on(site, value, hops)
        else:
            yield ANYTHING if isinstance(value, ast.IfExp | ast.BoolOp) else UNKNOWN

    def _handed_on(self, site: CallSite, value: ast.expr | None, hops: int) -> Iterator[object]:
        caller = FunctionKey(site.path, site.call.function)
        body = self.body_of(site.path)
        if body is None or not isinstance(value, ast.Name) or not hops or not self.callers.get(caller):
            yield ANYTHING
            return
        bound = _is_bound(body, caller.index, value.id, site.call.line)
        yield from [ANYTHING] if bound else self.values(caller, value.id, hops - 1)


def _is_bound(body: Body, function: int, name: str, line: int, to_none: bool = False) -> bool:
    """Whether a function gives a name another value before a line: `mode = mode or "fast"`.

    `to_none`: one that may be None; what is given and made a tuple is there as before.
    """
    before = [d for d in body.definitions(function).get(name, ()) if d.at[0] < line and d.within is None]
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
    callers: Mapping[FunctionKey, Sequence[CallSite]] | None = None,
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
    names = [p.name for p in function.parameters][function.bound :]
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
