"""Models of an object that a loop runs through a method of the same object, which runs them once a call.

    def evaluate_all(self):                      def score(self, cluster):
        for cluster in self.clusters:                out = self.model(cluster.x.to(self.device))
            self.score(cluster)                      self.seen.append(out.argmax(1).cpu())
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.autograd.evaluated_with_grad import in_a_loop
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import Call

_OWN = "self."


def run_by_own_methods(file: SourceFile, number: int, own: set[str]) -> Iterator[str]:
    """`self.model` for what a loop runs so, where the loop's function, which calls `own`, sets no mode of it."""
    for call in file.project.hotness.loops.calls.directly_in(file.path, number):
        key = _own_method(file.project, file.path, call)
        if key is None or key == FunctionKey(file.path, call.function):
            continue
        for name in dict.fromkeys(c.callee for c in _runs(file.project, key)):
            if own.isdisjoint((name, f"{name}.eval", f"{name}.train")):
                yield name


def runs_own(file: SourceFile, site: Site, model: str) -> bool:
    """Whether a call runs a model of its object through one of its own methods, in which gradients are recorded."""
    key = _own_method(file.project, file.path, site.record)
    runs = [c for c in _runs(file.project, key) if c.callee == model] if key is not None else []
    records = file.project.hotness.grad_mode.records
    return bool(runs) and all(records(key.path, (c.line, c.column)) for c in runs if key is not None)


def _own_method(project: Project, path: str, call: Call) -> FunctionKey | None:
    """The method of the same object that a call runs."""
    name = call.callee.removeprefix(_OWN)
    cls = project.index.class_of(path, call.function) if call.callee.startswith(_OWN) and name.isidentifier() else None
    return project.index.method(cls, name) if cls is not None else None


def _runs(project: Project, key: FunctionKey) -> list[Call]:
    """The calls of attributes of the object in a method, outside of its loops."""
    outline = project.index.outlines[key.path]
    own = (call for call in project.index.calls_in(key) if call.callee.startswith(_OWN))
    return [c for c in own if c.callee.removeprefix(_OWN).isidentifier() and not in_a_loop(outline, c)]
