"""Compiles training steps, optimizer and all, and prints what Dynamo made of them."""

import torch
from torch import nn
from torch._dynamo.utils import counters, get_compilation_metrics

STEPS = 3


def train(model, scheduled):
    """Without a scheduler Dynamo traces the call of the step; one of torch's has it run as Python calls it."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9) if scheduled else None

    @torch.compile(backend="eager")
    def train_step(x):
        model(x).sum().backward()
        optimizer.step()

    for _ in range(STEPS):
        train_step(torch.ones(2, 4))
        optimizer.zero_grad()
        if scheduler is not None:
            scheduler.step()


train(nn.Linear(4, 4), False)
train(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), True)
whole = torch.compile(nn.Linear(4, 4), backend="eager", fullgraph=True)
whole(torch.ones(2, 4)).sum().backward()
print(dict(counters["frames"]), dict(counters["stats"]), dict(counters["graph_break"]))
print([(m.compile_id, m.co_name, m.graph_op_count, m.fail_type) for m in get_compilation_metrics()])
