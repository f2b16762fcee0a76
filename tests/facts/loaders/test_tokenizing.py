"""Which calls turn text into tokens, and which functions `datasets.map` runs."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders import tokenizing

HEAD = "from transformers import AutoTokenizer, AutoModel\n\n"


def sites(code, *names):
    """The calls with one of these names in a snippet."""
    files = texts({"a.py": HEAD + code})
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return list(file.calls_among(c for c in file.outline.calls if c.callee.rpartition(".")[2] in names))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(tokenizer, x):\n    return tokenizer(x, truncation=True)\n", True),
        ("def f(self, x):\n    return self.text_tokenizer.encode(x, max_length=5)\n", True),
        ("tokenizer = AutoTokenizer.from_pretrained('x')\n\ndef f(x):\n    return tokenizer(x)\n", True),
        ("tokenizer = AutoModel.from_pretrained('x')\n\ndef f(x):\n    return tokenizer(x)\n", False),
        ("def f(tokenizer, x):\n    return tokenizer(x)\n", False),
        ("def f(tokenizer, x: list[int]):\n    return tokenizer(x, truncation=True)\n", False),
        ("def f(tokenizer, x: list[str]):\n    return tokenizer(x, truncation=True)\n", True),
        ("def f(x):\n    return x.encode('utf-8')\n", False),
        ("def tokenizer(x, padding):\n    return x\n\ndef f(x):\n    return tokenizer(x, padding=1)\n", False),
    ],
)
def test_tokenizes(code, expected):
    (site,) = sites(code, "tokenizer", "text_tokenizer", "encode")
    assert tokenizing.tokenizes(site) is expected


@pytest.mark.parametrize(
    "code",
    [
        "def f(rows):\n    return look(rows)\n\ndef g(data):\n    return data.map(f, batched=True)\n",
        "def g(data):\n    return data.map(lambda rows: look(rows), batched=True)\n",
        "def g(data):\n    def f(rows):\n        return look(rows)\n\n    return data.map(function=f)\n",
    ],
)
def test_in_what_map_runs(code):
    (site,) = sites(code, "look")
    one = tokenizing.map_around(site)
    assert one is not None
    assert one.site.record.callee == "data.map"


def test_in_no_map():
    (site,) = sites("def g(data):\n    return look(data).map(print)\n", "look")
    assert tokenizing.map_around(site) is None
