"""What to write instead of reading a number at once."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.read_later import later
from torchperf_lint.facts.reads.reads import conversion_readings, item_readings

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
        ("pool.append(loss.item())", "add `loss.detach()` to a tensor on the device"),
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


def test_what_is_detached_and_then_computed_with_is_not_detached_again():
    assert "return `loss.detach().exp()`" in advice(STEP.format(use="return loss.item()"), "loss.detach().exp()")


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


LISTED = """
from collections import deque

import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, tracker, criterion, log, device):
    {before}
    for x in loader:
        out = model(x.to(device, non_blocking=True))
        loss = out.mean()
        loss.backward()
        optimizer.step()
        {use}
    {after}
"""


def told(use: str, before: str, after: str = "return 0") -> str:
    files = texts(LISTED.format(use=use, before=before, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    (found,) = (*item_readings(file), *conversion_readings(file))
    return later(found.site, file.brief(found.operand))


@pytest.mark.parametrize(
    ("use", "before", "word"),
    [
        ("kept.append(loss.item())", "kept = []", "after the loop: `torch.stack(kept).tolist()`"),
        ("kept.append(loss.item())", "kept = list()", "after the loop: `torch.stack(kept).tolist()`"),
        ("kept.append(loss.item())", "kept: list = []", "after the loop: `torch.stack(kept).tolist()`"),
        ("kept.append(loss.item())", "kept, norms = [], []", "after the loop: `torch.stack(kept).tolist()`"),
        ("kept.append(float(loss))", "kept = []", "after the loop: `torch.stack(kept).tolist()`"),
        ("kept.append(int(loss))", "kept = []", "after the loop: `[int(n) for n in torch.stack(kept).tolist()]`"),
        (
            "kept.append(out[0].sum(0).item())",
            "kept = []",
            "after the loop: `torch.stack([t.reshape(()) for t in kept]).tolist()`",
        ),
        ("kept.append(loss.tolist())", "kept = []", "copy once after the loop: `torch.stack(kept).tolist()`"),
        ("kept.extend(out.argmax(1).tolist())", "kept = []", "copy once after the loop: `torch.cat(kept).tolist()`"),
        ("kept.append(out.argmax(1).tolist())", "kept = []", "after the loop: `[t.tolist() for t in kept]`"),
    ],
)
def test_a_list_that_the_loop_only_fills_takes_tensors(use: str, before: str, word: str):
    assert word in told(use, before)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kept = deque(maxlen=100)", "return kept"),
        ("kept = tracker", "return kept"),
        ("kept = [0.0]", "return kept"),
        ("kept = log.kept = []", "return kept"),
        ("kept = []\n    log.kept = kept", "return kept"),
        ("kept = []\n    show = lambda: print(kept)", "return kept"),
    ],
)
@pytest.mark.parametrize(
    ("use", "word"),
    [
        ("kept.append(loss.item())", "add `loss.detach()` to a tensor on the device"),
        ("kept.append(out.argmax(1).tolist())", "keep `out.argmax(1).detach()` on the device, and make lists after"),
    ],
)
def test_what_is_no_list_or_has_other_readers_does_not(before: str, after: str, use: str, word: str):
    assert word in told(use, before, after)


@pytest.mark.parametrize(
    "use",
    [
        "kept.append(loss.item())\n        if sum(kept[-10:]) < 0.1:\n            break",
        "kept.append(loss.item())\n        log(kept)",
        "kept = []\n        kept.append(loss.item())",
        "kept.append(loss.item())\n        kept.append(0.0)",
    ],
)
def test_a_list_that_the_loop_reads_keeps_its_numbers(use: str):
    assert "kept" not in told(use, "kept = []", "return kept")


def test_a_list_of_each_epoch_may_be_read_in_the_epoch():
    text = """
        def train(model: nn.Module, loader, optimizer, log, device):
            for epoch in range(10):
                kept = []
                for x in loader:
                    loss = model(x.to(device, non_blocking=True)).mean()
                    loss.backward()
                    optimizer.step()
                    kept.append(loss.item())
                log(kept)
    """
    files = texts(text)
    (found,) = item_readings(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert "`torch.stack(kept).tolist()`" in later(found.site, "loss")


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("kept = torch.zeros(1000)", "make `kept` on the device, store `loss.detach()` there, and copy all of it"),
        ("kept = torch.zeros(1000, device=device)", "store `loss.detach()` there, and read it where it is shown"),
        ("kept = {}", "store `loss.detach()` there, and read it where it is shown"),
        ("kept = tracker.zeros", "store `loss.detach()` there, and read it where it is shown"),
    ],
)
def test_a_tensor_of_the_host_is_made_on_the_device_first(before: str, word: str):
    assert word in told("kept[0] = loss.item()", before)
