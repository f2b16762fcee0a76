"""What a join makes longer, over which loop, and whether each turn needs the whole."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.growth import JOINS, growth_of
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile


def growth(code, head="for b in loader:"):
    """The growth of the only join in the body of a loop of an evaluation."""
    body = indent(code, "        ")
    files = texts(f"@torch.no_grad()\ndef predict(model, loader, names):\n    {head}\n{body}\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    sites = list(file.calls_of(*JOINS))
    assert len(sites) == 1
    return growth_of(file, sites[0])


GROWS = [
    "x = torch.cat([x, b])",
    "x = torch.cat((b, x), dim=1)",
    "x = np.concatenate([x, b])",
    "x = np.append(x, b)",
    "x = torch.cat([x, b]).contiguous()",
    "x: torch.Tensor = torch.hstack([x, b])",
    "x, n = torch.cat([x, b]), n + 1",
    "x = b if x is None else torch.cat([x, b])",
    "if x is None:\n    x = b\nelse:\n    x = torch.cat([x, b])",
    "if x is None:\n    x = b[:0]\nx = torch.cat([x, b])",
    "self.x = torch.cat([self.x, b])",
    "d['x'] = torch.cat([d['x'], b])",
    "x = torch.cat([x, b])\nx = x.cpu()",
    "for c in b:\n    x = torch.cat([x, c])",
    "for i in range(len(x)):\n    x[i] = torch.cat([x[i], b[i]])",
    "if x is None:\n    x = b\nelse:\n    for i, _ in enumerate(x):\n        x[i] = torch.cat([x[i], b[i]])",
    "x = torch.cat([x, b])\nprint(len(x), x.shape)",
]
NEEDED = [
    "x = torch.cat([x, b])\ny = model(x)",
    "x = torch.cat([x, b])\nx = x[order]",
    "y = model(b, x)\nfor i in range(len(x)):\n    x[i] = torch.cat([x[i], y[i]])",
    "x = torch.cat([x, b])\ntorch.cuda.empty_cache()",
]
NOTHING = [
    "k = b.name\nd[k] = torch.cat([d[k], b])",
    "y = torch.cat([x, b])",
    "x = model(b)\nfor i in range(len(x)):\n    x[i] = torch.cat([x[i], b[i]])",
    "for i in range(len(b)):\n    b[i] = torch.cat([b[i], y[i]])",
    "for i in range(n):\n    x[i] = torch.cat([x[i], b[i]])",
    "b = torch.cat([b, x])",
    "x = model(b)\nx = torch.cat([x, b])",
    "x = torch.cat([x, b])\nx = x[-8:]",
    "x = torch.cat([x, b])[-8:]",
    "x = torch.cat([x, x])",
    "x = torch.stack([x, b])",
    "x = model(torch.cat([x, b]))",
    "x = up(x)\nx = torch.cat([x, b])",
    "d[b] = torch.cat([d[b], y])",
    "x = [b, b]\ny = torch.cat(x)",
    "y.append(b)\nx.pop(0)\nz = torch.cat(x)",
    "x.append(b)\nx.pop(0)\nz = torch.cat(x)",
    "torch.cat([x, b])",
    "x += torch.cat([x, b])",
]


@pytest.mark.parametrize("code", GROWS)
def test_what_grows(code):
    found = growth(code)
    assert found is not None
    assert not found.needed
    assert not found.listed
    assert found.loop is not None


@pytest.mark.parametrize("code", NEEDED)
def test_what_every_turn_needs(code):
    found = growth(code)
    assert found is not None
    assert found.needed


@pytest.mark.parametrize("code", NOTHING)
def test_what_does_not_grow(code):
    assert growth(code) is None


@pytest.mark.parametrize("change", ["x.append(b)", "x += [b]", "x.extend(b)", "x.insert(0, b)"])
def test_a_list_that_every_turn_joins(change):
    found = growth(f"{change}\ny = torch.cat(x)")
    assert found is not None
    assert (found.target, found.listed, found.needed) == ("x", True, False)


@pytest.mark.parametrize(
    ("head", "grows"),
    [
        ("for i in range(8):", False),
        ("for i in range(9):", True),
        ("for layer in self.layers:", False),
        ("for name in names:", False),
        ("for i in range(envs.action_space[0].shape):", False),
        ("for i in range(len(self.spaces)):", True),
        ("for row in table:", True),
        ("for i in range(x.shape[0]):", True),
        ("while i < n:", True),
    ],
)
def test_loops_of_a_few_turns_do_not_count(head, grows):
    assert (growth("x = torch.cat([x, b])", head) is not None) is grows


def test_a_loop_over_batches_counts_whatever_its_names():
    assert growth("x = torch.cat([x, features])", "for features, names in loader:") is not None


def test_the_loop_over_which_it_grows():
    found = growth("x = b[:0]\nfor c in b:\n    for layer in layers:\n        x = torch.cat([x, layer(c)])")
    assert found is not None
    assert found.loop.target.id == "c"


PARTS = "for i in range(len(envs.{of})):\n    if {first}:\n        x = b\n    else:\n        x = torch.cat([x, b])"


@pytest.mark.parametrize(
    ("of", "first", "grows"),
    [
        ("action_space", "i == 0", False),
        ("action_space", "x is None", True),  # never again, in a later batch
        ("rows", "i == 0", True),
    ],
)
def test_what_the_first_turn_begins_anew_does_not_grow_further_out(of, first, grows):
    assert (growth(PARTS.format(of=of, first=first)) is not None) is grows


@pytest.mark.parametrize(
    ("begun", "grows"),
    [
        ("torch.Tensor().to(device)", True),
        ("torch.tensor([]).cuda()", True),
        ("torch.empty((b.shape[0], 0), device=b.device)", True),
        ("b.new_zeros(0, 4)", True),
        ("torch.zeros(4)", False),
        ("b", False),
    ],
)
def test_what_begins_empty_stands_for_a_list(begun, grows):
    found = growth(f"x = {begun}\nfor layer in layers:\n    x = torch.cat([x, layer(b)])", "if b is not None:")
    assert (found is not None) is grows


def test_what_begins_empty_and_is_read_each_turn_is_no_list():
    code = "x = torch.Tensor()\nfor layer in layers:\n    x = torch.cat([x, layer(x)])"
    assert growth(code, "if b is not None:") is None


@pytest.mark.parametrize(
    ("head", "turn", "grows"),
    [
        ("while len(x) < n:", "b = prior.sample(n)", False),
        ("while x.shape[0] < n:", "b = torch.rand(n)", False),
        ("while have < n:", "b = np.random.uniform(n)\nhave += len(b)", False),
        ("while have < n:", "b = torch.multinomial(p, 1)\nhave += 1", True),
        ("while len(x) < n:", "b = model(x)", True),
    ],
)
def test_rejection_sampling_takes_few_turns(head, turn, grows):
    assert (growth(f"{turn}\nx = torch.cat([x, b])", head) is not None) is grows
