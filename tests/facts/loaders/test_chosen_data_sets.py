"""Data sets whose class a function chooses by a name."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders import chosen_data_sets
from torchperf_lint.facts.loaders.chosen_data_sets import work_of_any

CALL = "DataLoader(data)"
MAKES = "class_of(name)()"
DATA = """
from PIL import Image
from torch.utils.data import Dataset

class Base(Dataset):
    def read(self, index):
        raise NotImplementedError

class Faces(Base):
    def __getitem__(self, index):
        return Image.open(self.paths[index])

class Streets(Faces):
    pass
"""
CHOOSES = """
def class_of(name):
    return globals()[name]

"""
MEMORY = """
class Rows(Base):
    def __getitem__(self, index):
        return self.rows[index]
"""


def told(body, data=DATA):
    site = site_of(f"{data}{CHOOSES}def f(name, given):\n    {body}\n    return {CALL}", CALL)
    return work_of_any(site.file.project.values, site.call.args[0], site.frame)


@pytest.mark.parametrize("body", [f"data = {MAKES}", "chosen = class_of(name)\n    data = chosen()"])
def test_each_reads_files(body):
    assert told(body) == "`Streets.__getitem__` calls `Image.open()` for each item"


@pytest.mark.parametrize("body", ["data = given()", "data = class_of(name)", "data = given", "data = other(name)()"])
def test_chosen_by_nobody(body):
    assert told(body) is None


def test_one_is_in_memory_or_there_is_none():
    assert told(f"data = {MAKES}", DATA + MEMORY) is None
    assert told(f"data = {MAKES}", "") is None


def test_read_once(monkeypatch):
    asked = []
    heavy_call = chosen_data_sets.heavy_call
    monkeypatch.setattr(chosen_data_sets, "heavy_call", lambda *given: asked.append(given) or heavy_call(*given))
    site = site_of(f"{DATA}{CHOOSES}def f(name):\n    data = {MAKES}\n    return {CALL}", CALL)
    for _ in range(3):
        assert work_of_any(site.file.project.values, site.call.args[0], site.frame)
    assert len(asked) == 1
