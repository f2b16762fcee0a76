"""What to write instead of reading a number at once."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.project import Project
from torchperf_lint.facts.read_later import later
from torchperf_lint.facts.reads import item_readings
from torchperf_lint.facts.source import SourceFile

STEP = """
import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, pool):
    total = 0
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        {use}
        pool.run(x.shape)
    return total
"""

HELPER = """
import torch
from torch import nn

def helper(x: torch.Tensor){promise}:
    {body}

def train(model: nn.Module, loader, optimizer, pool):
    total, history = 0, []
    for x in loader:
        out = model(x.cuda())
        out.mean().backward()
        optimizer.step()
        {use}
    return total
"""
SHOWN, WEIGHED = "who shows it under", "where the callers' arithmetic takes a tensor"


def advice(text: str, written: str) -> str:
    files = texts(text)
    (found,) = item_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return later(found.site, written)


@pytest.mark.parametrize(
    ("use", "word"),
    [
        ("total += loss.item()", "after the loop"),
        ("return loss.item()", "return `loss.detach()`"),
        ("pool(x, loss.item())", "only where it is shown"),
        ("pool(x, x.shape, loss.mean().item())", "only where it is shown"),
        ("pool(x, loss[x > 0].max().item())", "what the host knows already"),
        ("return [p.item() for p in torch.unbind(loss)]", "torch.stack([loss for p in torch.unbind(loss)]).tolist()"),
        ("total += sum(p.item() for p in torch.unbind(loss))", "after the loop"),
        ("pool.append(loss.item())", "append `loss.detach()`, and read all of them in one copy after the loop"),
        ("pool.update(loss.item())", "add `loss.detach()` to a tensor on the device"),
        ("pool.append(loss.item() / 2)", "add `loss.detach()` to a tensor on the device"),
        ("pool['loss'] = loss.item()", "store `loss.detach()` there"),
        ("pool.last = loss.item()", "store `loss.detach()` there"),
        ("pool['loss'] = pool['loss'] + loss.item()", "add `loss.detach()` to a tensor on the device"),
    ],
)
def test_what_to_write_instead(use: str, word: str):
    assert word in advice(STEP.format(use=use), "loss")


@pytest.mark.parametrize(
    ("body", "use", "promise", "word"),
    [
        ("return x.max().item()", "total += helper(out)", "", SHOWN),
        ("return x.max().item()", "total += helper(out)", " -> int", SHOWN),
        ("return x.max().item()", "history.append(helper(out))", "", SHOWN),
        ("return x.max().item()", "pool.run(torch.zeros(helper(out)))", "", WEIGHED),
        ("return x.max().item()", "n = helper(out)\n        pool.run(out.new_zeros(n, 3))", "", WEIGHED),
        ("return x.max().item(), x", "n, y = helper(out)\n        pool.run(out.new_zeros(n, 3))", "", WEIGHED),
        ("return x, x.max().item()", "y, n = helper(out)\n        pool.run(y)\n        total += n", "", SHOWN),
        (
            "n = x.max().item()\n    return x, n",
            "y, n = helper(out)\n        pool.run(y)\n        total += n",
            "",
            SHOWN,
        ),
        ("return {'top': x.max().item()}", "pool.run(helper(out))", "", SHOWN),
        ("loss = x.mean()\n    return loss.item()", "pool.run(helper(out))", " -> float", WEIGHED),
    ],
)
def test_what_callers_do_with_it_counts(body: str, use: str, promise: str, word: str):
    assert word in advice(HELPER.format(body=body, use=use, promise=promise), "x.max()")


def test_the_name_of_a_loss_says_that_it_is_shown():
    text = HELPER.format(body="loss = x.mean()\n    return loss.item()", use="pool.run(helper(out))", promise="")
    assert SHOWN in advice(text, "loss")


@pytest.mark.parametrize("written", ["loss", "loss.detach()", "loss.detach().cpu()", "loss.data", "loss.cpu()"])
def test_what_is_detached_already_is_not_detached_again(written: str):
    assert "return `loss.detach()`" in advice(STEP.format(use="return loss.item()"), written)


@pytest.mark.parametrize(
    ("use", "word"),
    [
        ("total += loss.item()", "add the tensor itself (`.detach()`) to a tensor on the device"),
        ("return loss.item()", "return the tensor itself (`.detach()`)"),
        ("pool(x, loss.item())", "keep what is read a tensor"),
        ("pool['loss'] = loss.item()", "store the tensor itself"),
    ],
)
def test_what_was_cut_is_not_shown_as_code(use: str, word: str):
    assert word in advice(STEP.format(use=use), "((loss - other) ** 2 / (total['mse'] …")
