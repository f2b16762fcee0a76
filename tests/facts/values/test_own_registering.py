"""Attributes that a `register_buffer` of a class's own sets: they are what it was given, moved perhaps."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.scalar_arguments import scalars
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, Frame, Value

TEXT = (
    IMPORTS
    + """
import numpy as np

class Sampler({base}):
    def __init__(self, model: nn.Module):
        self.model = model

    {register}

    def make(self):
        alphas = torch.linspace(0, 1, 10)
        self.register_buffer("alphas", alphas)
        self.register_buffer("before", np.asarray([1.0] + alphas[:-1].tolist()))
        self.register_buffer("roots", np.sqrt(1 - alphas))
        self.register_buffer("ratios", np.sqrt(np.asarray([0.5, 1.0]) / alphas[:2]))

    @torch.no_grad()
    def sample(self, x: torch.Tensor):
        for step in range(10):
            x = self.model(x)
            table = {table}
            x = x * torch.full((4, 1), table[step], device=x.device)
        return x
"""
)
MOVED = """def register_buffer(self, name, attr):
        if type(attr) == torch.Tensor:
            attr = attr.to(torch.device("cuda"))
        setattr(self, name, attr)"""


def source(register: str = MOVED, base: str = "object", table: str = "self.alphas") -> SourceFile:
    text = TEXT.format(register=register, base=base, table=table)
    return SourceFile(Project.of_texts({"m.py": text}), "m.py", text)


def attribute(name: str, **options: str) -> Value:
    file = source(**options, table=f"self.{name}")
    body = file.project.body("m.py")
    assert body is not None
    function = next(n for n, record in enumerate(file.outline.functions) if record.name == "sample")
    (bound,) = body.definitions(function)["table"]
    assert bound.value is not None
    return file.project.values.of(bound.value, Frame("m.py", function, body.at(bound.value)))


@pytest.mark.parametrize(
    ("register", "device"),
    [
        (MOVED, DEVICE),
        (MOVED.replace('attr.to(torch.device("cuda"))', "attr.cuda()"), DEVICE),
        (MOVED.replace('torch.device("cuda")', "self.place()"), ANYWHERE),
        (MOVED.replace('torch.device("cuda")', "'cpu'"), HOST),
        ("def register_buffer(self, name, attr):\n        setattr(self, name, attr)", HOST),
        ("def register_buffer(self, name, attr):\n        setattr(self, name, attr.to('cuda'))", DEVICE),
    ],
)
def test_a_tensor_is_where_it_is_moved_to(register, device):
    value = attribute("alphas", register=register)
    assert (value.kind, value.device) == ("tensor", device)


def test_an_array_stays_an_array():
    assert attribute("before").kind == "array"


@pytest.mark.parametrize("name", ["roots", "ratios"])
def test_numpy_gives_a_tensor_for_a_tensor(name):
    value = attribute(name)
    assert (value.kind, value.device) == ("tensor", DEVICE)


@pytest.mark.parametrize(
    "register",
    [
        "",
        "def register_buffer(self, name, attr):\n        super().register_buffer(name, attr.float())",
        "def register_buffer(self, name, attr):\n        self.buffers[name] = attr",
    ],
)
def test_a_buffer_of_torch_follows_its_module(register):
    value = attribute("before", register=register, base="nn.Module")
    assert (value.kind, value.device) == ("tensor", ANYWHERE)


@pytest.mark.parametrize(
    ("table", "reads"),
    [
        ("self.alphas", 1),
        ("self.roots", 1),
        ("self.model.alphas if x is None else self.alphas", 1),
        ("self.before", 0),
        ("self.model.alphas if x is None else self.before", 0),
    ],
)
def test_an_entry_that_fills_a_tensor_is_read(table, reads):
    assert len(list(scalars(source(table=table)))) == reads
