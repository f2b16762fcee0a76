"""Compiles in every way that the probe tells apart, and prints what a script can see of the compiler."""

import logging
import sys

import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters, get_compilation_metrics

logging.getLogger("torch.fx").setLevel(logging.ERROR)


def inner(x):
    return x * x.sum().item()


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.step = 0

    def forward(self, x):
        self.step += 1
        x = self.layer(x)
        print("in between")
        return torch.tanh(x)


@torch.compile(backend="eager")
def looping(x):
    for _ in range(2):
        print("in a loop")
        x = x + 1
    return x


@torch.compile(backend="eager")
def whole(x):
    return inner(x)


torch._dynamo.config.recompile_limit = 3
model = torch.compile(Counting(), backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
looping(torch.ones(2))
whole(torch.ones(2, requires_grad=True)).sum().backward()
print(dict(counters["frames"]), dict(counters["stats"]), sum(counters["graph_break"].values()))
print([(m.co_name, m.fail_type) for m in get_compilation_metrics()])
torch._dynamo.reset()
print(len(torch._dynamo.utils.graph_break_reasons), torch._dynamo.callback.callback_handler)
sys.stdout.flush()
