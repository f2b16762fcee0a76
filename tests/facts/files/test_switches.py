"""Who decides that a switch for the whole process is thrown, and whether anything runs the code."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import asked_for, is_context, ordinary, reached, switched_back
from torchperf_lint.facts.processes.environment import settings_of
from torchperf_lint.facts.syntax.syntax import parse


def site_of(snippet, callee="torch.manual_seed"):
    """The only call of `callee` in a file of its own."""
    files = texts(snippet)
    sites = list(SourceFile(Project.of_texts(files), "a.py", files["a.py"]).calls_of(callee))
    assert len(sites) == 1
    return sites[0]


ORDINARY = [
    "torch.manual_seed(0)",
    "def main():\n    torch.manual_seed(0)",
    "if __name__ == '__main__':\n    torch.manual_seed(0)",
    "if torch.cuda.is_available():\n    torch.manual_seed(0)",
    "if not torch.cuda.is_available() or rank == 0:\n    print()\nelse:\n    torch.manual_seed(0)",
    "if torch.cuda.device_count() > 1:\n    torch.manual_seed(0)",
    "if True:\n    torch.manual_seed(0)",
    "if args.distributed:\n    torch.manual_seed(0)",
    "if args.local_rank != -1:\n    torch.manual_seed(0)",
    "if local_rank >= 0:\n    torch.manual_seed(0)",
    "if device_type == 'cuda':\n    torch.manual_seed(0)",
    "for x in xs:\n    with f():\n        torch.manual_seed(0)",
    "def restrict(x):\n    torch.manual_seed(0)",
    "def start(world_size):\n    if world_size == 1:\n        return\n    torch.manual_seed(0)",
    "def start(x):\n    if x is None:\n        raise ValueError\n    torch.manual_seed(0)",
    "def start(x):\n    torch.manual_seed(0)\n    if x:\n        return",
    "def checkpointed(x):\n    torch.manual_seed(0)",
    "if torch.manual_seed(0):\n    pass",
]
ASKED_FOR = [
    "if args.slow:\n    torch.manual_seed(0)",
    "if args.fast:\n    pass\nelse:\n    torch.manual_seed(0)",
    "x = torch.manual_seed(0) if slow else None",
    "if torch.cuda.is_available() and slow:\n    torch.manual_seed(0)",
    "try:\n    f()\nexcept RuntimeError:\n    torch.manual_seed(0)",
    "match mode:\n    case 'slow':\n        torch.manual_seed(0)",
    "def f(debug=False):\n    if not debug:\n        return\n    torch.manual_seed(0)",
    "def enable_determinism():\n    torch.manual_seed(0)",
    "def start(compiler):\n    if compiler.works():\n        return\n    torch.manual_seed(0)",
    "def start(c):\n    if c.works():\n        f()\n        return None\n    with f():\n        torch.manual_seed(0)",
    "def check_nan():\n    torch.manual_seed(0)",
    "class DebugRun:\n    def start(self):\n        torch.manual_seed(0)",
    "def debug():\n    def inner():\n        torch.manual_seed(0)",
]
RANKS = [
    "rank == 0",
    "args.local_rank in [-1, 0]",
    "dist.get_rank() == 0",
    "self._rank != -1",
    "get_local_rank() > -1",
    "opt.global_rank >= 0",
]
NO_RANKS = [
    "args.lora_rank > 0",
    "args.lora_rank == 0",
    "args.rank != 0",
    "args.rank > 0",
    "args.rank == 8",
    "lowrank == 0",
    "rank in ranks",
    "matrix_rank(x) == 0",
]
"""What is named a rank, and is that of a matrix, or of some processes only."""


@pytest.mark.parametrize("snippet", ORDINARY)
def test_nobody_asks_for_it(snippet):
    site = site_of(snippet)
    assert not asked_for(site.file, site.call, site.record.function)


@pytest.mark.parametrize("snippet", ASKED_FOR)
def test_somebody_asks_for_it(snippet):
    site = site_of(snippet)
    assert asked_for(site.file, site.call, site.record.function)


@pytest.mark.parametrize("test", [*RANKS, "self.is_main_process", "world_size > 1", "torch.cuda.is_available()"])
def test_what_holds_in_ordinary_runs(test):
    assert ordinary(parse(test).body[0].value)


@pytest.mark.parametrize("test", [*NO_RANKS, "flag", "not flag", "rank == 0 and f", "torch.cuda.is_available() or f"])
def test_what_is_a_choice(test):
    assert not ordinary(parse(test).body[0].value)


@pytest.mark.parametrize(
    ("snippet", "expected"),
    [
        ("torch.manual_seed(0)", True),
        ("def main():\n    torch.manual_seed(0)", True),
        ("def seed_everything():\n    torch.manual_seed(0)", True),
        ("@app.command()\ndef begin():\n    torch.manual_seed(0)", True),
        ("def f():\n    torch.manual_seed(0)\n\nf()", True),
        ("def f():\n    torch.manual_seed(0)", False),
        ("class A(nn.Module):\n    def forward(self, x):\n        torch.manual_seed(0)", True),
        ("class A:\n    def __init__(self):\n        torch.manual_seed(0)", True),
        ("class A:\n    def offered(self):\n        torch.manual_seed(0)", False),
        ("def main():\n    def inner():\n        torch.manual_seed(0)", True),
        ("def offered():\n    def inner():\n        torch.manual_seed(0)", False),
    ],
)
def test_whether_the_project_runs_it(snippet, expected):
    site = site_of(snippet)
    assert reached(site.file, site.record.function) is expected


def test_what_is_switched_back():
    site = site_of("def f():\n    torch.manual_seed(0)\n    torch.cuda.set_sync_debug_mode('default')")
    off = frozenset({"default", 0})
    assert switched_back(site.file, site.record.function, "set_sync_debug_mode", off)
    assert not switched_back(site.file, site.record.function, "set_sync_debug_mode", frozenset({0}))
    assert not switched_back(site.file, 0, "set_sync_debug_mode", off)


def test_what_a_with_statement_enters():
    entered = site_of("def f():\n    with torch.manual_seed(0):\n        pass")
    assert is_context(entered.file, entered.call, entered.record.function)
    called = site_of("with g(torch.manual_seed(0)):\n    pass")
    assert not is_context(called.file, called.call, called.record.function)


@pytest.mark.parametrize(
    ("code", "values"),
    [
        ("os.environ['A'] = '1'", ["1"]),
        ("environ['A'] = '2'", ["2"]),
        ("os.environ['B'] = os.environ['A'] = '1'", ["1"]),
        ("os.environ.setdefault('A', '1')", ["1"]),
        ("os.putenv('A', '1')", ["1"]),
        ("os.environ.update({'B': '0', 'A': '1'})", ["1"]),
        ("os.environ.update(dict(A='1'), A='2')", ["1", "2"]),
        ("os.environ |= {'A': '1'}", ["1"]),
        ("def f():\n    os.environ['A'] = '1'\n\nos.environ['A'] = '2'", ["1", "2"]),
        ("os.environ['B'] = '1'", []),
        ("other['A'] = '1'", []),
        ("os.environ.get('A', '1')", []),
        ("os.environ.update(**settings)", []),
        ("os.environ.update({**settings, name: '1'})", []),
        ("os.environ['A'] == '1'", []),
        ("def f(environ):\n    environ['A'] = '1'", []),
    ],
)
def test_where_a_variable_of_the_environment_is_set(code, values):
    files = texts(code, "import os\nfrom os import environ\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [value.value for _, value in settings_of(file, "A")] == values
