"""What findings say to write instead: code that can be pasted, and sentences that fit the line."""

from __future__ import annotations

from textwrap import dedent

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

STEP = """\
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

device = torch.device("cuda")


def train(model: nn.Module, loader, optimizer):
    for x, labels in loader:
        x, labels = x.to(device, non_blocking=True), labels.to(device, non_blocking=True)
        losses = F.cross_entropy(model(x), labels, reduction="none")
{line}
        loss = losses.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def told(tmp_path, text, code):
    """(message, instead) of the only finding of a rule in a text."""
    path = tmp_path / "train.py"
    path.write_text(text)
    report = lint(Target(tmp_path, Settings(select=(code,)), (path,)))
    assert report.problems == ()
    assert len(report.findings) == 1, [f.message for f in report.findings]
    return report.findings[0].message, report.findings[0].instead


@pytest.mark.parametrize(
    ("line", "code", "instead"),
    [
        ("least = labels[labels != -1].numel() // 16", "TPL109", "count on the device: `(labels != -1).sum()`"),
        ("losses = losses / max(losses.nonzero().size(0), 1)", "TPL109", "count on the device: `(losses != 0).sum()`"),
        (
            "losses = losses[labels.gt(0)].mean()",
            "TPL109",
            "`torch.where(labels.gt(0), x, 0).sum()`, divided by `labels.gt(0).sum()` for a mean",
        ),
        (
            "losses = losses[~losses.isnan()].mean()",
            "TPL109",
            "what is NaN and goes into `x` has to be filled before that, `y = torch.where(~losses.isnan(), y, 0)`",
        ),
        (
            "seen = labels.float()\n        known = ~torch.isnan(seen)\n"
            "        losses = F.mse_loss(losses[known], seen[known])",
            "TPL109",
            "fill what is NaN before the loss, or its gradient is NaN whatever is chosen of it later: "
            "`y = torch.where(known, y, 0)`",
        ),
        (
            "rows = torch.zeros(8, 4, device=device)\n        far = torch.isinf(rows).any(1)\n"
            "        rows[far] = rows[far] * 2",
            "TPL109",
            "`x = torch.where(far[..., None], new, x)`",
        ),
        (
            "rows, far = torch.zeros(8, 4, 2, device=device), torch.zeros(8, 4, device=device) > 0\n"
            "        rows[far] = rows[far] * 2",
            "TPL109",
            "`x = torch.where(far[..., None], new, x)`",
        ),
        ("losses[losses > 3] = losses[losses > 3] * 2", "TPL109", "`masked_fill`"),
        ("losses[labels > 3] = losses[labels > 3] * 2", "TPL109", "one for each row, is `(labels > 3)[..., None]`"),
        (
            "n = int(losses.sum())\n        k = min(int((1 - losses).sum()), 3 * n)\n        losses.topk(k)",
            "TPL119",
            "torch.stack([losses.sum(), (1 - losses).sum()]).tolist()`, with `int` around those that have it now",
        ),
        ("last = losses[:, [-1]]", "TPL111", "`-1:`"),
        ("last = losses[:, [-2]]", "TPL111", "`-2:-1`"),
        ("first = losses[:, [2]]", "TPL111", "`2:3`"),
        ("some = losses[:, [1, 2, 3]]", "TPL111", "`1:4`"),
        ("some = losses[:, [0, 1], [0, 1]]", "TPL111", "buffers of the module: they pick element by element"),
        ("some = losses[:, [-2, -1]]", "TPL111", "`-2:`"),
        ("some = losses[:, [0, 2]]", "TPL111", "a buffer of the module"),
        ("some = losses[:, [1, 0]]", "TPL111", "a buffer of the module"),
        ("some = losses[:, [-1, 0]]", "TPL111", "a buffer of the module"),
        (
            "order = torch.rand(4, 3).argsort(-1)\n        some = losses[torch.arange(4).unsqueeze(-1), order]",
            "TPL111",
            "`torch.arange(..., device=losses.device)`; `order` too: the subscript copies that as well",
        ),
        (
            "seen = np.zeros((4, 4), np.uint8)\n        seen = torch.from_numpy(seen).float().to(device)",
            "TPL205",
            "`x.to(device, non_blocking=True).float()`",
        ),
        (
            "seen = np.zeros((4, 4), np.uint8)\n        seen = torch.from_numpy(seen / 255.0).float().to(device)",
            "TPL205",
            "`x.to(device, non_blocking=True).float() / 255`",
        ),
        ("rows = [losses.detach().item()]", "TPL101", "add `losses.detach()` to"),
        ("losses = losses * (1 - losses.mean().item())", "TPL101", "leave `.item()` out"),
        (
            "fine = labels is None or (losses > 0).all().item()\n        if not fine:\n            print('bad')",
            "TPL101",
            "check where the data is made",
        ),
        (
            "fine = (losses > 0).all().item()\n        if not fine:\n            print('bad')\n        seen = [fine]",
            "TPL101",
            "`(losses > 0).all()",
        ),
        ("losses = losses / max(losses.mean().item(), 1.0)", "TPL101", "leave `.item()` out"),
        (
            "n = losses.sum().item()\n        n = max(n, 1)\n        losses = losses / n",
            "TPL101",
            "leave `.item()` out",
        ),
        ("n = losses.sum().item()\n        self.reduce(losses, avg_factor=n)", "TPL101", "leave `.item()` out"),
        (
            "n = losses.sum().item()\n        seen.append(n)\n        losses = losses / n",
            "TPL101",
            "under `if step % n",
        ),
        ("part = losses.mean().item()\n        losses = losses * part + 1", "TPL101", "leave `.item()` out"),
        ("part = losses.mean().item()\n        rows = [losses * part, part]", "TPL101", "add `losses.mean()"),
        ("q = torch.tensor([0.5, 1.0], device=device)\n        q.mul_(losses)", "TPL252", "`.clone()`"),
        ("q = torch.tensor([0.5, 1.0], device=device)\n        q += losses", "TPL252", "`.clone()`"),
        ("losses = losses * torch.Tensor([2.0]).to(device)", "TPL252", "compute with the number itself, `2.0`"),
        (
            "losses = losses * torch.pow(torch.tensor([2.0]), torch.tensor(0.5)).to(device)",
            "TPL252",
            "`torch.tensor(..., device=device)`",
        ),
        (
            "rows = torch.LongTensor(range(losses.size(0)))\n        if labels.is_cuda:\n"
            "            rows = rows.cuda()\n        losses = losses[rows]",
            "TPL252",
            "`torch.arange(losses.size(0), device=labels.device)`",
        ),
        (
            "seen = []\n        seen.append(losses.tolist())",
            "TPL103",
            "keep `losses.detach()` on the device, and make lists after the loop",
        ),
        (
            "seen = 0\n        seen += math.log(losses.mean(), 2)",
            "TPL103",
            "add what functions of torch compute in its place to a tensor on the device",
        ),
        (
            "seen = 0\n        seen += math.gamma(losses.mean())",
            "TPL103",
            "add what functions of torch compute in its place to a tensor on the device",
        ),
        (
            "seen = 0\n        seen += math.fmod(5, losses.mean())",
            "TPL103",
            "add what functions of torch compute in its place to a tensor on the device",
        ),
        (
            "seen = 0\n        seen += math.pow(2, losses.mean())",
            "TPL103",
            "add `torch.pow(2, losses.mean()).detach()` to a tensor on the device",
        ),
        (
            "seen = 0\n        seen += math.copysign(losses.mean(), -1.0)",
            "TPL103",
            "add `torch.copysign(losses.mean(), -1.0).detach()` to a tensor on the device",
        ),
        (
            "seen = {}\n        seen['psnr'] = 10 * math.log10(losses.mean())",
            "TPL103",
            "store `torch.log10(losses.mean()).detach()` there",
        ),
        (
            "seen = {}\n        seen['psnr'] = 10 * math.log10((losses.max() ** 2) / (losses.mean() / labels.size(0)))",
            "TPL103",
            "store `torch.log10(...).detach()` there",
        ),
        ("seen = losses.cpu().sum()", "TPL105", "compute with `losses` on the device and copy once"),
        ("rows = labels.tolist()", "TPL103", "leave the copy out: nothing reads it"),
        (
            "seen = losses.cpu().numpy()\n        show(seen)",
            "TPL105",
            "on the device (torch has the numpy functions) and copy",
        ),
        ("seen = np.median(losses.detach().cpu())", "TPL105", "on the device (torch has the numpy functions) and copy"),
        ("total = 0\n        total += losses.sum().cpu().item()", "TPL105", "add `losses.sum().detach()` to a tensor"),
        (
            "total = hits = 0\n        total += losses.mean().item()\n        hits += (labels > 0).sum().item()",
            "TPL119",
            "best once after the loop, of sums or lists that stay on the device",
        ),
        (
            "rows = []\n        rows.append(losses.mean().item())\n        rows.append((labels > 0).sum().item())",
            "TPL119",
            "best under `if step % n == 0:`",
        ),
        (
            "rows = []\n        rows.append(math.log(losses.mean(), 2))\n        rows.append(losses.std().item())",
            "TPL119",
            "`a, b = torch.stack([losses.mean(), losses.std()]).tolist()`, and give `math` the numbers",
        ),
        (
            "seen = losses.detach() + 1\n        rows = labels.cpu().numpy()\n        show(rows)",
            "TPL105",
            "line 13 has uploaded it from the host: keep what was there under another name",
        ),
        ("assert losses.max().item() < 10", "TPL101", "check where the data is made"),
        ("kept = (losses > 0).type(torch.FloatTensor).to(device)", "TPL106", "write `(losses > 0).to(torch.float)`"),
        ("noise = torch.FloatTensor(x.shape).uniform_(0, 1).to(device)", "TPL251", "`torch.empty(..., device=device)`"),
        (
            "kept = torch.ByteTensor(x.size(0), 3).zero_().to(device)",
            "TPL251",
            "`torch.empty(..., dtype=torch.uint8, device=device)`",
        ),
        (
            "kept = torch.tril(torch.ones(3, 3)).type(torch.ByteTensor).to(device)",
            "TPL251",
            "`torch.ones(..., device=device)`, and write `.to(torch.uint8)` for `.type(torch.ByteTensor)`, which",
        ),
        (
            "kept = torch.ones(3).type('torch.FloatTensor')\n        kept = kept.to(device)",
            "TPL251",
            "`torch.ones(..., device=device)`, and write `.to(torch.float)` for `.type(torch.FloatTensor)`, which",
        ),
        (
            "rows = [label.cpu().numpy() for label in losses]\n        rows = torch.LongTensor(rows)",
            "TPL255",
            "`torch.from_numpy(np.stack(rows)).long()`",
        ),
        (
            "rows = [label.cpu().numpy() for label in losses]\n        rows = torch.FloatTensor(rows)",
            "TPL255",
            "`torch.from_numpy(np.stack(rows)).float()`",
        ),
        (
            "rows = [label.cpu().numpy() for label in losses]\n        rows = torch.tensor(rows, dtype=torch.long)",
            "TPL255",
            "`torch.from_numpy(np.stack(rows)).to(dtype=torch.long)`",
        ),
        (
            "rows = [label.cpu().numpy() for label in losses]\n        rows = torch.as_tensor(rows)",
            "TPL255",
            "`torch.from_numpy(np.stack(rows))`",
        ),
        (
            "ones = torch.ones(3)\n        if losses.is_cuda:\n            ones = ones.cuda()",
            "TPL251",
            "`torch.ones(..., device=losses.device)`",
        ),
        (
            "ones = torch.ones(3)\n        if torch.cuda.is_available():\n            ones = ones.cuda()",
            "TPL251",
            '`torch.ones(..., device="cuda" if torch.cuda.is_available() else "cpu")`',
        ),
        (
            "ones = torch.ones(3)\n        if losses.is_cuda:\n            if x is not None:\n"
            "                ones = ones.cuda()",
            "TPL251",
            "`torch.ones(..., device=losses.device)`",
        ),
        ("shown = float(losses.mean().cpu().data.numpy())", "TPL105", "add `losses.mean().detach()` to a tensor"),
        (
            "hot = torch.zeros(4, 9).scatter_(1, labels.data.cpu(), 1)\n        hot = hot.to(device)",
            "TPL106",
            "leave `labels.data` on the device, and make there what takes it, `torch.zeros(..., device=labels.device)`",
        ),
        (
            "ones = 0\n        if losses.is_cuda:\n            ones = torch.ones(3).cuda()",
            "TPL251",
            '`torch.ones(..., device="cuda")`',
        ),
    ],
)
def test_advice(tmp_path, line, code, instead):
    assert instead in told(tmp_path, STEP.format(line=" " * 8 + line), code)[1]


@pytest.mark.parametrize(
    "line",
    [
        "kept = torch.ones(3).type(torch.float).to(device)",
        "kept = torch.ones(3).type(torch.cuda.ByteTensor)",
        "kept = torch.ones(3).type(torch.uint8).to(device).type(torch.cuda.ByteTensor)",
        "kept = torch.ones(3).to(device)\n        other = losses.detach().type(torch.FloatTensor)",
    ],
)
def test_types_of_the_device_and_dtypes_may_stay(tmp_path, line):
    advice = told(tmp_path, STEP.format(line=" " * 8 + line), "TPL251")[1]
    assert advice.startswith("make it on the device: `torch.ones(..., ")
    assert advice.endswith(")`")


READ = """\
import torch
from torch import nn

def accuracy(output, target, topk):
    hits = output.topk(max(topk), 1).indices.t().eq(target[None])
    return [hits[:k].reshape(-1).float().sum(0, keepdim=True) for k in topk]

def train(model: nn.Module, loader, optimizer, criterion, rows):
    for x, labels in loader:
        x, labels = x.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
        out = model(x)
        loss = out.mean()
        top1, top2 = accuracy(out, labels, (1, 2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows.append(({reads}))
"""


@pytest.mark.parametrize(
    ("reads", "stacked"),
    [
        ("loss.item(), top1.item(), top2.item()", "[t.reshape(()) for t in (loss, top1, top2)]"),
        ("loss.item(), (out.argmax(1) == labels).sum().item()", "[loss, (out.argmax(1) == labels).sum()]"),
        ("loss.item(), out.max().item(), -(out > 0).any().item()", "[loss, out.max(), (out > 0).any()]"),
        ("loss.item(), out[:1].sum(1).item()", "[t.reshape(()) for t in (loss, out[:1].sum(1))]"),
        ("loss.item(), (2 * out.min()).item()", "[loss, 2 * out.min()]"),
    ],
)
def test_what_is_read_in_one_copy_stacks(tmp_path, reads, stacked):
    """What `.item()` takes may have dimensions: the advice runs, and gives the numbers that the reads give."""
    torch = pytest.importorskip("torch")
    instead = told(tmp_path, READ.format(reads=reads), "TPL119")[1]
    advised = instead.split("`")[1]
    assert advised.endswith(f" = torch.stack({stacked}).tolist()")
    scope = {"torch": torch, "out": torch.tensor([[0.5, 2.0, 1.0], [3.0, 1.0, 0.0]]), "labels": torch.tensor([1, 2])}
    exec(READ[READ.index("def accuracy") : READ.index("def train")], scope)
    exec("loss = out.mean()\ntop1, top2 = accuracy(out, labels, (1, 2))", scope)
    exec(advised, scope)
    assert [scope[name] for name in "abc"[: reads.count(".item()")]] == [
        eval(read.lstrip("-"), scope) for read in reads.split(", ")
    ]


APPENDED = """\
import numpy as np
import torch


@torch.no_grad()
def predict(model: torch.nn.Module, loader):
    preds = None
    for x in loader:
        logits = model(x.to("cuda"))
        if preds is None:
            preds = logits.cpu().numpy()
        else:
            preds = np.append(preds, logits.cpu().numpy(), axis=0)
    return preds
"""


def test_numpy_joins_a_list_by_another_function(tmp_path):
    assert "call `np.concatenate` once after the loop" in told(tmp_path, APPENDED, "TPL652")[1]


TABLE = """\
import torch
from torch import nn


class Sampler:
    def __init__(self, n: int):
        self.weights = torch.rand(n)

    def of(self, labels, device):
        return self.weights[labels].to(device)


def train(model: nn.Module, loader, optimizer):
    sampler = Sampler(1000)
    for x, labels in loader:
        loss = model(x.to("cuda", non_blocking=True), sampler.of(labels, torch.device("cuda"))).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_what_a_table_is_looked_up_for_is_another_part_each_time(tmp_path):
    message, instead = told(tmp_path, TABLE, "TPL208")
    assert "copies a part of `self.weights` from the host" in message
    assert "keep `self.weights` on the device" in instead


OPTIMIZER = """\
import torch


class Adam(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        rate = warm_up(self)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                mean = state["mean"]
                grad = p.grad
                mean.mul_(group["beta"]).add_((1 - group["beta"]) * grad)
                p.data.add_(-scheduled(group, rate) * mean)


def train(model: torch.nn.Module, loader):
    optimizer = Adam(model.parameters(), {})
    for x in loader:
        model(x.to("cuda", non_blocking=True)).mean().backward()
        optimizer.step()
"""


def test_an_optimizer_updates_and_blends_nothing(tmp_path):
    assert "updates the parameters tensor by tensor" in told(tmp_path, dedent(OPTIMIZER), "TPL604")[0]


ATTENTION = """\
import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = (nn.Conv2d(dim, dim, 1) for _ in range(3))

    def forward(self, x: torch.Tensor):
        b, c, h, w = x.shape
        q = self.q(x).view(b, c, h * w).permute(0, 2, 1)
        k = self.k(x).view(b, c, h * w)
        v = self.v(x).view(b, c, h * w).permute(0, 2, 1)
        return torch.bmm(F.softmax({scores}, dim=-1), v)
"""


@pytest.mark.parametrize(
    ("scores", "laid_out"), [("torch.bmm(q, k)", True), ("q @ self.k(x).flatten(2).permute(0, 2, 1).mT", False)]
)
def test_keys_that_lie_by_channels_are_not_handed_on_as_they_are(tmp_path, scores, laid_out):
    _, instead = told(tmp_path, ATTENTION.format(scores=scores), "TPL654")
    assert ("each laid out as `(batch, heads, positions, channels)` first" in instead) is laid_out


UPLOADS = """\
import numpy as np
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, sizes: np.ndarray):
        super().__init__()
        self.sizes = sizes

    def forward(self, x: torch.Tensor, n: int):
        return x.cuda() * {made}
"""


@pytest.mark.parametrize(
    ("made", "instead"),
    [
        ("torch.tensor(0.5).to(x.device)", "use the number itself"),
        ("torch.from_numpy(self.sizes.astype(np.float32)).to(x.device)", "self.register_buffer"),
        ("torch.as_tensor(range(n, n + 8)).to(x.device)", "count on the device: `torch.arange(n, n + 8, device="),
        ("torch.LongTensor(range(x.size(1))).to(x.device)", "count on the device: `torch.arange(x.size(1), device="),
        ("torch.tensor([i for i in range(len(x))]).to(x.device)", "count on the device: `torch.arange(len(x), device="),
        ("torch.Tensor(list(range(len(x)))).to(x.device)", "torch.arange(len(x), dtype=torch.float, device=x.device)"),
        ("x.new_tensor(range(len(x)))", "torch.arange(len(x), dtype=x.dtype, device=x.device)"),
        ("torch.tensor([len(x), x.size(1)]).to(x.device)", "stack `torch.full((), n, device=x.device)`"),
        ("torch.tensor(range(10)).to(x.device)", "self.register_buffer"),
    ],
)
def test_only_a_number_is_used_as_a_number(tmp_path, made, instead):
    assert instead in told(tmp_path, UPLOADS.format(made=made), "TPL252")[1]


LOADED = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


class Own(DataLoader):
    def __init__(self, data{parameter}):
        super().__init__(data, 3, num_workers=2{given})


class Trainer:
    def __init__(self, loader):
        self.loader = loader

    def train(self, model: nn.Module, optimizer, device):
        for x, y in self.loader:
            loss = model(x{converted}.to(device)).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main(data, model: nn.Module, optimizer):
    Trainer({made}).train(model, optimizer, "cuda")
"""


@pytest.mark.parametrize(
    ("made", "parameter", "given", "converted", "instead"),
    [
        (
            "DataLoader(data)",
            "",
            "",
            "",
            "pass `non_blocking=True` here and `pin_memory=True` to the loader (train.py:24)",
        ),
        (
            "DataLoader(data)",
            "",
            "",
            ".float()",
            "write `x.to(device, torch.float32, non_blocking=True)` here and pass `pin_memory=True` to the loader "
            "(train.py:24): in one call the device converts, and what a conversion makes on the host is not pinned",
        ),
        (
            "Own(data)",
            "",
            "",
            "",
            "pass `non_blocking=True` here and `pin_memory=True` to `super().__init__` of the loader's class "
            "(train.py:8)",
        ),
        (
            "Own(data)",
            ", pin_memory=False",
            ", pin_memory=pin_memory",
            "",
            "pass `non_blocking=True` here and `pin_memory=True` to the loader (train.py:24)",
        ),
        (
            "Own(data)",
            ", **options",
            ", **options",
            "",
            "pass `non_blocking=True` here and `pin_memory=True` to the loader (train.py:24)",
        ),
        ("Own(data)", ", pin_memory=True", ", pin_memory=pin_memory", "", "pass `non_blocking=True`"),
        ("Own(data)", "", ", pin_memory=True", "", "pass `non_blocking=True`"),
        (
            "unknown",
            "",
            "",
            "",
            "pass `non_blocking=True`, and let what hands the batch over pin it: `pin_memory=True` of a DataLoader, "
            "else `.pin_memory()`",
        ),
    ],
)
def test_who_is_told_to_pin(tmp_path, made, parameter, given, converted, instead):
    text = LOADED.format(made=made, parameter=parameter, given=given, converted=converted)
    assert told(tmp_path, text, "TPL201")[1] == instead


def test_what_is_made_at_the_copy_nobody_can_have_pinned(tmp_path):
    text = LOADED.format(made="unknown", parameter="", given="", converted="")
    made = told(tmp_path, text.replace("x.to(device)", "torch.Tensor(x).to(device)"), "TPL201")[1]
    assert made.startswith("make the tensors where the batch is put together, and pin them there")


PICKED = """\
import numpy as np
import torch
from torch import nn


def train(model: nn.Module, optimizer, seen, memory):
    for _ in range(1000):
        x, y = torch.randn(8, 3, device="cuda"), torch.randn(8, 1, device="cuda")
        rows = {made}
        x, y = x[rows], y[rows]
        {also}
        loss = (model(x) - y).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rows = np.arange(3)
        print(rows)
"""
_OF_ITS_NAME = "copy it once for all its uses: `rows = {made}.to(x.device)`"
_OF_ANOTHER = (
    "copy it once, under another name, and index with that what is on the device: `rows_there = {made}.to(x.device)`"
)


@pytest.mark.parametrize(
    ("also", "instead"),
    [
        ("", _OF_ITS_NAME),
        ("y = y + torch.zeros(8, 1, device='cuda')[rows]", _OF_ITS_NAME),
        ("y = y + torch.zeros(8, 1)[rows].cuda()", _OF_ANOTHER),
        ("y = y + seen[rows].cuda()", _OF_ANOTHER),
        ("memory.update(rows, 1.0)", _OF_ANOTHER),
    ],
)
@pytest.mark.parametrize(
    ("made", "copied"), [("np.random.choice(seen, size=4)", "torch.from_numpy(rows)"), ("torch.tensor(seen)", "rows")]
)
def test_an_index_of_the_host_keeps_its_name_where_the_host_uses_it(tmp_path, also, instead, made, copied):
    text = PICKED.format(made=made, also=also)
    assert told(tmp_path, text, "TPL111")[1] == instead.format(made=copied)


@pytest.mark.parametrize("made", ["np.where(np.asarray(seen) > 0)", "np.nonzero(np.asarray(seen))"])
def test_a_tuple_of_arrays_is_copied_array_by_array(tmp_path, made):
    assert told(tmp_path, PICKED.format(made=made, also=""), "TPL111") == (
        "`rows`, a tuple of arrays, is host memory, and indexing copies it to the device every training step "
        "(`for _ in range(1000)`, line 7)",
        "copy it once for all its uses: `rows = tuple(torch.from_numpy(rows).to(x.device) for rows in rows)`",
    )


DECISIVE = """\
import torch
from torch import nn


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(8, 8)

    def forward(self, x, masks):
        ends = (masks.cuda()[1:] == 0.0).any(dim=-1).nonzero().squeeze().cpu()
        ends = [0] + (ends + 1).numpy().tolist() + [x.size(0)]
        outs = []
        for i in range(len(ends) - 1):
            outs.append(self.cell(x[ends[i] : ends[i + 1]])[0])
        return torch.cat(outs)
"""


def test_a_copy_that_steers_the_loop_is_not_told_to_come_after_it(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(DECISIVE)
    settings = Settings(select=("TPL105",), confidence=Confidence.POSSIBLE)
    report = lint(Target(tmp_path, settings, (path,)))
    assert [f.instead.partition(",")[0] for f in report.findings] == ["what runs next depends on it"]


WIDTHS = """\
import torch
from torch import nn

from settings import std


def train(model: nn.Module, loader, optimizer):
    eps = {made}
    for epoch in range(10):
        for x, y in loader:
            x = x.cuda(non_blocking=True)
            {before}
            for j in range(len(eps)):
                x[:, j].uniform_(-{read}, {read})
            loss = model(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
_ONCE, _EACH = "which does not change it", "read it once and keep the number"


@pytest.mark.parametrize(
    ("made", "before", "read", "instead"),
    [
        (
            "0.1 / std",
            "",
            "eps[j][0].item()",
            f"read what the turns need of `eps` once, before the loop on line 9, {_ONCE}",
        ),
        ("0.1 / std", "", "eps[0][0].item()", f"read `eps[0][0]` once, before the loop on line 9, {_ONCE}"),
        ("nn.Parameter(std)", "", "eps[j][0].item()", "copy `eps` once before the loop on line 13"),
        ("0.1 / std", "eps = eps * 0.9", "eps[j][0].item()", f"`eps` once, before the loop on line 13, {_ONCE}"),
        ("0.1 / std", "eps.mul_(0.9)", "eps[j][0].item()", "copy `eps` once before the loop on line 13"),
        ("0.1 / std", "eps.data.mul_(0.9)", "eps[j][0].item()", f"`eps` once, before the loop on line 13, {_ONCE}"),
        ("0.1 / std\n    flat = eps.T", "flat[0] = 1", "eps[0][0].item()", "once, before the loop on line 14"),
        ("0.1 / std\n    more = eps + 1", "more[0] = 1", "eps[0][0].item()", "once, before the loop on line 10"),
        ("0.1 / std\n    eps.requires_grad = True", "", "eps[0][0].item()", "once, before the loop on line 14"),
        ("0.1 / std", "", "x[j].max().item()", _EACH),
        ("0.1 / std", "", "x[j][0].item()", _EACH),
    ],
)
def test_what_no_turn_changes_is_read_before_the_loops(tmp_path, made, before, read, instead):
    path = tmp_path / "train.py"
    path.write_text(WIDTHS.format(made=made, before=before, read=read))
    report = lint(Target(tmp_path, Settings(select=("TPL101", "TPL119")), (path,)))
    assert [instead in finding.instead for finding in report.findings] == [True], [f.instead for f in report.findings]


ACTING = """\
import torch
from torch import nn

class Agent:
    def __init__(self, env, model: nn.Module):
        self.env, self.model = env, model.cuda()

    @torch.no_grad()
    def get_action(self, state):
        policy, value = self.model(state.cuda())
        probabilities = policy.softmax(-1).cpu().numpy()
        return self.drawn(probabilities), value

    def run(self, state):
        for _ in range(1000):
            action, value = self.get_action(state)
            state, reward, done, info = self.env.step(action)
"""


def test_an_action_is_needed_now(tmp_path):
    advice = told(tmp_path, ACTING, "TPL105")[1]
    assert "the environment needs the action now" in advice
    assert "choose it on the device" not in advice  # what is drawn elsewhere, or no choice at all
    drawn = ACTING.replace("self.drawn(probabilities)", "np.random.choice(4, p=probabilities[0])")
    assert "the environment needs the action now: choose it on the device" in told(tmp_path, drawn, "TPL105")[1]


BAR = """\
import torch
from tqdm import tqdm

def train(model, loader, optimizer):
    bar = tqdm(loader)
    for x in bar:
        loss = model(x.cuda()).sum()
        loss.backward()
        optimizer.step()
        bar.set_description("%d %.3f" % (len(x), {shown}))
"""


@pytest.mark.parametrize("shown", ["loss", "x.size(0)"])
def test_a_bar_that_writes_a_tensor_is_told_once(tmp_path, shown):
    path = tmp_path / "train.py"
    path.write_text(BAR.format(shown=shown))
    settings = Settings(select=("TPL104", "TPL120"), confidence=Confidence.POSSIBLE)
    report = lint(Target(tmp_path, settings, (path,)))
    (found,) = report.findings
    assert found.code == "TPL120"
    assert ("% n == 0" in found.instead) and (("refresh=False" in found.instead) is (shown != "loss"))


JOINED = """\
import torch

def train(model, loader, optimizer, two):
    model = model.cuda()
    for batch in loader:
        if two:
            a, b, target = batch
            x = torch.cat([a, b], 1)
        else:
            {other}
        loss = model(x.cuda(non_blocking=True)).mean()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("other", "sure"), [("x, target = batch", "likely"), ("a, b = batch; x = torch.cat([a, b])", "certain")]
)
def test_what_one_branch_alone_joins_is_not_certain(tmp_path, other, sure):
    path = tmp_path / "train.py"
    path.write_text(JOINED.format(other=other))
    report = lint(Target(tmp_path, Settings(select=("TPL202",), confidence=Confidence.POSSIBLE), (path,)))
    assert [finding.confidence.value for finding in report.findings] == [sure]


MOVES = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

def to_gpu(x, gpu=0):
    return x.{moved}

def main(data, gpu):
    model = to_gpu(nn.Linear(8, 8), gpu)
    optimizer = torch.optim.SGD(model.parameters(), lr=1)
    for x in DataLoader(data, batch_size=4):
        model(to_gpu(x, gpu)).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("moved", "instead"), [("cuda(gpu)", "gpu"), ("cuda(device=gpu)", "gpu"), ("cuda()", '"cuda"')]
)
def test_what_moves_modules_as_well_keeps_its_device(tmp_path, moved, instead):
    told_instead = told(tmp_path, MOVES.format(moved=moved), "TPL201")[1]
    assert f"write `x.to({instead}, non_blocking=True)`" in told_instead


PARAMETERS = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer, kept):
    for x in loader:
        model(x.cuda(non_blocking=True)).sum().backward()
        optimizer.step()
        for p in model.parameters():
            kept.append({read})
"""


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("p.grad.data.detach().cpu().numpy()", "torch.cat("),
        ("p.detach().cpu()", "torch.cat("),
        ("p.grad.norm().cpu()", "torch.stack("),
        ("p.grad.abs().max().item()", "torch.stack("),
        ("float(p.mean())", "torch.stack("),
    ],
)
def test_whole_gradients_are_joined_and_numbers_of_them_stacked(tmp_path, read, expected):
    _, instead = told(tmp_path, PARAMETERS.format(read=read), "TPL108")
    assert expected in instead


LEVELS = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def forward(self, src, spatial_shapes, level_start_index, layers):
        points = []
        for lvl, (height, width) in enumerate(spatial_shapes):
            points.append({made})
        return layers(src, torch.cat(points), spatial_shapes, level_start_index)
"""


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        ("torch.linspace(0.5, height - 0.5, height, device=src.device)", "a Python number"),
        ("torch.ones(height - 1, device=src.device)", "an integer"),
    ],
)
def test_what_an_operation_needs_is_not_always_an_integer(tmp_path, made, needed):
    message, _ = told(tmp_path, LEVELS.format(made=made), "TPL112")
    assert f"has to be {needed}, so the host waits" in message
