"""A training script for overhead.py: N steps of a model of a given width; prints its step times in ms.

    steps_of.py WIDTH N

The last line is the median wall time of a step, the median CPU time of its thread, and the last loss. The first 20
steps are left out.
"""

import statistics
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

WIDTH, STEPS = int(sys.argv[1]), int(sys.argv[2])
WARMUP = 20


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader([(torch.randn(64, 64), torch.randint(0, 8, (64,))) for _ in range(100)], batch_size=None)
    model = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    wall, cpu = [], []
    while len(wall) < STEPS:
        last, last_cpu = time.perf_counter(), time.thread_time()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            value = loss.item()
            now, now_cpu = time.perf_counter(), time.thread_time()
            wall.append(now - last)
            cpu.append(now_cpu - last_cpu)
            last, last_cpu = now, now_cpu
    print(*(f"{statistics.median(times[WARMUP:]) * 1000:.6f}" for times in (wall, cpu)), f"{value:.6f}")


main()
