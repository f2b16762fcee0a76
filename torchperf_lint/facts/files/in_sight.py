"""Whether what makes code hot stands in sight of it: in its file, in a class above or below its own, or one call away.

Who is called from afar cannot know what the caller does with a result: an estimator whose `loss_gradient` hands out an
array is stepped by attacks that never see a tensor.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import EVERY_RUN
from torchperf_lint.facts.roles.role import EVERY_PASS, WITH_STEPS

_GUESSED = (EVERY_RUN, EVERY_PASS, WITH_STEPS)
"""How often a loop over models, a hook or an autograd function runs, which hand over what somebody else asked for."""


def steps_in_sight(place: Place, hot: Hot) -> bool:
    """Whether a step, a forward pass or an evaluation that stands in sight of a place makes its code hot."""
    if hot.when.startswith(_GUESSED):
        return False
    path = place.file.path
    if hot.path == path or hot.depth <= 1:
        return True
    return _of_one_family(place.file.project.index, path, place.function, hot)


def _of_one_family(index: Index, path: str, function: int, hot: Hot) -> bool:
    own = index.class_of(path, function)
    if own is None:
        return False
    family = {(cls.path, cls.index) for cls in (*index.ancestry(own), *index.below(own)) if cls.kind != "external"}
    around = (
        index.class_of(hot.path, number)
        for number, record in enumerate(index.outlines[hot.path].functions)
        if record.line <= hot.line <= record.end_line
    )
    return any(cls is not None and (cls.path, cls.index) in family for cls in around)
