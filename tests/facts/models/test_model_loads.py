"""Which loads give the same each time, and how often requests come."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.requests import request_of
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.model_loads import repeated_loads

_HEAD = "from transformers import AutoModel\nimport torch\nNAME = 'a/b'\n"


def _file(code: str) -> SourceFile:
    text = _HEAD + code
    return SourceFile(Project.of_texts({"a.py": text}), "a.py", text)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("@app.post('/')\ndef f(x):\n    return AutoModel.from_pretrained(NAME)(x)\n", 1),
        ("@app.post('/')\ndef f(x, name):\n    return AutoModel.from_pretrained(name)(x)\n", 0),
        ("@app.post('/')\ndef f(x, name):\n    path = 'w/' + name\n    return AutoModel.from_pretrained(path)(x)\n", 0),
        ("@app.post('/')\ndef f(x):\n    path = 'w/' + NAME\n    return AutoModel.from_pretrained(path)(x)\n", 1),
        ("@lru_cache\ndef f(x):\n    return AutoModel.from_pretrained(NAME)(x)\n", 0),
        ("def f(xs):\n    for x in xs:\n        m = AutoModel.from_pretrained(NAME)\n        m(x)\n", 1),
        ("def f(xs):\n    for x in xs:\n        m = AutoModel.from_pretrained(x)\n        m(x)\n", 0),
        ("def f(xs):\n    for x in xs:\n        m = AutoModel.from_pretrained(NAME)\n        change(m)\n", 0),
        ("def f(xs):\n    for fold in xs:\n        m = AutoModel.from_pretrained(NAME)\n        m(fold)\n", 0),
        ("def predict(x):\n    m = AutoModel.from_pretrained(NAME)\n    return m(x)\n", 1),
        ("def predict(x):\n    m = AutoModel.from_pretrained(NAME)\n    return m(x)\n\npredict(1)\n", 0),
        ("def predict(args):\n    m = AutoModel.from_pretrained(NAME)\n    return m(x)\n", 0),
    ],
)
def test_what_is_loaded_again(code, count):
    assert len(list(repeated_loads(_file(code)))) == count


@pytest.mark.parametrize(
    ("code", "served"),
    [
        ("@router.get('/')\nasync def f(): ...\n", True),
        ("@client.get('/')\ndef f(): ...\n", False),
        ("def f(image): ...\n\ngr.Interface(fn=f, inputs='image')\n", True),
        ("def infer(image): ...\n", True),
        ("def infer(image, loader): ...\n", False),
        ("@click.command()\ndef infer(image): ...\n", False),
        ("def prepare(image): ...\n", False),
    ],
)
def test_what_serves_requests(code, served):
    assert (request_of(_file(code), 1) is not None) is served
