"""A training script for overhead.py: short blocks of steps of a model of a given width, watched and plain in turns.

    steps_of.py WIDTH QUADS [STEPS [DEVICE]]

Under `--runtime`, each quad of blocks is watched, plain, plain, watched, or the other way round; plain ones run with
the probes' functions taken out. Otherwise all are plain. In one process, side by side, and in blocks so short that
most escape other processes' turns, is the only way to see a few microseconds a step on a machine that others use, too.
On a DEVICE (cpu) that is a card, each step copies its batch there and waits for the loss, as it is.
What a watched block puts off is made at its end, within its time. The record is written between blocks, and timed.

Prints a row for each pair: wall and CPU time of a step in us: watched wall, plain wall, watched CPU, plain CPU; then
the median ms that writing the record took (nan where nothing is written), and last the loss.
"""

import contextlib
import itertools
import math
import statistics
import sys
import time

import torch
from torch import nn
from torch.cuda import _gpu_trace
from torch.optim import optimizer as optimizers
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

WIDTH, QUADS = int(sys.argv[1]), int(sys.argv[2])
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 8
DEVICE = sys.argv[4] if len(sys.argv) > 4 else "cpu"
WRITTEN_EVERY_S = 1.0
HOOKS = (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)
PATCHED = (
    (torch.autograd, "backward"),
    (DataLoader, "__iter__"),
    (_BaseDataLoaderIter, "__next__"),
    *((torch.Tensor, name) for name in ("to", "cuda", "cpu", "copy_", "tolist")),
)
TOLD = [getattr(_gpu_trace, f"{what}SynchronizationCallbacks") for what in ("Stream", "Event", "Device")]


class Unwatched:
    """Takes the probes of steps, backward passes, loaders, copies and waits out; `__wrapped__` is what they wrap."""

    def __init__(self):
        self.ours = [(owner, name, getattr(owner, name)) for owner, name in PATCHED]
        self.hooks = [dict(hook) for hook in HOOKS]
        self.told = [vars(registry).copy() for registry in TOLD]

    def __enter__(self):
        for owner, name, function in self.ours:
            setattr(owner, name, getattr(function, "__wrapped__", function))
        for hook in HOOKS:
            hook.clear()
        for registry in TOLD:
            vars(registry).pop("fire_callbacks", None)

    def __exit__(self, *_):
        for owner, name, function in self.ours:
            setattr(owner, name, function)
        for hook, before in zip(HOOKS, self.hooks, strict=True):
            hook.update(before)
        for registry, before in zip(TOLD, self.told, strict=True):
            vars(registry).update(before)


class Record:
    """The watched process's recorder, kept from writing within blocks; nothing where nobody watches."""

    def __init__(self):
        sessions = getattr(sys.modules.get("torchperf_lint.runtime.session"), "running", None)
        self.recorder = sessions[0].recorder if sessions else None
        self.catch_up = self.recorder.drain if self.recorder else lambda: None
        self.took_ms = []
        self.due = time.perf_counter()

    def write(self):
        now = time.perf_counter()
        if self.recorder is not None and now >= self.due:
            self.recorder.flush()
            self.took_ms.append((time.perf_counter() - now) * 1000)
            self.recorder.next_flush = math.inf
            self.due = now + WRITTEN_EVERY_S


class Training:
    """A loop that is a block of steps at a time."""

    def __init__(self):
        torch.manual_seed(0)
        torch.set_num_threads(1)
        batches = [(torch.randn(64, 64), torch.randint(0, 8, (64,))) for _ in range(STEPS)]
        # A pass is a quad of blocks: passes begin between blocks, as rarely as in any training.
        self.loader = DataLoader(batches * 4, batch_size=None)
        self.model = nn.Sequential(
            nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 8)
        ).to(DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.loss = math.nan

    def block(self, batches, catch_up=lambda: None):
        """(wall us, CPU us) of a step."""
        wall, cpu = time.perf_counter(), time.thread_time()
        for x, y in itertools.islice(batches, STEPS):
            loss = nn.functional.cross_entropy(self.model(x.to(DEVICE)), y.to(DEVICE))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.loss = loss.item()
        catch_up()
        return (time.perf_counter() - wall) / STEPS * 1e6, (time.thread_time() - cpu) / STEPS * 1e6


def main():
    training, record = Training(), Record()
    for _ in range(math.ceil(50 / STEPS)):
        batches = iter(training.loader)
        for _ in range(4):
            training.block(batches)
    record.write()
    unwatched = Unwatched()
    for order in itertools.islice(itertools.cycle(("wppw", "pwwp")), QUADS):
        blocks, batches = [], iter(training.loader)
        for kind in order:
            with unwatched if kind == "p" else contextlib.nullcontext():
                blocks.append((kind, *training.block(batches, record.catch_up if kind == "w" else lambda: None)))
        record.write()
        for first, second in (blocks[:2], blocks[2:]):
            watched, plain = sorted((first, second), key=lambda block: block[0], reverse=True)
            print(f"{watched[1]:.3f} {plain[1]:.3f} {watched[2]:.3f} {plain[2]:.3f}")
    print(statistics.median(record.took_ms) if record.took_ms else math.nan)
    print(f"{training.loss:.6f}")


main()
