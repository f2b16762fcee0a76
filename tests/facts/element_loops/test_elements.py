"""Loops over elements of tensors: which are, and what speaks against doing all turns at once."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.doubts import comes_after_the_model
from torchperf_lint.facts.element_loops.elements import LOOPS, element_loop
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes

HEAD = """\
import random


def scale(row):
    return row * 2 / row.norm()


def place_of(t, schedule):
    found = (schedule == t).nonzero()
    return found[1 if len(found) > 1 else 0].item()


def nearest(t, schedule=None):
    return int(torch.argmin((schedule - t).abs()))


def kept(t, schedule):
    return schedule[(schedule == t).nonzero()]


def pair_score(x, tags, t):
    now = x[t, 0] * 2
    return now + x[t + 1, 0] * tags[t]


def part_score(x, ends, t):
    return x[t, : ends[t]].mean() * 2


def smoothed(h, x, t):
    return 0.5 * h + x[t]


def faded(x, t):
    x[t] *= 0.5
    return x[t - 1] * 2


def spread(x, n):
    return torch.ones(3, device=x.device) * n


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(4, 4)
        self.pad = 0

    def forward(self, x: torch.Tensor, y: torch.Tensor, lengths, boxes, pairs: list, tags: torch.LongTensor):
        x = x.to("cuda")
"""


def found(code):
    """The outermost element loop of a forward pass over `x` and `y`."""
    files = texts(HEAD + indent(code, "        ") + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    loops = (element_loop(file, spot) for spot in hot_nodes(file, *LOOPS))
    return next((loop for loop in loops if loop is not None), None)


SURE = [
    "n = y.sum(1)\nmask = x.new_ones(x.shape)\nfor i in range(x.size(0)):\n    mask[i, n[i]:] = 0",
    "n = y.sum(1)\nmask = torch.zeros_like(x)\nfor i in range(len(x)):\n    mask[i, :, : n[i] - 1] = True",
    "parts = x.split(1, 1)\nfor i in range(x.size(1)):\n    total += criterion(parts[i].squeeze(), y[:, i])",
    "parts = torch.unbind(x, 1)\nfor i in range(x.size(1)):\n    total += (parts[i] * y[:, i]).sum()",
    "near = x < y\nfor i in range(x.size(0)):\n    kept.append(x[i][near[i]].clamp(min=0))\nkept = torch.cat(kept)",
    "for i in range(x.size()[0]):\n    total += x[i].topk(3)[0].sum()",
    "out = torch.zeros(k, device=x.device)\nfor i in range(k):\n    out[i] = (x == i).sum()",
    "out = x.new_zeros((k, 3))\nfor i in range(k):\n    out[i] = torch.sum(x * i)",
    "n = x.size(0) // k\nfor i in range(n):\n    for j in range(k):\n"
    "        total += y[i, j] / x[i * k + j, i * k : (i + 1) * k].sum()",
    "wanted = y != 0\nfor i in range(x.size(1)):\n    total += x[:, i][wanted].sum()",
    "for i in range(x.size(0)):\n    out.append(x[i] * 2)",
    "for i in range(x.shape[1]):\n    total += x[:, i].sum()",
    "b, n = x.shape\nfor i in range(b):\n    total = total + x[i].sum() - 1",
    "n = len(x)\nfor i in range(0, n):\n    out[i] = x[i].softmax(0)",
    "for row in x:\n    total += row.sum()",
    "for i, row in enumerate(x):\n    out[i] = row / row.norm()",
    "for a, b in zip(x, y):\n    total += (a - b).abs().sum()",
    "out = [row.mean() * 2 for row in x]",
    "out = [scale(x[i]) for i in range(len(x))]",
    "for i in range(x.size(0)):\n    total += criterion(x[i], y[i])",
    "for row in x:\n    best = torch.maximum(best, row)",
    "for row in x:\n    row[row > 1] = 0\n    row[:2] = row.max()",
    "for i in range(x.size(0)):\n    for j in range(x.size(1)):\n        out[i, j] = x[i, j] * y[i, j]",
    "for row in x.flatten(1):\n    total += row.sum()",
    "low, best = torch.min(x, dim=1)\nout = [y[i] for i in best]",
    "for i in range(x.size(0)):\n    if x[i] > 0.5:\n        out[i] = y[i]",
    "order = x.argsort()\nfor i in range(x.size(0)):\n    x[order[i]] = i",
    "order = x.argsort(1)\nout = [y[i, order[i]] for i in range(x.size(0))]",
    "low, best = x.max(1)\nfor v in low:\n    total += v * 2",
    "for i in set(x.argmax(1)):\n    y[i] /= 2",
    "for i in range(x.size(0)):\n    out.append(x[i][y[i] > 0].max())",
    "for i in range(x.size(0)):\n    out.append(torch.sum(x[i][y[i] > 0]))",
    "places = [place_of(t, y) for t in x]",
    "for i, t in enumerate(x):\n    places[i] = nearest(t, schedule=y)",
    "places = [(y == t).nonzero().item() for t in x]",
    "places = [int((y == t).nonzero()[0]) for t in x]",
    "for t in x:\n    n = (y == t).nonzero()\n    assert n.size(0) == 1\n    n = 1 + n.item()\n    places.append(n)",
    "mask = torch.zeros(k, k, device=x.device)\nfor i in range(k):\n    mask[i, : i + 1] = 1",
    "mask = x.new_zeros(k, k)\nfor i in range(k):\n    low = max(i - 3, 0)\n    mask[i, low:i] = True",
    "for i, n in enumerate(lengths):\n    y[i][:n] = -100",
    "for i, n in enumerate(lengths):\n    y[i, n:] = self.pad",
    "order = x.argsort()\nfor i in range(x.size(0)):\n    for j in range(n):\n        z[i, j] = y[i, order[i][j]]",
]
SURE += [
    "for t in range(1, x.size(1)):\n    y[:, t] = x[:, t - 1] * 2 + x[:, t]",
    "z = torch.zeros_like(x)\nfor t in range(1, x.size(1)):\n    z[:, t] = x[:, t - 1] * 2 + x[:, t]",
    "for t in range(x.size(1) - self.pad):\n    total += (x[:, t + self.pad] - x[:, t]).abs().sum()",
    "for t in range(0, x.size(1), 4):\n    out.append(torch.cat((x[:, t + 3], x[:, t]), -1))",
    "for t in range(x.size(1) - 1):\n    total += (x[:, t + 1] - x[:, t]).abs().sum()",
    "for t in range(1, x.size(1)):\n    now, before = x[:, t], x[:, t - 1]\n    total += (now - before).abs().sum()",
    "for t in range(1, x.size(0)):\n    total += x[y[t - 1], y[t]] * x[t, torch.arange(n), y[t]]",
    "for t in range(x.size(0)):\n    total += y[tags[t]].sum() * x[t]",
    "mask = torch.zeros_like(x)\nfor h in range(0, k, 2):\n    for w in range(k):\n        mask[:, :, h, w] = 1",
    "mask = torch.zeros_like(x)\nfor h in range(k):\n    mask[h] = -1",
]
SURE += [
    "places = torch.randint(0, 9, (9,))\nfor i, j in enumerate(places):\n    total += x[i, j] * 2",
    "for row in x.unbind(0):\n    total += row.sum()",
    "y = torch.stack([row.sum() / (row.size(0) - 1) for row in x.unbind()])",
    "for row, other in zip(torch.unbind(x, dim=0), y):\n    total += (row * other).sum()",
    "score = sum([pair_score(x, y, t) for t in range(x.size(0) - 1)])",
    "for t in range(len(x) - 1):\n    out.append(pair_score(t=t, x=x, tags=y))",
]
SURE += [
    "b, n = x.shape[:2]\nfor i in range(b):\n    total += x[i].sum() * 2",
    "h, w = x.size()[-2:]\nfor i in range(w):\n    total += x[..., i].sum() * 2",
    "if k:\n    b, n, c = x.shape\nelse:\n    b, n = x.shape\nfor i in range(b):\n    total += x[i].sum() * 2",
    "k = min(x.shape[-1], y.shape[-1], k)\nfor t in range(k):\n"
    "    y[..., t] = x[..., -k + t] * (1 - t / k) + y[..., t] * (t / k)",
    "k = min(len(y), k)\nfor t in range(k):\n    y[t] = x[x.shape[0] - k + t] * (1 - t / k) + y[t] * t / k",
    "for i in range(len(x)):\n    total += x[i].sum() * random.uniform(0.9, 1.1)",
    "for i in range(len(x)):\n    k = round(float(x[i].sum()) * np.random.rand())\n    y[i][x[i].topk(k).indices] = -1",
    "for i in range(len(x)):\n    order = np.arange(9)\n    np.random.shuffle(order)\n    out.append(x[i, order[:k]])",
    "for i in range(len(x)):\n    if random.random() < 0.5:\n        y[i] = x[i].flip(0) * 2",
]
DOUBTFUL = [
    ("k = min(x.shape[-1], k)\nfor t in range(k):\n    x[..., t] = x[..., -k + t] + x[..., t]", "neighbours"),
    ("for t in range(len(x)):\n    k = k + 1\n    y[t] = x[-k + t] + y[t]", "goes from turn to turn"),
    ("for i in range(len(x)):\n    k = random.randint(1, 9)\n    out.append(x[i, :k].softmax(0))", "different lengths"),
    ("for i in range(len(x)):\n    out.append(np.linalg.norm(x[i] * 2))", "each turn calls"),
    ("score = sum(part_score(x, y, t) for t in range(len(x)))", "different lengths"),
    ("for t in range(len(x)):\n    h = smoothed(h, x, t)", "`h` goes from turn to turn"),
    ("rows = [faded(x, t) for t in range(len(x))]", "writes into"),
    ("near = x < y\nfor i in range(x.size(0)):\n    kept.append(x[i][near[i]].clamp(min=0))", "different lengths"),
    ("parts = x.split(pairs, 1)\nfor i in range(x.size(1)):\n    total += parts[i].sum() * y[i]", "comes from a list"),
    ("for i in range(x.size(0)):\n    out.append(self.encode(x[i]))", "runs the module"),
    ("for t in x:\n    n = (y == t).nonzero()\n    first = n[0].item()\n    out.append(y[n])", "a different number"),
    ("for t in range(x.size(1)):\n    h = 0.9 * h + x[:, t]", "`h` goes from turn to turn"),
    ("for t in range(x.size(1)):\n    x[:, t] = x[:, t - 1] * 2 + x[:, t]", "neighbours"),
    ("for t in range(1, x.size(1)):\n    x[:, t].add_(x[:, t - 1] * 2)", "neighbours"),
    ("for t in range(1, x.size(1)):\n    out.append(x[:, t] * x[:, t - t % 2])", "neighbours"),
    ("for t in range(1, x.size(0)):\n    best = torch.logsumexp(best[:, None] + x[t], 1)", "`best` goes from turn"),
    ("for t in range(1, x.size(0)):\n    best, path = (best[..., None] + x[t]).max(1)", "`best` goes from turn"),
    ("for t in range(1, x.size(0)):\n    row = x[t - 1]\n    x[t] = row * 2 + x[t]", "neighbours"),
    ("near = x < y\nfor i in range(x.size(0)):\n    out.append(x[near[i]] * 2)", "different lengths"),
    ("for i in range(x.size(0)):\n    out.append(x[y[i], y[i] > 0] * 2)", "different lengths"),
    ("for t in range(1, x.size(1)):\n    out.append(x[:, t] * x[:, k - t])", "neighbours"),
    ("for t in range(1, x.size(1)):\n    k = k * 2\n    out.append(x[:, t] * x[:, t - k])", "goes from turn to turn"),
    ("for t in range(1, x.size(1)):\n    k = f(t)\n    out.append(x[:, t] * x[:, t - k])", "neighbours"),
    ("for t in range(1, x.size(1)):\n    x[:, t][0] = x[:, t - 1][0] * 2 + y[:, t][0]", "neighbours"),
    ("z = x\nfor t in range(1, x.size(1)):\n    z[:, t] = x[:, t - 1] * 2 + x[:, t]", "neighbours"),
    ("z = x.view(k, -1)\nfor t in range(1, x.size(1)):\n    z[:, t] = x[:, t - 1] * 2 + x[:, t]", "neighbours"),
    ("z = x.T\nfor t in range(1, x.size(1)):\n    x[:, t] = z[t - 1] * 2 + x[:, t]", "neighbours"),
    ("for t in range(1, x.size(1)):\n    torch.mul(x[:, t - 1], x[:, t], out=x[:, t])", "neighbours"),
    ("for t in range(1, x.size(1)):\n    out.append(x[:, t] * x[:, : t + 1].sum())", "neighbours"),
    ("for i in range(x.size(0) - 1):\n    out.append(y[int(x[i]) : int(x[i + 1])].sum())", "different lengths"),
    ("for i, row in enumerate(x):\n    out.append(x[i] * pairs[i + 1])", "neighbours"),
    (
        "for i in range(x.size(0) - 1):\n    n = x[i + 1].item() - x[i].item()\n    out.append(y.narrow(0, 0, n) * 2)",
        "neighbours",
    ),
    ("for row in x:\n    s = row.sum() + total\n    total = total + s", "`total` goes from turn to turn"),
    ("for i in range(x.size(0)):\n    out.append(x[i, : lengths[i]].mean())", "different lengths"),
    ("for i in range(x.size(0)):\n    out.append(x[i][y[i] > 0].mean())", "different lengths"),
    ("for i in range(x.size(0)):\n    out.append(x[i].nonzero().sum())", "a different number"),
    ("for i in range(x.size(0)):\n    out.append(x[i].sum().expand(y[i]))", "sizes that differ"),
    ("for t, h in x:\n    out.append(torch.arange(h) * 2)", "sizes that differ"),
    ("for n in x:\n    total += y[0].repeat(n).sum()", "sizes that differ"),
    ("rows = [kept(t, y) for t in x]", "each turn calls `kept`"),
    ("rows = [(y == t).nonzero()[0] for t in x]", "a different number"),
    ("for i in range(x.size(0)):\n    out.append(x[i] * pairs[i])", "comes from a list"),
    ("for row in x:\n    out.append(boxes.refine(row * 2))", "of which nothing is known"),
    ("for row in x:\n    if row.sum() > 1:\n        break", "left early"),
    ("# one by one, to save memory\nfor row in x:\n    out.append(row * 2)", "memory"),
    ("for i in range(x.size(0)):\n    out.append((x[i, :, None] - y).sum())", "memory"),
    ("low, best = x.max(1)\nout = [pairs[i] for i in best]", "comes from a list"),
    ("for head in range(x.size(1)):\n    total += x[:, head].sum()", "handful"),
]
NONE = [
    "k = min(len(pairs), k)\nfor t in range(k):\n    out.append(x[t] * 2)",
    "b, n = pairs.shape[:2]\nfor i in range(b):\n    out.append(pairs[i] * 2)",
    "for i in range(len(x)):\n    order = list(range(9))\n    out.append(x[i, k])",
    "places = torch.randint(0, 9, (9,))\nfor i, j in enumerate(places):\n    total += pairs[i][j] * 2",
    "places = torch.randint(0, 9, (9,))\nfor i, j in enumerate(places):\n    total += x[i, :j].sum() * 2",
    "for i, j in enumerate(pairs):\n    total += x[i, j] * 2",
    "score = sum([pair_score(x, y, t) for t in range(n)])",
    "rows = [spread(x, t) for t in range(len(x))]",
    "rows = [smoothed(x, pairs, t) for t in range(len(x))]",
    "for t in range(1, x.size(0)):\n    row = x[t - 1]\n    x = torch.cat([x, row * 2])",
    "for p in x.parameters():\n    total += p.sum()",
    "for p, q in zip(x.parameters(), y.parameters()):\n    p.data.copy_(q.data * 2 + p.data)",
    "q1, q2 = [row.mean() * 2 for row in x]",
    "mask = torch.zeros_like(x)\nfor h in range(k):\n    mask[h] = h",
    "mask = torch.zeros_like(x)\nfor h in range(k):\n    mask[:, pairs[h]] = 1",
    "mask = torch.zeros(k)\nfor h in range(k):\n    mask[h] = 1",
    "for h in range(k):\n    lengths[h] = 1",
    "for i in range(x.size(0)):\n    mask[i, pairs[i]:] = 0",
    "for i, n in enumerate(lengths):\n    y[i][:n] = other[i]",
    "for i, n in enumerate(lengths):\n    y[n][:i] = 0",
    "for i, n in enumerate(lengths):\n    pairs[i][:n] = 0",
    "for i in range(3):\n    total += x[:, i].sum()",
    "for i in range(n):\n    total += x[:, i].sum()",
    "for layer in self.layers:\n    x = layer(x)",
    "for row in pairs:\n    total += row.sum()",
    "for a, b in zip(x, pairs):\n    total += a.sum() * b",
    "out = [row for row in x]",
    "for row in x.unbind(-1):\n    total += row.sum()",
    "for row in self.encode(x).unbind(dim=2):\n    total += row.sum()",
    "for row in torch.unbind(x, 1):\n    total += row.sum()",
    "q, k, v = [row.float() * 2 for row in x.unbind(0)]",
    "for row in x.split(1):\n    total += row.sum()",
    "for i in range(x.size(0)):\n    names.append(str(i))",
    "for i in range(x.size(0)):\n    rows.append(x[i].unsqueeze(0))",
    "for part in self.encode(x):\n    total += part.sum()",
    "for i in range(len(pairs)):\n    total += pairs[i].sum()",
    "for row in x.cpu():\n    total += row.sum()",
    "out = [pairs[i] for i in x.max(1)[1].tolist()]",
    "first, rest = self.encode(x)\nfor part in first:\n    total += part.sum()",
]


@pytest.mark.parametrize("code", SURE)
def test_turns_that_can_be_done_at_once(code):
    loop = found(code)
    assert loop is not None
    assert loop.doubt is None


@pytest.mark.parametrize(("code", "doubt"), DOUBTFUL)
def test_what_speaks_against_it(code, doubt):
    loop = found(code)
    assert loop is not None
    assert loop.doubt is not None
    assert doubt in loop.doubt


@pytest.mark.parametrize("code", NONE)
def test_other_loops(code):
    assert found(code) is None


@pytest.mark.parametrize(
    ("name", "after"),
    [("log_images", True), ("train_and_log", True), ("viterbi_decode", True), ("decoder", False)]
    + [(f"compute_log_{what}", False) for what in ("prob", "probs", "likelihood", "partition_function")],
)
def test_functions_that_come_after_the_model_by_their_names(name, after):
    assert comes_after_the_model(name) is after


@pytest.mark.parametrize(
    ("name", "kind", "after"),
    [("sample", "", True), ("sample", "forward", True), ("sample_features", "step", False), ("detect", "step", True)],
)
def test_a_training_step_samples_what_it_learns_from(name, kind, after):
    assert comes_after_the_model(name, kind) is after


@pytest.mark.parametrize(
    ("bound", "border"), [("k", True), ("min(len(x), 9)", True), ("len(x)", False), ("x.shape[0]", False)]
)
def test_a_border_is_no_longer_than_a_number_says(bound, border):
    loop = found(f"k = min(x.shape[0], 4)\nfor t in range({bound}):\n    y[t] = x[t] * 2")
    assert loop.border is border


def test_turns_that_read_numbers():
    assert found("for i in range(len(x)):\n    table[x[i, 0].item()] += 1").reads
    assert found("low, best = torch.min(x, dim=1)\nout = [y[i] for i in best]").reads
    assert found("places = [place_of(t, y) for t in x]").reads
    assert not found("for i in range(len(x)):\n    total += x[i].sum()").reads


def test_a_comprehension_over_what_it_binds_ends():
    assert found("rows = [[row for row in row] for row in lengths]\nreturn rows") is None
    assert found("for row in [row for row in row]:\n    print(row * 2)") is None


def test_what_is_made_of_itself_ends():
    """`row` is what it was, less its first element, in each turn: whether it is one tensor is asked of itself."""
    rows = "for row in x:\n    row = row[1:]\n    while len(row):\n        row = row[1:]\n"
    elements = "    for i in range(len(row)):\n        out.append(torch.sigmoid(row[i]))\n"
    files = texts(HEAD + indent(rows + elements, "        "))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert sum(element_loop(file, spot) is not None for spot in hot_nodes(file, *LOOPS)) >= 1
