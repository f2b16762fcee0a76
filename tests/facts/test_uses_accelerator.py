"""Whether a project runs on an accelerator, as far as it tells."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.project import Project

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
        ({"lib/__init__.py": "", "lib/a.py": MODEL, "lib/fit.py": FIT}, False),
        ({"lib/__init__.py": "", "lib/a.py": MODEL, "lib/fit.py": FIT.replace("(x)", "(x.cuda())")}, True),
        ({"lib/__init__.py": "", "lib/a.py": MODEL, "examples/fit.py": FIT}, True),
    ],
    ids=[
        *("a model alone", "a program", "a program beside", "moves", "leaves it to a framework", "a test"),
        *("a package that trains", "a package that trains and moves", "an example that trains"),
    ],
)
def test_a_project_without_a_word_of_devices_runs_on_the_host_only_where_it_has_a_program(files, uses):
    assert Project.of_texts(texts(files)).uses_accelerator is uses
