"""Loops that look elements up, or count them, and what a default switches on."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import hot_at, texts

from torchperf_lint.facts.element_loops.elements import LOOPS, element_loop
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.indexing.sizing import sized

HEAD = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    def weight(self, x):
        return torch.reciprocal(x)

    def forward(self, x: torch.Tensor, y: torch.Tensor, table, names: list):
        x = self.net(x.cuda())
        y = y.cuda()
"""


def opened(code):
    files = texts(HEAD + indent(code, "        ") + "\n")
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


def doubts(code):
    """What speaks against a batched form of each element loop."""
    file = opened(code)
    found = (element_loop(file, spot) for spot in hot_nodes(file, *LOOPS))
    return [loop.doubt for loop in found if loop is not None]


SURE = {
    "a table looked up": "snr = torch.stack([table.snr[t] for t in y])",
    "a table made a tensor": "snr = torch.tensor([table.snr[t] for t in y])",
    "a matrix of counts": "for i in range(len(y)):\n    table.counts[y[i]][x.argmax(1)[i]] += 1",
    "counts by two indices": "p, c = x.argmax(1), torch.ones(3, 3)\nfor i in range(len(p)):\n    c[y[i], p[i]] += 1",
    "what is computed with": "w = self.weight(x)\nfor b in w:\n    b[torch.isinf(b)] = 0.0\nreturn (x * w).sum()",
    "what a test shows": "if isinstance(table, torch.Tensor):\n    for a, b in zip(x, table):\n        (a * b).sum()",
}


@pytest.mark.parametrize("code", SURE.values(), ids=SURE)
def test_nothing_speaks_against_one_operation(code):
    assert doubts(code) == [None]


UNSURE = {
    "entries that are used": "for t in y:\n    names.append(table.snr[t].mean() * 2)",
    "entries of a list that stay a list": "kept = [table.snr[t] for t in y]",
    "no count": "for i in range(len(y)):\n    table.out[y[i] :][x[i]] = x[i].sum()",
}


@pytest.mark.parametrize("code", UNSURE.values(), ids=UNSURE)
def test_what_may_be_a_list_leaves_a_doubt(code):
    assert None not in doubts(code)


def operands(code):
    file = opened(code)
    return [file.source(one.operand) for one in sized(file) if one.several]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("for i in range(len(y)):\n    table.m[y[i]][x[i]] += 1", ["y[i]", "x[i]"]),
        ("for i in range(len(y)):\n    table.m[y[i], x[i]] += 1", ["y[i]", "x[i]"]),
        ("for i in range(len(y)):\n    table.m[y[i]] += x[i]", []),
        ("for i in range(len(y)):\n    table.m[y[i]] = 1", []),
        ("if isinstance(table, list):\n    kept = [table[i] for i in y.nonzero().squeeze(1)]", ["i"]),
        ("kept = [table[i] for i in y.nonzero().squeeze(1)]", []),
    ],
)
def test_indices_that_are_one_number(code, expected):
    assert sorted(operands(code)) == sorted(expected)


LOOP = """
    def fit(model, loader, optimizer, {parameter}):
        for x in loader:
            loss = model(x)
            loss.backward()
            optimizer.step()
            if {test}:
                print(loss)  # <-
    """


@pytest.mark.parametrize(
    ("parameter", "test"),
    [
        ("verbose=1", "verbose > 0"),
        ("verbose=True", "verbose"),
        ("verbose=2", "verbose >= 1"),
        ("*, debug=True", "debug"),
    ],
)
def test_a_switch_that_is_on_by_default_makes_nothing_rare(parameter, test):
    assert hot_at(LOOP.format(parameter=parameter, test=test)) is not None


@pytest.mark.parametrize(
    ("parameter", "test"),
    [
        ("verbose=0", "verbose > 0"),
        ("verbose=False", "verbose"),
        ("verbose", "verbose"),
        ("verbose=1", "verbose > 1"),
        ("verbose=1", "args.verbose"),
        ("verbose=True", "verbose and step % 100 == 0"),
        ("every=100", "step % every == 0"),
    ],
)
def test_other_switches_do(parameter, test):
    assert hot_at(LOOP.format(parameter=parameter, test=test)) is None
