"""A training loop that reads its loss at every step: kernels of milliseconds, then a host that takes its time."""

import time

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(12)]).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
batch = torch.randn(2048, 4096)
total = 0.0
for _ in range(60):
    x = batch.to("cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()  # the device has run dry when this returns
    time.sleep(0.004)
print(f"{total:.3f}")
