"""Results of `torch.compile` that nothing runs."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.compiled_unused import DROPPED, METHOD, SELF, UNREAD, UNRUN, unused


@pytest.mark.parametrize(
    ("snippet", "ways"),
    [
        ("torch.compile(model)", [DROPPED]),
        ("model = torch.compile(model)", []),
        ("for m in ms:\n    m = torch.compile(m)", [UNREAD]),
        ("def f(m):\n    m = torch.compile(m)", [UNREAD]),
        ("def f(m):\n    m = torch.compile(m)\n    return m", []),
        ("def f(m):\n    global m\n    m = torch.compile(m)", []),
        ("def f(m):\n    m = torch.compile(m)\n    return lambda x: m(x)", []),
        ("def f(m, x):\n    m = torch.compile(m)\n    m.eval()\n    return m.generate(x)", [METHOD]),
        ("def f(m, x):\n    m = torch.compile(m)\n    return m.forward(x)", []),
        ("def f(m, x):\n    for i in x:\n        m(i)\n        m = torch.compile(m)", []),
        ("class M(nn.Module):\n    def __init__(self):\n        self = torch.compile(self)", [SELF]),
        ("def can_compile(m):\n    torch.compile(m)", []),
        ("torch.compile(lambda x: x)", []),
        ("torch.compile(m, disable=True)", []),
        # Handed on before, and only asked for what the original has.
        ("def f(m):\n    t = Trainer(m)\n    m = torch.compile(m)\n    t.train()\n    m.save_pretrained(p)", [UNRUN]),
        ("def f(m):\n    o = torch.compile(m)\n    t(m)\n    return o.eval().state_dict()", [UNRUN]),
        ("def f(m):\n    m = torch.compile(m)\n    t = Trainer(m)\n    t.train()\n    m.save_pretrained(p)", []),
        ("def f(m):\n    m = torch.compile(m)\n    m.eval()\n    m.training_loop(x)", []),
        ("def f(m):\n    m = torch.compile(m)\n    m.eval()\n    return [m]", []),
        # Read by functions inside, whenever those run.
        ("def f(m):\n    m = torch.compile(m)\n    def g(x):\n        return m.generate(x)\n    return g", [METHOD]),
        ("def f(m):\n    def g(x):\n        return m.generate(x)\n    m = torch.compile(m)\n    return g", [METHOD]),
        ("def f(m):\n    m = torch.compile(m)\n    def g(x):\n        return m(x), m.generate(x)\n    return g", []),
        ("def f(m):\n    m = torch.compile(m)\n    def g():\n        return m\n    return g().generate", []),
        ("def f(m):\n    m = torch.compile(m)\n    def g():\n        nonlocal m\n        m.eval()\n    return g", []),
    ],
)
def test_what_becomes_of_a_compiled_function(snippet, ways):
    files = texts(snippet)
    assert [u.way for u in unused(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))] == ways
