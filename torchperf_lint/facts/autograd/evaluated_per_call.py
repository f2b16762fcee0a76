"""Functions that evaluate one batch a call: they put the model into evaluation mode and run it, their caller loops.

    def eval(self, x, y):                        for x, y in val_loader:
        self.model.eval()                            losses.append(engine.eval(x, y))
        return self.loss(self.model(x), y).item()
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.autograd.evaluated_with_grad import (
    Evaluated,
    in_a_loop,
    is_frozen,
    model_switches_off,
    put_into_evaluation,
    text_asks,
    wants_around,
)
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.model import Confidence


def evaluated_per_call(file: SourceFile) -> Iterator[Evaluated]:
    """The first call of each such model in each function that an evaluation loop calls with every batch."""
    for call, model in put_into_evaluation(file):
        top = file.outline.regions[call.region].kind == "function" and call.function > 0
        if not top or any(site.call.args or site.call.keywords for site in file.calls_among([call])):
            continue
        site = _run(file, call, model)
        if site is None or site.hot is None or is_frozen(file) or _asks(file, site):
            continue
        yield Evaluated(site, model, (file.path, call.line), 0, site.hot)


def _run(file: SourceFile, call: Call, model: str) -> Site | None:
    """Where the function runs the model next, if an evaluation loop around its callers does so for each batch."""
    said = (model, f"{model}.forward", f"{model}.train")
    after = [c for c in file.outline.calls if c.function == call.function and c.line > call.line and c.callee in said]
    if not after or after[0].callee.endswith(".train") or in_a_loop(file.outline, after[0]):
        return None
    site = next(file.calls_among(after[:1]), None)
    hot = site.hot if site is not None else None
    often = hot is not None and hot.kind == "eval" and hot.loop is not None and not hot.optional
    sure = often and hot is not None and hot.confidence.at_least(Confidence.LIKELY)
    return site if sure and site is not None and bool(site.call.args or site.call.keywords) else None


def _asks(file: SourceFile, site: Site) -> bool:
    """Whether gradients are off there, or anything speaks of what they may be for."""
    project, key = file.project, FunctionKey(file.path, site.function)
    if not project.hotness.grad_mode.records(file.path, site.start):
        return True
    return text_asks(project.body(file.path), site.function) or wants_around(project, key) or (
        model_switches_off(file, site)
    )
