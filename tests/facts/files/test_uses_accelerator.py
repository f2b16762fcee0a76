"""Whether a project runs on an accelerator, as far as it tells."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

MODEL = "class Net(nn.Module):\n    def forward(self, x):\n        return x * x.sum().item()\n"
TRAIN = "from a import Net\nnet = Net()\nfor x in DataLoader([]):\n    net(x).backward()\n"
FIT = (
    "def fit(net, loader, optimizer):\n    for x in loader:\n        optimizer.zero_grad()\n"
    "        net(x).backward()\n        optimizer.step()\n"
)
MAIN = "\nif __name__ == '__main__':\n    Net().train()\n"


@pytest.mark.parametrize(
    ("files", "uses"),
    [
        ({"a.py": MODEL}, True),
        ({"a.py": MODEL + MAIN}, False),
        ({"a.py": MODEL, "train.py": TRAIN}, False),
        ({"a.py": MODEL, "train.py": TRAIN.replace("Net()", "Net().cuda()")}, True),
        ({"a.py": MODEL, "train.py": TRAIN.replace("Net()", "accelerator.prepare(Net())")}, True),
        ({"a.py": MODEL, "tests/test_a.py": TRAIN}, True),
    ],
    ids=["a model alone", "a program", "a program beside", "moves", "leaves it to a framework", "a test"],
)
def test_a_project_without_a_word_of_devices_runs_on_the_host_only_where_it_has_a_program(files, uses):
    assert Project.of_texts(texts(files)).uses_accelerator is uses


@pytest.mark.parametrize(
    ("files", "on_host"),
    [
        ({"lib/__init__.py": "", "lib/fit.py": FIT}, True),
        ({"lib/__init__.py": "", "lib/fit.py": FIT.replace("(x)", "(x.cuda())")}, False),
        ({"lib/__init__.py": "", "examples/fit.py": FIT}, False),
        ({"lib/__init__.py": "", "lib/a.py": MODEL}, False),
    ],
    ids=["trains", "trains and moves", "an example trains", "a model alone"],
)
def test_a_package_that_trains_and_speaks_of_no_device_does_so_on_the_host(files, on_host):
    assert Project.of_texts(texts(files)).trains_on_host is on_host


@pytest.mark.parametrize(("moved", "waits"), [("", False), (".cuda()", True)])
def test_what_such_a_package_reads_in_its_own_loop_is_on_the_host(moved, waits):
    code = f"""
    def fit(net: nn.Module, loader, optimizer):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y{moved})
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(loss.item())
    """
    files = texts({"lib/__init__.py": "", "lib/fit.py": code})
    file = SourceFile(Project.of_texts(files), "lib/fit.py", files["lib/fit.py"])
    (site,) = file.hot_calls("item")
    assert site.receiver is not None
    assert (on_device(file, site, site.receiver) is not None) is waits
