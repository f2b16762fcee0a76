"""A training script for after_window.py: steps_on_device.py LAYERS STEPS AT [DEVICE] prints the median step in ms.

Of the steps before step AT, then of those well after it, and last the loss. Each step copies its batch to the device
and reads the loss, as beginners' loops do: one blocking copy, one wait.
"""

import statistics
import sys
import time

import torch
from torch import nn

LAYERS, STEPS, AT = map(int, sys.argv[1:4])
DEVICE = sys.argv[4] if len(sys.argv) > 4 else "cuda"
WARMUP = 50

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(LAYERS)]).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = torch.randn(32, 64)
times = []
for _ in range(STEPS):
    started = time.perf_counter()
    x = batch.to(DEVICE)
    loss = model(x).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    value = loss.item()
    times.append(time.perf_counter() - started)
before, after = (statistics.median(part) * 1000 for part in (times[WARMUP : AT - 1], times[AT + WARMUP :]))
print(f"{before:.6f} {after:.6f} {value:.6f}")
