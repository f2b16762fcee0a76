"""A training script for overhead.py: blocks of 100 steps of a model of a given width, watched and plain in turns.

    steps_of.py WIDTH BLOCKS [plain]

Run under `--runtime`, every second block runs with the probes' functions taken out; otherwise all blocks are plain.
In one process, side by side, is the only way to see a few microseconds a step on a machine that others use, too.
Prints, for each pair of blocks, the mean wall and CPU time of a step in us: watched wall, plain wall, watched CPU,
plain CPU; and last the loss.
"""

import contextlib
import sys
import time

import torch
from torch import nn
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

WIDTH, BLOCKS = int(sys.argv[1]), int(sys.argv[2])
STEPS = 100
HOOKS = (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)
PATCHED = ((torch.autograd, "backward"), (DataLoader, "__iter__"), (_BaseDataLoaderIter, "__next__"))


@contextlib.contextmanager
def unwatched():
    """Take the probes of steps, backward passes and loaders out; `__wrapped__` is what they wrap."""
    kept = [(owner, name, getattr(owner, name)) for owner, name in PATCHED]
    hooks = [dict(hook) for hook in HOOKS]
    for owner, name, function in kept:
        setattr(owner, name, getattr(function, "__wrapped__", function))
    for hook in HOOKS:
        hook.clear()
    yield
    for owner, name, function in kept:
        setattr(owner, name, function)
    for hook, before in zip(HOOKS, hooks, strict=True):
        hook.update(before)


def block(loader, model, optimizer):
    """(wall us, CPU us) of a step, and the last loss."""
    wall, cpu = time.perf_counter(), time.thread_time()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        value = loss.item()
    return (time.perf_counter() - wall) / STEPS * 1e6, (time.thread_time() - cpu) / STEPS * 1e6, value


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    loader = DataLoader([(torch.randn(64, 64), torch.randint(0, 8, (64,))) for _ in range(STEPS)], batch_size=None)
    model = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        block(loader, model, optimizer)
    for number in range(BLOCKS):
        # Which of a pair comes first changes, in case one warms the machine for the other.
        if number % 2:
            watched = block(loader, model, optimizer)
        with unwatched():
            plain = block(loader, model, optimizer)
        if not number % 2:
            watched = block(loader, model, optimizer)
        print(f"{watched[0]:.3f} {plain[0]:.3f} {watched[1]:.3f} {plain[1]:.3f}")
    print(f"{plain[2]:.6f}")


main()
