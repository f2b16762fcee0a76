"""Names that are made of themselves, and functions that call each other: no question may go round in circles.

Loops, recursion and `x = f(x)` are in every program; two packages had such names where a rule ran out of stack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

BINDINGS = (
    "x = made(x)",
    "x = x.view(-1)",
    "x = x.to(device)",
    "x = x.cpu()",
    "x = not x",
    "x = x and y",
    "x = x if flag else y",
    "x = y if flag else x",
    "x = x[0]",
    "x = x + 1",
    "x += x",
    "x = {'state': x, 'model': x}",
    "x = {**x}",
    "x = [x, x]",
    "x = (x, y)",
    "x, y = y, x",
    "x = [made(x) for x in x]",
    "x = {k: made(v) for k, v in x.items()}",
    "x = lambda: x()",
    "x = torch.cat([x, x])",
    "x = torch.stack(list(x))",
    "x = enumerate(zip(x, x))",
    "x = x.any()",
    "x = torch.device(x)",
    "x = torch.tensor(x)",
    "x = np.array(x)",
    "x = DataLoader(x)",
    "x = iter(x)",
    "x = next(x)",
    "x = nn.Sequential(x)",
    "x = partial(x, x)",
    "x = x.state_dict()",
    "x = getattr(x, 'x')",
    "x = self.x = made(self.x)",
    "x = self.made(x)",
    "x = f'{x}'",
    "x = int(x)",
    "x = max(x, x)",
    "x = x.x",
    "x = tqdm(x)",
    "x = optim.Adam(x)",
    "x = accelerator.prepare(x)",
    "x = (x := made(x))",
    "x = torch.cuda.FloatTensor if flag else x",
    "x = x.detach().numpy()",
)
"""Ways to bind a name that the name itself is part of."""
USES = """
for element in x:
    made(element).item()
for i in range(len(x)):
    made(x[i].item(), x[i].cpu())
if x or not x:
    y = x.item()
while (x > 0).any():
    x.backward(retain_graph=True)
y = torch.zeros(3).to(x)
y = torch.zeros(3, device=x).type(x)
y = torch.tensor([x, x], device=device)
y[x] = x
y = y[x > 0], y[: x], x.nonzero(), x.repeat_interleave(x)
torch.save(x, "state.pt")
torch.save({"state": x, "model": x.state_dict()}, path)
for batch in DataLoader(x, x, num_workers=x, pin_memory=x, collate_fn=x, sampler=x):
    made(batch.to(x, non_blocking=x)).backward()
print(x, f"{x}")
logger.log({"loss": x})
x.step()
x.zero_grad()
x(y).sum().backward()
self.x.append(x)
self.total += x
y = math.sqrt(x), float(x), int(x), np.asarray(x), max(x), all(x), sorted(x, key=x)
y = nn.DataParallel(x), x.eval(), x.train(), torch.compile(x), copy.deepcopy(x)
with torch.autocast(x):
    y = F.softmax(x @ x.transpose(-2, -1), -1) @ x
y = torch.linalg.solve(x, x), torch.distributions.Normal(x, x).log_prob(x)
self.hand_on(x, y)
hand_on(x, **x)
dist.all_reduce(x)
"""
"""What a step may do with it."""
CODE = """
import copy, math
from functools import partial

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from tqdm import tqdm


def made(x, *more):
    return made(x) if x is None else other(x, more)


def other(x, more):
    x = x if isinstance(x, torch.Tensor) else made(x)
    return made(x, more)


def hand_on(x, y=None, **more):
    if isinstance(x, torch.Tensor):
        x = x.item()
    return hand_on(x, y, **more) or hand_on(y, x)


class Trainer(nn.Module):
    def __init__(self, x, flag, device):
        super().__init__()
        self.x, self.flag, self.device = x, flag, device
        self.self = self
        self.total = self.total

    def made(self, x):
        return self.made(self.x) if x is None else self.forward(x)

    def hand_on(self, x, y):
        for x in x:
            self.hand_on(y, x)
        return self.x if isinstance(x, torch.Tensor) else self.made(y)

    def forward(self, x):
        return self.forward(x) + self.x

    def fit(self, x, y, loader, flag, device, logger, optimizer):
        for batch in loader:
            {bound}
            loss = self(batch.to(device)).sum()
            loss.backward()
            optimizer.step()
            {bound}
            {used}
            {bound}

    @torch.no_grad()
    def evaluate(self, x, y, loader, flag, device, logger):
        while flag:
            {bound}
            {used}
        {again}
"""


NAMES = ("x", "state_dict", "loss", "mask", "dtype", "found", "lengths", "checkpoint", "device_of", "metrics", "batch")
"""What rules go by, too."""


def cases() -> Iterator[tuple[str, str]]:
    """Each way with another name, and those that hold what they are made of with the names of what is saved, too."""
    for number, bound in enumerate(BINDINGS):
        for name in {NAMES[number % len(NAMES)]: 0, **({"state_dict": 0, "checkpoint": 0} if "{" in bound else {})}:
            yield re.sub(r"\bx\b", name, bound), name


@pytest.mark.parametrize(("bound", "name"), list(cases()))
def test_every_rule_comes_to_an_end(bound, name, tmp_path):
    used = [re.sub(r"\bx\b", name, USES.strip()).replace("\n", "\n" + depth * "    ") for depth in (3, 2)]
    path = tmp_path / "train.py"
    path.write_text(CODE.format(bound=bound, used=used[0], again=used[1]).replace("(self, x, y", f"(self, {name}, y"))
    report = lint(Target(tmp_path, Settings(select=("ALL",), confidence=Confidence.POSSIBLE), (path,)))
    assert not report.problems
    assert report.findings
