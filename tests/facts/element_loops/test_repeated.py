"""Host reads that loops repeat: element after element, or the same numbers each turn."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import copies_in_loops, item_readings, items_in_loops
from torchperf_lint.model import Confidence


def found(code, head="def measure(x: torch.Tensor, y: torch.Tensor, names, model):\n    x = x.to('cuda')\n"):
    """(what one copy would fetch, whether its elements are read) of each read."""
    files = texts(head + indent(code, "    ") + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    reads = [reading.read.repeated for reading in (*items_in_loops(file), *copies_in_loops(file))]
    return [(file.source(again.whole), again.element) for again in reads]


@pytest.mark.parametrize(
    ("code", "whole"),
    [
        ("for i in range(len(x)):\n    out.append(x[i].item())", "x"),
        ("for row in x:\n    out.append(row.max().item())", "x"),
        ("for i, row in enumerate(x):\n    out[i] = row.cpu()", "x"),
        (
            "kept = names['y'].masked_select(x)\nfor a, t in zip(x, names['y']):\n    out.append(t[t != 0].cpu())",
            "names['y']",
        ),
        ("for name, row in zip(names, x):\n    out[name] = row.item()", "x"),
        ("for i in range(n):\n    ids = x[i].cpu()\n    for t in range(m):\n        out.append(ids[t].item())", "x"),
        ("for i, name in enumerate(names):\n    at = start + i - 1\n    out.append(x[0, at, name].item())", "x"),
        ("for i, name in enumerate(names):\n    out[name] = x[i].item()", "x"),
        ("for i in range(n):\n    a, b = names[i], names[i + 1]\n    out.append(x[a:b].cpu())", "x"),
        ("for i in range(n):\n    out.append(x[names[i] : names[i + 1]].cpu())", "x"),
        ("for i in range(n):\n    for j in range(m):\n        out.append(x[i, j].item())", "x"),
        ("for row in x:\n    row = row[row > 0]\n    out.append(row.cpu().numpy())", "x"),
        ("for i in range(n):\n    out.append((x[i] > 3).item())", "x"),
        ("for i in range(n):\n    out.append((0.5 <= x[i]).item())", "x"),
        ("for t in x:\n    out.append((t / 1000).item())", "x"),
        ("for i, t in enumerate(x):\n    t = t.expand(4)\n    t = (1000 - t) / 1000\n    out.append(t[0].item())", "x"),
        ("for i in range(n):\n    out.append((1.0 - 2 * x[i]).item())", "x"),
        ("for t in x:\n    y = model.step(model(y), t, y)[0]\n    out.append(t.item())", "x"),
        ("best = x.max(dim=1)\nfor i in range(n):\n    out.append(best.values[i].item())", "best.values"),
        (
            "k = 0\nfor name in names:\n    t, h = x[k][0], x[k][1]\n    k += 1\n    out.append(h.item())",
            "x",
        ),
        ("k = 0\nfor name in names:\n    if name:\n        out.append(x[k].item())\n        k += 1", "x"),
        ("return {name: x[i].item() for i, name in enumerate(names)}", "x"),
        ("for i in range(n):\n    keep = x[i] > 0.5\n    row = x[i][keep]\n    out.append(row.cpu())", "x"),
        ("if isinstance(names, torch.Tensor):\n    for item in names:\n        out.append(item.item())", "names"),
    ],
)
def test_one_copy_fetches_all_elements(code, whole):
    assert found(code) == [(whole, True)]


@pytest.mark.parametrize(
    ("code", "whole"),
    [
        ("return [f(x.detach().cpu().numpy()).ppf(q) for q in names]", "x.detach()"),
        ("for name in names:\n    out[name] = x.sum().item()", "x.sum()"),
    ],
)
def test_the_same_numbers_are_read_once(code, whole):
    assert found(code) == [(whole, False)]


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(3):\n    out.append(x[i].item())",
        "for axis in range(n):\n    out.append(x[axis].item())",
        "for i in range(n):\n    out.append((x[i] > y).item())",
        "for i in range(n):\n    out.append((x[i] * y).item())",
        "for t in x:\n    model.step()\n    out.append(t.item())",
        "for _ in names:\n    x = x * y\n    out.append(x.sum().item())",
        "for i in range(n):\n    x[:, i].mul_(y)\n    out.append(x[0, i].item())",
        "for _ in names:\n    x += y\n    out.append(x.sum().item())",
        "for i in range(n):\n    x[i] = y[i] * 2\n    out.append(x[0].item())",
        "for _ in names:\n    x.mul_(y)\n    out.append(x.sum().item())",
        "for name in names:\n    update(x)\n    out.append(x.sum().item())",
        "for row in x:\n    out.append(model(row).cpu())",
        "for name in names:\n    out.append(torch.rand(4, device='cuda').cpu())",
        "for name in names:\n    out.append(x.bernoulli().cpu())",
        "for name in names:\n    if name == 'last':\n        out.append(x.item())\n        break",
        "for i, name in enumerate(names):\n    if i == k:\n        out.append(x.sum().item())",
        "for part in [x, y]:\n    out.append(part.item())",
        "for part in x.split(4):\n    out.append(part.cpu())",
        "for i in names:\n    out.append(x[i].item())",
        "for i in range(n):\n    a, b = names.pop(), names.pop()\n    out.append(x[a:b].cpu())",
        "for i in range(n):\n    out.append(x[: i + 1].cpu())",
        "k = 0\nfor name in names:\n    k = place(name, k)\n    out.append(x[k].item())",
        "k = 0\nfor name in names:\n    k += len(name)\n    out.append(x[k].item())",
        "x = x.cpu()\nfor i in range(n):\n    out.append(x[i].item())",
        "for i in range(n):\n    torch.add(y, 1, out=x[i])\n    out.append(x[i].item())",
        "for i in range(n):\n    kept = nms(x[i], y[i], 0.5)\n    row = x[i][kept]\n    out.append(row.cpu())",
    ],
)
def test_other_loops_repeat_nothing(code):
    assert found(code) == []


@pytest.mark.parametrize(
    "head",
    [
        "def prepare_boxes(x: torch.Tensor, out):\n    x = x.to('cuda')\n",
        "def from_tensor(x: torch.Tensor, out):\n    x = x.to('cuda')\n",
        "class A:\n  def __init__(self, x: torch.Tensor, out):\n    x = x.to('cuda')\n",
        "class Crops(torch.utils.data.Dataset):\n  def pick(self, x: torch.Tensor, out):\n    x = x.to('cuda')\n",
        "def _unused(x: torch.Tensor, out):\n    x = x.to('cuda')\n",
        "class CropsDataset:\n  def pick(self, x: torch.Tensor, out):\n    x = x.to('cuda')\n",
        "if True:\n    x = torch.ones(9).to('cuda')\n",
    ],
)
def test_set_up_and_the_preparing_of_data_are_left_alone(head):
    assert found("for i in range(len(x)):\n    out.append(x[i].item())", head) == []


def test_a_function_that_only_set_up_calls_is_set_up():
    code = "for i in range(len(x)):\n    out.append(x[i].item())\nreturn out\n"
    head = "def levels(x: torch.Tensor, out):\n    x = x.to('cuda')\n"
    called = "\n\nclass A:\n    def __init__(self, x):\n        self.levels = levels(x, [])\n"
    assert found(code, head)
    files = texts(head + indent(code, "    ") + called)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert items_in_loops(file) == ()


def test_processors_of_logits_work_on_the_device():
    head = "class NoRepeatLogitsProcessor:\n  def __call__(self, x: torch.Tensor, out):\n    x = x.to('cuda')\n"
    files = texts(head + "    for i in range(len(x)):\n        out.append(x[i].item())\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    reads = [reading.read for reading in item_readings(file)]
    assert [(read.hot.kind, file.source(read.repeated.whole)) for read in reads] == [("rollout", "x")]


def test_what_is_named_for_logits_works_on_the_device():
    head = "class NoRepeatLogitsProcessor:\n  def apply(self, x: torch.Tensor, out):\n    x = x.to('cuda')\n"
    assert found("for i in range(len(x)):\n    out.append(x[i].item())", head)


@pytest.mark.parametrize(
    ("head", "confidence"),
    [
        ("def total(x: torch.Tensor):\n", Confidence.POSSIBLE),
        ("def total(y):\n    x = torch.exp(y)\n", Confidence.LIKELY),
        ("def total(x: torch.Tensor):\n    x = x.to('cuda')\n", Confidence.LIKELY),
    ],
)
def test_an_annotation_alone_in_code_that_is_not_hot_is_a_guess(head, confidence):
    files = texts(head + "    return [row.item() for row in x]\n\nmodel.cuda()\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [reading.read.value.confidence for reading in items_in_loops(file)] == [confidence]


@pytest.mark.parametrize(
    ("code", "again"),
    [
        ("best = x.argmax()\nfor i in range(n):\n    out.append((i != best).item())", [("best", False)]),
        ("best = x.argmax()\nfor i in range(n):\n    best = best + 1\n    out.append((i != best).item())", []),
        ("best = x.argmax()\nfor i in range(n):\n    best += i\n    out.append((i != best).item())", []),
    ],
)
def test_a_number_is_compared_anew_each_turn(code, again):
    assert found(code) == again


@pytest.mark.parametrize(
    ("test", "after", "told"),
    [
        ("step % 100 == 0", "", False),
        ("step % 100 == 0", "logged = shown(model(x))", False),
        ("loss > best", "", True),
        ("step % 100 == 0", "for _ in names:\n        logged = shown(model(x))", False),
    ],
)
def test_what_a_training_logs_now_and_then_is_no_loop_to_mend(test, after, told):
    head = "def shown(x: torch.Tensor, out=()):\n    x = x.to('cuda')\n"
    called = f"""

def train(model, loader, optimizer, names, best):
    for step, x in enumerate(loader):
        loss = model(x).mean()
        loss.backward()
        optimizer.step()
        if {test}:
            print(shown(model(x)))
    {after}
"""
    files = texts(head + "    for i in range(len(x)):\n        out.append(x[i].item())\n    return out\n" + called)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert bool(items_in_loops(file) or item_readings(file)) == told
