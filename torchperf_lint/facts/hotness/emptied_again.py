"""Branches that fill what their test found missing, once for good, as it seems; but every pass empties it again.

    class Attention(nn.Module):                              def forward(self, x, steps):
        def reset(self):                                         self.attention.reset()
            self.before = None                                   for _ in range(steps):
                                                                     x = self.attention(x)
        def forward(self, x):
            if self.before is None:
                self.before = torch.zeros(x.shape)           # once in every pass of the model

The outline of a file knows of a branch and its function; who calls `reset` is seen in the whole project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index, Thing
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.outline import PER_STEP
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.syntax.literals import is_none

_HOPS = 3
"""How far callers are followed from a method to the passes that run it."""
_MISSING = re.compile(r"self\.(\w+) is None")
_AROUND = (ast.With, ast.AsyncWith, ast.For, ast.While, ast.Expr, ast.Assign, ast.Return)
"""What may stand around a call that runs whenever its function does; a loop has a turn at least."""

Run = tuple[str, int]
"""The path and number of the region of a function or loop."""
Climb = Callable[[str, int], tuple[Hot | None, bool]]
"""The hot loop around a region, and whether no guard holds it back."""


class EmptiedAgain:
    """Answers for one project; they are kept."""

    def __init__(
        self,
        index: Index,
        callers: Callable[[], Mapping[FunctionKey, tuple[CallSite, ...]]],
        body: Callable[[str], Body | None],
        climb: Climb,
    ) -> None:
        self.index = index
        self._callers = callers
        self._body = body
        self._climb = climb
        self._of_region: dict[tuple[str, int], Run | None] = {}

    def around(self, path: str, region: int) -> Run | None:
        """What runs the branch around a region as often as itself, where that is filled again; None for other code."""
        regions = self.index.outlines[path].regions
        while region >= 0 and regions[region].kind != "function":
            found = self.filled_in(path, region) if regions[region].kind == "once" else None
            if found is not None:
                return found
            region = regions[region].parent
        return None

    def filled_in(self, path: str, region: int) -> Run | None:
        """What sets the attribute to None that a branch fills, once each time; None where nothing does."""
        key = (path, region)
        if key not in self._of_region:
            self._of_region[key] = None  # while it is asked: calls in it make no difference
            self._of_region[key] = self._find(path, region)
        return self._of_region[key]

    def _find(self, path: str, region: int) -> Run | None:
        record = self.index.outlines[path].regions[region]
        missing = _MISSING.fullmatch(record.detail) if record.kind == "once" else None
        own = self.index.class_of(path, record.function) if missing is not None else None
        body = self._body(path) if own is not None else None
        if missing is None or own is None or body is None:
            return None
        emptying, filling = self._writers(own, body, missing[1], record.function)
        runs = {run for method in emptying for run in self._runs(FunctionKey(path, method), _HOPS)}
        if not runs:
            return None
        runs -= {run for method in filling for run in self._runs(FunctionKey(path, method), _HOPS)}
        return min(runs, default=None)

    def _writers(self, own: Thing, body: Body, attribute: str, asking: int) -> tuple[list[int], list[int]]:
        """The methods that give an attribute nothing but None, come what may, and the others that give it something.

        The function of the branch is none of either: what it keeps for the next call is gone with the rest.
        """
        emptying, filling = [], []
        for name, number in self.index.record(own).methods.items():
            given = [value for value, _ in body.self_assigned(number, attribute)]
            if not given or name == "__init__" or number == asking:
                continue
            if not all(map(is_none, given)):
                filling.append(number)
            elif _always_sets(body.functions.get(number), f"self.{attribute}"):
                emptying += [number] if not self._calls(own.path, asking, number) else []
        return emptying, filling

    def _calls(self, path: str, asking: int, method: int) -> bool:
        """Whether the function of the branch calls a method itself, which then empties what is about to be filled."""
        sites = self._callers().get(FunctionKey(path, method), ())
        return any(site.path == path and site.call.function == asking for site in sites)

    def _runs(self, key: FunctionKey, hops: int) -> Iterator[Run]:
        """The functions that run once a pass or step, and the hot loops, as regions, that call a function each time."""
        for site in self._callers().get(key, ()):
            loop, free = self._climb(site.path, site.call.region)
            around = self.index.outlines[site.path].functions[site.call.function]
            if not free or around.name == "__init__" or not self._is_always_run(site):
                continue
            if loop is not None and loop.loop is not None:
                yield loop.loop
            elif around.name in PER_STEP and around.class_index >= 0:
                yield (site.path, around.region)
            elif hops and site.call.function > 0:
                yield from self._runs(FunctionKey(site.path, site.call.function), hops - 1)

    def _is_always_run(self, site: CallSite) -> bool:
        """Whether a call runs whenever its function does, for an object that is set up so: `if self.attends:`."""
        body = self._body(site.path)
        call = body.node_of(site.call) if body is not None else None
        top = body.functions.get(site.call.function) if body is not None else None
        if body is None or call is None or not isinstance(top, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef):
            return False
        inside: ast.AST = call
        for node in Enclosing(top).around(call):
            if isinstance(node, ast.If):
                if inside not in node.body or not self._is_set_up_for(site, body, node.test):
                    return False
            elif not isinstance(node, _AROUND) and node is not top:
                return False
            inside = node
        return True

    def _is_set_up_for(self, site: CallSite, body: Body, test: ast.expr) -> bool:
        """Whether a test asks an attribute that only the constructor sets."""
        own = self.index.class_of(site.path, site.call.function)
        if own is None or not isinstance(test, ast.Attribute) or chain(test) != f"self.{test.attr}":
            return False
        methods = self.index.record(own).methods
        setters = [name for name, number in methods.items() if body.self_assigned(number, test.attr)]
        return setters == ["__init__"]


def _always_sets(function: ast.AST | None, written: str) -> bool:
    """Whether a method assigns something in its own block, before it may end."""
    if not isinstance(function, ast.FunctionDef):
        return False
    for statement in function.body:
        if isinstance(statement, ast.Assign) and written in map(chain, statement.targets):
            return True
        if any(isinstance(node, ast.Return | ast.Raise) for node in ast.walk(statement)):
            return False
    return False
