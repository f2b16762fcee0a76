"""What a method gives that a class leaves to those below it."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

CODE = """\
class Base(nn.Module):
    {abstract}

    def evaluate(self, batch):
        with torch.no_grad():
            x, ends = self.process(batch)
            for i in range(len(ends)):
                x[i, : ends[i].item()] = 0
        return x


class Other(Base):
    def process(self, batch):
        {other}


class Own(Base):
    def process(self, batch):
        return batch["x"].cuda(), {sizes}

    {replaced}


def run(model: Base, loader: DataLoader):
    for batch in loader:
        model.evaluate(batch)
"""
PAIR = 'return batch["x"].cuda(), torch.zeros(3).cuda()'
RAISES = "def process(self, batch):\n        raise NotImplementedError"
MARKED = "@abstractmethod\n    def process(self, batch):\n        pass"
ITSELF = "def process(self, batch):\n        return batch, [1, 2]"
AGAIN = "def evaluate(self, batch):\n        return 3"


def value(abstract="", other=PAIR, sizes="batch['sizes'].cuda()", replaced=""):
    files = texts(CODE.format(abstract=abstract, other=other, sizes=sizes, replaced=replaced))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (site,) = file.hot_calls("item")
    found = file.value(site.receiver, site)
    return found.kind, found.device


@pytest.mark.parametrize("abstract", ["", RAISES, MARKED])
def test_what_all_of_them_give_alike(abstract):
    assert value(abstract) == ("tensor", "device")


def test_a_method_of_its_own_is_the_one():
    assert value(ITSELF)[0] == "plain"


def test_who_replaces_the_caller_is_not_asked():
    assert value(sizes="[1, 2, 3]", replaced=AGAIN) == ("tensor", "device")


@pytest.mark.parametrize("other", ["return batch, [1, 2, 3]", "return find(batch)"])
def test_they_may_give_different_things(other):
    assert value(other=other, sizes="object()")[0] != "tensor"


def test_what_rests_on_the_host_may_be_moved_later():
    host = 'return batch["x"].cpu(), torch.zeros(3)'
    assert value(other=host, sizes="torch.ones(3)")[0] == "unknown"
