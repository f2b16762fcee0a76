"""What a profiler's block records."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.profiled import profiled

BEFORE = """
import cProfile
import itertools

def step(model, x, optimizer):
    model(x).sum().backward()
    optimizer.step()

def train(model, loader, optimizer):
    for x in loader:
        step(model, x, optimizer)

def main(model, loader: DataLoader, optimizer, args):
"""


def recorded(made, inside):
    files = texts(f"{BEFORE}    with {made}:\n{indent(inside, '        ')}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [found.what for found in profiled(file)]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("torch.profiler.profile()", 1),
        ("torch.profiler.profile(with_stack=True) as p", 1),
        ("cProfile.Profile()", 1),
        ("torch.autograd.profiler.emit_nvtx(True)", 1),
        ("torch.autograd.profiler.profile(enabled=True)", 1),
        ("torch.profiler.profile(schedule=args.schedule)", 0),
        ("torch.autograd.profiler.profile(enabled=args.profile)", 0),
        ("torch.autograd.profiler.emit_nvtx(args.profile)", 0),
        ("torch.profiler.profile(**args.profiler)", 0),
        ("torch.no_grad()", 0),
    ],
)
def test_which_profilers(made, expected):
    assert len(recorded(made, "train(model, loader, optimizer)")) == expected


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("train(model, loader, optimizer)", ["all of `train(model, loader, optimizer)`"]),
        ("for x in loader:\n    step(model, x, optimizer)", ["every turn of `for x in loader` (line 21)"]),
        ("for x in loader:\n    step(model, x, optimizer)\n    if args.few:\n        break", []),
        ("for x in itertools.islice(loader, 9):\n    step(model, x, optimizer)", []),
        ("for _ in range(50):\n    step(model, next(iter(loader)), optimizer)", []),
        ("step(model, next(iter(loader)), optimizer)", []),
        ("for name in args.names:\n    print(name)", []),
    ],
)
def test_what_is_recorded(inside, expected):
    assert recorded("torch.profiler.profile()", inside) == expected
