"""Which loops call a helper."""

from __future__ import annotations

from snippets import texts

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.calling_loops import calling_loops
from torchperf_lint.facts.files.project import Project

CODE = """
class Meter:
    def update(self, value):
        self.total += value.item()


def train(model, loader, optimizer, meter: Meter):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        meter.update(loss)
        meter.update(model.penalty())
    meter.update(loss)


def tune(model, loader, optimizer, meter: Meter):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            meter.update(loss)


def pretrain(model, loader, optimizer, meter: Meter):
    for x in loader:
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        meter.update(loss)


def check(model, loader, meter: Meter):
    with torch.no_grad():
        for x in loader:
            meter.update(model(x).mean())
"""


def test_the_first_call_of_each_loop_of_the_same_kind():
    project = Project.of_texts(texts(CODE))
    key = next(
        FunctionKey("a.py", n) for n, f in enumerate(project.index.outlines["a.py"].functions) if f.name == "update"
    )
    lines = project.text("a.py").splitlines()
    found = [
        (lines[site.call.line - 1].strip(), often)
        for site, often in calling_loops(project.hotness, key, project.hotness.functions[key])
    ]
    assert found == [("meter.update(loss)", "every training step")] * 2
    callers = [site.call.function for site, _ in calling_loops(project.hotness, key, project.hotness.functions[key])]
    assert [project.index.outlines["a.py"].functions[n].name for n in callers] == ["train", "pretrain"]


def test_a_loop_of_its_own_needs_no_caller():
    project = Project.of_texts(texts(CODE))
    train = next(n for n, f in enumerate(project.index.outlines["a.py"].functions) if f.name == "train")
    hot = next(
        hot
        for line in range(1, 30)
        if (hot := project.hotness.at("a.py", (line, 9))) is not None and hot.kind == "step" and not hot.depth
    )
    assert list(calling_loops(project.hotness, FunctionKey("a.py", train), hot)) == []
