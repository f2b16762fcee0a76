"""What is asked about one file's loaders costs no look into files that they cannot get to."""

from __future__ import annotations

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.loaders import loaders_of

TRAIN = """
import torch
from torch.utils.data import DataLoader
{0}

model = torch.nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader([], batch_size=4)
"""
LOOP = """
for x in loader:
    model(x.cuda(non_blocking=True)).mean().backward()
    optimizer.step()
"""
FIT = """
def fit(model, optimizer, loader):
    for x in loader:
        model(x.cuda()).mean().backward()
        optimizer.step()
"""
PROJECT = {
    "alone.py": TRAIN.format("") + LOOP,
    "train.py": TRAIN.format("from fitting import fit") + "fit(model, optimizer, loader)\n",
    "fitting.py": FIT,
    "other.py": TRAIN.format("") + LOOP,
}
ORIGIN = (8, 10)


def asked(path):
    project = Project.of_texts(PROJECT)
    loaders = loaders_of(project)
    uses, copies = loaders.uses((path, *ORIGIN)), loaders.copies((path, *ORIGIN))
    return project, [use.path for use in uses], [copy.path for copy in copies]


def test_a_loader_that_stays_in_its_file():
    project, uses, copies = asked("alone.py")
    assert (uses, copies) == (["alone.py"], ["alone.py"])
    assert "other.py" not in project._bodies
    assert "fitting.py" not in project._bodies


def test_a_loader_that_is_handed_to_another_file():
    project, uses, copies = asked("train.py")
    assert (uses, copies) == (["fitting.py"], ["fitting.py"])
    assert "other.py" not in project._bodies


def test_copies_that_do_not_wait_are_those_of_files_that_run_together():
    loaders = loaders_of(Project.of_texts(PROJECT))
    assert [copy.path for copy in loaders.asynchronous(("alone.py", *ORIGIN))] == ["alone.py"]
    assert loaders.asynchronous(("train.py", *ORIGIN)) == []



def test_a_loader_that_is_handed_to_a_class_of_a_registry():
    project = Project.of_texts(
        {
            "main.py": TRAIN.format("from registry import build")
            + "build('plain').fit_whole(model, optimizer, loader)\n"
            + "def run(engine):\n    engine.fit_whole(model, optimizer, loader)\n",
            "registry.py": "KNOWN = {}\ndef build(name):\n    return KNOWN[name]()\n",
            "engines/plain.py": "class Engine:\n    def fit_whole(self, model, optimizer, loader):\n"
            "        for x in loader:\n            model(x.cuda()).mean().backward()\n            optimizer.step()\n",
        }
    )
    assert [use.path for use in loaders_of(project).uses(("main.py", *ORIGIN))] == ["engines/plain.py"]
