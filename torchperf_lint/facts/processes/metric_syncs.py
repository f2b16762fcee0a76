"""Metrics of torchmetrics that are computed for each batch only to be logged.

    def validation_step(self, batch, batch_idx):
        self.accuracy(self(batch.x), batch.y)
        self.log("accuracy", self.accuracy.compute(), on_epoch=True)

`compute()` first exchanges what the metric has kept between all processes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part

_STEPS = frozenset(("training_step", "validation_step", "test_step"))
_METRICS = ("torchmetrics.", "pytorch_lightning.metrics.", "lightning.pytorch.metrics.")


def computed_each_batch(file: SourceFile) -> Iterator[Site]:
    """The calls of `compute` in a framework's step that `self.log` is given, of metrics that keep on counting."""
    for site in file.hot_calls("compute"):
        record = file.outline.functions[site.function]
        if site.hot is None or record.class_index < 0 or record.name not in _STEPS or site.call.args:
            continue
        parent = file.enclosing(site.function).parents.get(site.call)
        logged = isinstance(parent, ast.Call) and chain(parent.func) in ("self.log", "self.log_dict")
        if logged and _is_metric(file, site) and not _starts_again(file, site):
            yield site


def _is_metric(file: SourceFile, site: Site) -> bool:
    receiver = site.record.callee.rpartition(".")[0]
    things = file.project.types.things(file.path, site.function, receiver)
    return bool(things) and all(_descends(file, thing) for thing in things)


def _descends(file: SourceFile, thing: Thing) -> bool:
    if thing.kind == "external":
        return thing.dotted.startswith(_METRICS) and thing.dotted.endswith("()")
    bases = file.project.index.external_bases(thing) if thing.kind == "instance" else ()
    return any(base.startswith(_METRICS) for base in bases)


def _starts_again(file: SourceFile, site: Site) -> bool:
    """Whether the metric is of this batch alone: the step empties it."""
    owner = site.record.callee.rpartition(".")[0]
    return any(
        call.function == site.function and last_part(call.callee) == "reset" and call.callee.startswith(owner)
        for call in file.outline.calls
    )
