"""What a file compiles, where that ends its graphs, and what makes it compile again."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.compiled_regions import compiled_functions
from torchperf_lint.facts.processes.counted_in_compiled import counted_in_compiled
from torchperf_lint.facts.processes.graph_breaks import graph_breaks

MODULE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.kept = []
    def forward(self, x: torch.Tensor):
        {}
        return x
"""


def of(snippet: str) -> SourceFile:
    files = texts(snippet)
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


@pytest.mark.parametrize(
    ("snippet", "names"),
    [
        ("@torch.compile\ndef f(x): return g(x)\ndef g(x): return h(x)\ndef h(x): return x", ["f", "g"]),
        ("from torch import compile as c\n@c(dynamic=True)\ndef f(x): return x", ["f"]),
        ("@torch.compile(fullgraph=True)\ndef f(x): return x", []),
        ("@torch.compile(fullgraph=FULL)\ndef f(x): return x", []),
        ("@torch.compile(**options)\ndef f(x): return x", []),
        ('@torch.compile(backend="eager")\ndef f(x): return x', []),
        ("def f(x): return x\ng = torch.compile(f)", ["f"]),
        ("@torch.compiler.disable()\ndef f(x): return x\ng = torch.compile(f)", []),
        ("@torch.compile\ndef f(x):\n    if x is None:\n        g(x)\n    return x\ndef g(x): return x", ["f"]),
        ("@torch.compile\ndef f(x):\n    return torch.compiler.is_compiling()", []),
        (MODULE.format("pass") + "m = torch.compile(M())", ["M.forward"]),
        (MODULE.format("pass") + "m = M().cuda()\nm.compile()", ["M.forward"]),
        (MODULE.format("pass") + "m = M().cuda()", []),
        ("import re\nm = re.compile('a')\ndef forward(x): return x", []),
    ],
)
def test_what_is_compiled(snippet, names):
    file = of(snippet)
    assert [file.outline.functions[number].qualname for number in sorted(compiled_functions(file))] == names


@pytest.mark.parametrize(
    ("statement", "kinds"),
    [
        ("print(x.shape)", ["host"]),
        ("k = x.sum().item()", ["item"]),
        ("k = float(x.sum())", ["item"]),
        ("k = float(x.shape[0])", []),
        ("k = x.cpu()", []),
        ("k = x.nonzero()", ["size"]),
        ("k = torch.unique(x)", ["size"]),
        ("x.sum().backward()", ["backward"]),
        ("if self.n: print(x.shape)", []),
        ("import torch._dynamo; torch._dynamo.config.capture_scalar_outputs = True; k = x.sum().item()", []),
    ],
)
def test_what_ends_a_graph(statement, kinds):
    file = of(MODULE.format(statement) + "m = torch.compile(M())")
    assert [found.kind for found in graph_breaks(file)] == kinds


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("self.n += 1", ["self.n"]),
        ("self.n = self.n - 2", ["self.n"]),
        ("self.n += 1.0", []),
        ("self.n += len(x)", []),
        ("self.n = 0; self.n += 1", []),
        ("self.m += 1", []),
        ("if self.training: self.n += 1", ["self.n"]),
        ("if self.debug: self.n += 1", []),
        ("self.kept.append(x)", ["self.kept"]),
        ("self.kept.append(x); self.kept.clear()", []),
        ("other.n += 1", []),
    ],
)
def test_what_compiles_again(statement, names):
    file = of(MODULE.format(statement) + "m = torch.compile(M())")
    assert [counted.name for counted in counted_in_compiled(file)] == names
