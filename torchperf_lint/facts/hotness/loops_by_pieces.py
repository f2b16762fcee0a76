"""Loops each turn of which cuts what it takes into pieces, and runs a model on them in a loop inside.

    for pose in poses:                                 # once for each image: nobody trains there
        rays = make_rays(pose)
        for part in rays.split(4096):
            colours.append(model(part))

The loop inside is hot by its model; the one around it turns once for each input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.hotness.inference_loops import InferenceLoops
from torchperf_lint.facts.hotness.loader_loops import LoaderLoops
from torchperf_lint.facts.hotness.loop import EVERY_INPUT, FEW_TURNS, PARTS, Loop
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_WORD = pattern(r"[A-Za-z_]\w*")
_SEVERAL = pattern(
    r"(?:^|_)(?:data_?sets?|folders?|dirs?|director(?:y|ies)|subsets?|splits?|tasks?|models?|checkpoints?|ckpts?|folds?|"
    r"epochs?|iters?|iterations?|steps?|seeds?|runs?|trials?|names?|keys?|lang(?:uage)?s?|configs?|cfgs?|scenes?|classes|"
    r"domains?|layers?|loaders?|levels?|scales?|rounds?|benchmarks?|metrics?|modes?|phases?|ratios?|thresholds?)$"
)
"""What a loop goes over that holds a whole evaluation in each turn, or goes through a training: few."""


def _takes_a_whole(detail: str) -> bool:
    """Whether each turn may be an evaluation of its own, or a round of training, by what the loop is over."""
    taken, _, over = detail.removeprefix("for ").partition(" in ")
    named = _WORD.findall(over) + _WORD.findall(taken)[:1]
    return any(map(_SEVERAL.search, named))


class LoopsByPieces:
    """Answers for one project; they are kept. `by_itself`: what a loop is without these."""

    def __init__(
        self,
        index: Index,
        by_itself: Callable[[str, int], Loop | None],
        inference: InferenceLoops,
        of_loaders: LoaderLoops,
    ) -> None:
        self.index = index
        self._by_itself = by_itself
        self._inference = inference
        self._of_loaders = of_loaders
        self._known: dict[tuple[str, int], Loop | None] = {}

    def at(self, path: str, index: int) -> Loop | None:
        """What such a loop is; None for another one, and inside a loop that is hot itself."""
        key = (path, index)
        if key not in self._known:
            self._known[key] = self._find(path, index)
        return self._known[key]

    def _find(self, path: str, index: int) -> Loop | None:
        regions = self.index.outlines[path].regions
        region = regions[index]
        few = region.turns is not None and region.turns <= FEW_TURNS
        if region.kind != "loop" or few or PARTS.search(region.iterable) or not region.detail.startswith("for "):
            return None
        inner = next(self._over_pieces(path, index), None)
        if inner is None or _takes_a_whole(region.detail) or self._in_a_hot_loop(path, index):
            return None
        because = f"runs a model on the pieces of what each turn takes, in the loop on line {regions[inner].head}"
        return Loop("eval", because, Confidence.LIKELY, region.head, EVERY_INPUT)

    def _over_pieces(self, path: str, index: int) -> Iterator[int]:
        """The loops directly inside that run a model, on what the turn of the one around them makes or takes."""
        regions = self.index.outlines[path].regions
        for number in range(index + 1, len(regions)):
            inner = regions[number]
            if inner.start >= regions[index].end:
                break
            if inner.kind != "loop" or inner.function != regions[index].function:
                continue
            if self._loop_around(path, number) != index or not self._is_of_a_turn(path, regions[index], inner):
                continue
            if self._of_loaders.over_loader(path, number) is None and self._runs(path, number):
                yield number

    def _runs(self, path: str, number: int) -> bool:
        """Whether a loop trains nothing and runs a model."""
        loop = self._by_itself(path, number)
        found = loop is not None and loop.kind in ("eval", "rollout")
        return found and bool(
            self._inference.decoding(path, number) or self._inference.in_evaluation_mode(path, number)
        )

    def _is_of_a_turn(self, path: str, outer: Region, inner: Region) -> bool:
        """Whether what a loop goes over is bound by the loop around it, or in its turn."""
        taken, _, over = inner.detail.partition(" in ")
        names = set(_WORD.findall(over))
        if not taken.startswith("for ") or not names:
            return False
        if names & set(_WORD.findall(outer.detail.partition(" in ")[0])):
            return True
        bindings = self._of_loaders.types.bindings(path)
        bound = (b for name in names for b in bindings.get((outer.function, name), ()))
        return any(outer.start[0] <= b.line < inner.head for b in bound)

    def _loop_around(self, path: str, number: int) -> int:
        regions = self.index.outlines[path].regions
        number = regions[number].parent
        while number >= 0 and regions[number].kind not in ("loop", "function", "class"):
            number = regions[number].parent
        return number if number >= 0 and regions[number].kind == "loop" else -1

    def _in_a_hot_loop(self, path: str, number: int) -> bool:
        around = self._loop_around(path, number)
        while around >= 0:
            if self._by_itself(path, around) is not None:
                return True
            around = self._loop_around(path, around)
        return False
