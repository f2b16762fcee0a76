"""Models that whoever calls a function has put into evaluation mode, or calls it without gradients.

    def ranks(model, batches):                    model.eval()
        for batch in batches:                     ranks(model, test_batches)
            scores = model(batch["x"])

What the function loops over may be called anything: a model in evaluation mode says what the loop does. A method may
run the model of its own object, `self.model`, which the methods that call it have put into that mode.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.syntax.chains import chain

_MANY = 12
_MOVED = re.compile(r"(?:\.(?:cuda|to|half|float)\(\))+$")

Place = tuple[str, int]
"""A path and line."""


class EvaluatedByCallers:
    """Answers for one project; they are kept."""

    def __init__(
        self,
        index: Index,
        callers: Callable[[], Mapping[FunctionKey, tuple[CallSite, ...]]],
        body: Callable[[str], Body | None],
    ) -> None:
        self.index = index
        self._callers = callers
        self._body = body
        self._known: dict[tuple[FunctionKey, str], Place | None] = {}

    def put(self, key: FunctionKey, parameter: str) -> Place | None:
        """Where the model that a parameter takes, or `self.model`, is put into evaluation mode; None unless all calls
        have done that."""
        if "eval" not in self.index.called_names:
            return None
        if (key, parameter) not in self._known:
            self._known[key, parameter] = self._put(key, parameter)
        return self._known[key, parameter]

    def _put(self, key: FunctionKey, parameter: str) -> Place | None:
        function = self.index.function(key)
        own = parameter.startswith("self.")
        if not own and parameter not in [p.name for p in function.parameters]:
            return None
        sites = [s for s in self._callers().get(key, ()) if not Demonstrations.tests(s.path, key.path)]
        if own and not all(site.call.callee == f"self.{function.name}" for site in sites):
            return None
        if not sites or len(sites) > _MANY or not all(self._sets_modes(site) for site in sites):
            return None
        places = [self._by_one(site, function, parameter) for site in sites]
        return places[0] if all(places) else None

    def _sets_modes(self, site: CallSite) -> bool:
        """Whether the caller puts anything into evaluation mode above: asked first, as it needs no syntax."""
        calls = self.index.calls_in(FunctionKey(site.path, site.call.function))
        return any(call.callee.endswith(".eval") and call.line < site.call.line for call in calls)

    def _by_one(self, site: CallSite, function: Function, parameter: str) -> Place | None:
        name = parameter if parameter.startswith("self.") else self._given(site, function, parameter)
        said = (f"{name}.eval", f"{name}.train")
        calls = self.index.calls_in(FunctionKey(site.path, site.call.function))
        modes = [(c.line, c.column, c.callee) for c in calls if c.callee in said and c.line < site.call.line]
        line, _, last = max(modes, default=(0, 0, ""))
        return (site.path, line) if name and last == said[0] else None

    def _given(self, site: CallSite, function: Function, parameter: str) -> str:
        """The name of what a call gives a parameter; empty for what has none."""
        body = self._body(site.path)
        node = body.node_of(site.call) if body is not None else None
        given = argument_for(node, function, parameter) if node is not None else None
        return _MOVED.sub("", chain(given)) if given is not None else ""
