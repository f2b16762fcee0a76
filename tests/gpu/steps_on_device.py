"""A training script for overhead.py: steps_on_device.py LAYERS STEPS [DEVICE] prints the median step in ms.

Each step copies its batch to the device and reads the loss, as beginners' loops do: one blocking copy, one wait.
"""

import statistics
import sys
import time

import torch
from torch import nn

LAYERS, STEPS = int(sys.argv[1]), int(sys.argv[2])
DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cuda"
WARMUP = 20

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
print(f"{statistics.median(times[WARMUP:]) * 1000:.6f} {value:.6f}")
