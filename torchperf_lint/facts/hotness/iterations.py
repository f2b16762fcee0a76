"""Loops of numerical algorithms, which repeat a computation on tensors until it converges: k-means, Sinkhorn, attacks.

for _ in range(self.max_iter):
    labels = torch.cdist(x, centers).argmin(1)
    centers = means_of(x, labels)

Some count their iterations, some go on while something is above a tolerance, or while tensors say so, and some end
where something has fallen below one:

    while True:
        ...
        if (centers - last).norm() < tol:
            break
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.hotness.loop import EVERY_ITERATION, Loop
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import is_cold
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_COUNTED = pattern(
    r"^for\b.*\bin\b.*\b_?(?:\w+_)?(?:max_?iters?|n_?iters?|num_?iters?|niters?|iterations?|iters)\b"
    r"|^while (?:\w+\.)*\w+ <=? .*\b(?:\w+_)?(?:max_?iters?|iterations?|iters)\b"
    r"|^for\b.*\bin\b.*\brange\((?:[01], ?)?(?:iter|(?:max|num|n)Iters?)\)"
    r"|^while\b.* >=? (?:\w+\.)*_?(?:tol|tolerance|eps|epsilon)\b"
    r"|^while\b(?!.*\b(?:\w+_)?(?:[Ee][Pp][Ss]|epsilon|tol|isnan|isinf|isfinite)\b).*[\w)\]]\.(?:any|all)\(\)"
)
"""Loops over a number of iterations, while something is above a tolerance, or while tensors say so.

What goes on while a tensor holds what is too small, or no number, mends that, and seldom has to.
"""
_CONVERGED = pattern(
    r"(?<![<>=!])<=? [^<>=]*\b_?(?:\w+_)?(?:[arfxg]?tol|tolerance|eps|epsilon)\b|\b(?:is_?|has_?)?converged\b",
    re.IGNORECASE,
)
"""Tests of what ends a loop where something has become small enough."""
_RANGE = pattern(r"\brange\(")
_BY_NAME = pattern(r"^for \w+ in (?P<name>\w+)$")
_OF_MORE = pattern(r"epoch|train|eval|test|bench|warm_?up|per_", re.IGNORECASE)
"""Iterations of something else than an algorithm."""
_COMPUTES = pattern(
    r"^(?:torch|th|F|(?:torch\.)?nn\.functional)\.(?!tensor$|manual_seed$|load$|save$|device$|cuda\.)[\w.]+$"
    r"|\.(?:sum|mean|norm|matmul|mm|bmm|mv|argmin|argmax|sqrt|exp|log|logsumexp|dot|clamp|clamp_|amax|amin|softmax)$"
)
"""Calls that compute on tensors, or arrays."""
_WHOLE = pattern(r"(?:^|[._])(?:fit|train|learn|optimize)(?:_\w+)?$")
"""Calls that train or optimize as a whole, as each turn of a Bayesian optimization does: such turns are few."""
_LEAST = 2
"""A loop that computes once may do anything."""


class Iterations:
    """Answers for one project."""

    def __init__(
        self,
        index: Index,
        calls: DirectCalls,
        by_itself: Callable[[str, int], Loop | None],
        body: Callable[[str], Body | None] = lambda path: None,
    ) -> None:
        self.index = index
        self.calls = calls
        self._by_itself = by_itself
        self._body = body

    def at(self, path: str, index: int) -> Loop | None:
        """Why a loop repeats a computation on tensors, if it does."""
        outline = self.index.outlines[path]
        region = outline.regions[index]
        if _OF_MORE.search(region.detail) or not outline.imports_from("torch"):
            return None
        computed = self._computing(path, index)
        if len(computed) < _LEAST or not self._goes_on_until_done(path, index):
            return None
        if is_cold(self.index, FunctionKey(path, region.function)):
            return None
        if any(_WHOLE.search(call.callee) for call in self.calls.all_in(path, index)):
            return None
        if self._holds_hot_loops(path, index):
            return None
        first = computed[0]
        because = (
            f"repeats a computation, as until it converges: `{first.callee}()` (line {first.line})"
        )
        return Loop("rollout", because, Confidence.LIKELY, region.head, EVERY_ITERATION)

    def _goes_on_until_done(self, path: str, index: int) -> bool:
        """Whether a loop counts its iterations, or ends where something has become small enough."""
        counted = _COUNTED.search(self.index.outlines[path].regions[index].detail) is not None
        counted = counted or self._ends_when_converged(path, index)
        return counted or _COUNTED.search(self._written_out(path, index)) is not None

    def _written_out(self, path: str, index: int) -> str:
        """A loop over a name for a range as if that stood there, else empty: `turns = tqdm(range(n_iter))`, if a bar is
        wanted, `else range(n_iter)`."""
        region = self.index.outlines[path].regions[index]
        named = _BY_NAME.search(region.detail)
        body = self._body(path) if named is not None else None
        if named is None or body is None:
            return ""
        bound = list(body.definitions(region.function).get(named["name"], ()))
        if len(bound) != 1 or bound[0].how != "assign" or bound[0].value is None:
            return ""
        written = f"for _ in {ast.unparse(bound[0].value)}"
        return written if _RANGE.search(written) and not _OF_MORE.search(written) else ""

    def _ends_when_converged(self, path: str, index: int) -> bool:
        """Whether a test in a loop leaves it where something has fallen below a tolerance."""
        regions = self.index.outlines[path].regions
        return any(
            region.kind in ("break", "return") and region.parent == index and _CONVERGED.search(region.detail)
            for region in regions[index + 1 :]
        )

    def _computing(self, path: str, index: int) -> list[Call]:
        return [call for call in self.calls.directly_in(path, index) if _COMPUTES.search(call.callee)]

    def _holds_hot_loops(self, path: str, index: int) -> bool:
        """Whether each turn trains, or samples, in a loop of its own: it is no iteration, and they are few."""
        regions = self.index.outlines[path].regions
        within = {index}
        for number in range(index + 1, len(regions)):
            if regions[number].parent not in within or regions[number].kind in ("function", "class"):
                continue
            within.add(number)
            if regions[number].kind == "loop" and self._by_itself(path, number) is not None:
                return True
        return False
