"""What hot code compiles anew, and what it keeps."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.compiling import hot_compilations

MODULE = "class M(nn.Module):\n    def forward(self, x):\n"


def hot(snippet):
    files = texts(snippet)
    return [c.name for c in hot_compilations(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("        return torch.compile(f)(x)", [""]),
        ("        return torch.compile(model=f)(x)", [""]),
        ("        def g(y):\n            return y\n        return torch.compile(g)(x)", ["g"]),
        ("        @torch.compile\n        def g(y):\n            return y\n        return g(x)", ["g"]),
        ("        self.f = torch.compile(self.f)\n        return self.f(x)", [""]),
        ("        if self.f is None:\n            self.f = torch.compile(g)\n        return self.f(x)", []),
        ("        self.f = self.f or torch.compile(g)\n        return self.f(x)", []),
        ("        return self.kept.setdefault(1, torch.compile(g))(x)", []),
        ("        return torch.compile(f, disable=True)(x)", []),
        ("        return torch.compile(f, disable=False)(x)", [""]),
        ("        return torch.compile(dynamic=True)", []),
    ],
)
def test_compilations_in_a_forward_pass(body, names):
    assert hot(MODULE + body) == names


def test_a_cached_function_compiles_once():
    cached = "@functools.cache\ndef get():\n    return torch.compile(f)\n"
    assert hot(f"import functools\n{cached}{MODULE}        return get()(x)") == []
