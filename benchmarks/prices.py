"""What lines that rules flag cost on a CUDA device, beside what their pages advise: prices.py [OUT.json] [CODE ...].

Each pair runs in three training steps: of small kernels, for which the host sets the pace; of few large kernels, for
which the device does; and of kernels that keep the device about as long as the host needs to launch them. Both sides
of a pair take turns in short blocks of steps, each block ended by a synchronisation; the figures are medians over the
blocks, in milliseconds a step, and the ratio of neighbouring blocks, its median and its range. `waits` counts what
`torch.cuda.set_sync_debug_mode` warns of in one step (it does not tell of synchronize() and of the allocator's). A pair
is measured for its line, in these steps, on this card: it is no promise for another loop.
"""

from __future__ import annotations

import copy
import gc
import json
import math
import statistics
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

BLOCKS = 15
FEWEST_BLOCKS = 3
BLOCK_MS = 20.0
PAIR_S = 0.6
"""About how long a pair takes at one size, as long as there are enough blocks."""
DEVICE = "cuda"

Call = Callable[[], object]
Pair = tuple[Call, Call]
PAIRS: dict[str, tuple[str, Callable[[Step], Pair]]] = {}


@dataclass(frozen=True)
class Size:
    """A training step: layers of that width, batches of so many rows."""

    name: str
    layers: int
    width: int
    rows: int


SIZES = (
    Size("balanced", layers=8, width=2048, rows=512),
    Size("large kernels", layers=4, width=4096, rows=2048),
    Size("small kernels", layers=8, width=128, rows=64),
)


class Step:
    """A model with its optimizer and a batch on the device."""

    def __init__(self, size: Size) -> None:
        torch.manual_seed(0)
        self.size = size
        blocks = (nn.Sequential(nn.Linear(size.width, size.width), nn.ReLU()) for _ in range(size.layers))
        self.model = nn.Sequential(*blocks).to(DEVICE)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        self.batch = torch.randn(size.rows, size.width, device=DEVICE)

    def backward(self, batch: torch.Tensor | None = None) -> torch.Tensor:
        """Forward and backward; the loss."""
        self.optimizer.zero_grad()
        loss = self.model(self.batch if batch is None else batch).square().mean()
        loss.backward()
        return loss

    def train(self, batch: torch.Tensor | None = None) -> torch.Tensor:
        """A whole step; the loss."""
        loss = self.backward(batch)
        self.optimizer.step()
        return loss

    def with_line(self, line: Callable[[torch.Tensor], object]) -> Call:
        """A step with a line behind it, which is given the loss."""
        return lambda: line(self.train().detach())

    def then(self, before: Callable[[torch.Tensor], object], after: Callable[[torch.Tensor], object]) -> Pair:
        return self.with_line(before), self.with_line(after)


def pair(code: str, name: str) -> Callable[[Callable[[Step], Pair]], Callable[[Step], Pair]]:
    """Register what a rule flags and what its page advises, as two calls that each run one step."""

    def register(make: Callable[[Step], Pair]) -> Callable[[Step], Pair]:
        PAIRS[f"{code} {name}"] = (code, make)
        return make

    return register


def nothing(_: torch.Tensor) -> None:
    """No line at all."""


@pair("none", "the same on both sides | which shows the noise")
def same(step: Step) -> Pair:
    return step.then(nothing, nothing)


@pair("TPL101", "loss.item() every step | a sum kept on the device")
def item(step: Step) -> Pair:
    total = torch.zeros((), device=DEVICE)
    return step.then(lambda loss: loss.item(), total.add_)


@pair("TPL105", "outputs.cpu() every step | kept on the device")
def cpu(step: Step) -> Pair:
    return step.then(lambda loss: step.batch.cpu(), nothing)


@pair("TPL107", "if torch.isnan(loss) every step | counted on the device")
def nan(step: Step) -> Pair:
    bad = torch.zeros((), device=DEVICE)
    return step.then(lambda loss: 1 if torch.isnan(loss) else 0, lambda loss: bad.add_(torch.isnan(loss)))


@pair("TPL108", "grad.norm().item() of each parameter | one total norm, read once")
def per_parameter(step: Step) -> Pair:
    parameters = list(step.model.parameters())

    def before(_: torch.Tensor) -> float:
        return math.sqrt(sum(p.grad.norm().item() ** 2 for p in parameters))

    def after(_: torch.Tensor) -> float:
        return nn.utils.get_total_norm([p.grad for p in parameters]).item()

    return step.then(before, after)


@pair("TPL109", "x[mask].sum() | torch.where(mask, x, 0).sum()")
def mask(step: Step) -> Pair:
    chosen = step.batch > 0
    return step.then(lambda _: step.batch[chosen].sum(), lambda _: torch.where(chosen, step.batch, 0.0).sum())


@pair("TPL110", "repeat_interleave by counts | output_size= given")
def repeat(step: Step) -> Pair:
    counts = torch.randint(1, 3, (step.size.rows,), device=DEVICE)
    size = int(counts.sum())
    return step.then(
        lambda _: step.batch.repeat_interleave(counts, 0),
        lambda _: step.batch.repeat_interleave(counts, 0, output_size=size),
    )


@pair("TPL111", "x[torch.arange(n), labels] | the index made on the device")
def host_index(step: Step) -> Pair:
    n, labels = step.size.rows, torch.randint(0, step.size.width, (step.size.rows,), device=DEVICE)
    return step.then(
        lambda _: step.batch[torch.arange(n), labels],
        lambda _: step.batch[torch.arange(n, device=DEVICE), labels],
    )


@pair("TPL112", "x[:n] with n on the device | n a number of the host")
def size_on_device(step: Step) -> Pair:
    n = torch.tensor(7, device=DEVICE)
    return step.then(lambda _: step.batch[:n], lambda _: step.batch[:7])


@pair("TPL113", "torch.full((n,), value) with value on the device | value.expand(n)")
def scalar_argument(step: Step) -> Pair:
    value = torch.tensor(0.5, device=DEVICE)
    return step.then(lambda _: torch.full((64,), value, device=DEVICE), lambda _: value.expand(64))


@pair("TPL114", "one_hot(labels) | one_hot(labels, num_classes)")
def one_hot(step: Step) -> Pair:
    labels = torch.randint(0, 10, (step.size.rows,), device=DEVICE)
    return step.then(lambda _: functional.one_hot(labels), lambda _: functional.one_hot(labels, 10))


@pair("TPL115", "torch.cuda.synchronize() every step | none")
def synchronize(step: Step) -> Pair:
    return step.then(lambda _: torch.cuda.synchronize(), nothing)


@pair("TPL116", "Normal(mean, std).log_prob(x) | validate_args=False")
def distribution(step: Step) -> Pair:
    mean, std = torch.zeros(64, device=DEVICE), torch.ones(64, device=DEVICE)
    normal = torch.distributions.Normal
    return step.then(
        lambda _: normal(mean, std).log_prob(mean), lambda _: normal(mean, std, validate_args=False).log_prob(mean)
    )


@pair("TPL201", "batch.to(device) from pageable memory | pinned, non_blocking=True")
def blocking(step: Step) -> Pair:
    host = torch.randn(step.size.rows, step.size.width)
    pinned = host.pin_memory()
    return (
        lambda: step.train(host.to(DEVICE)),
        lambda: step.train(pinned.to(DEVICE, non_blocking=True)),
    )


@pair("TPL203", "x.pin_memory().to(device, non_blocking=True) in the loop | x.to(device)")
def pinned_inline(step: Step) -> Pair:
    host = torch.randn(step.size.rows, step.size.width)
    return (
        lambda: step.train(host.pin_memory().to(DEVICE, non_blocking=True)),
        lambda: step.train(host.to(DEVICE)),
    )


@pair("TPL203", "x.pin_memory().to(device, non_blocking=True) in the loop | one pinned buffer, filled")
def pinned_buffer(step: Step) -> Pair:
    host = torch.randn(step.size.rows, step.size.width)
    buffer, copied = host.pin_memory(), torch.cuda.Event()

    def after() -> None:
        copied.synchronize()  # the buffer may be filled anew once the last copy from it is over
        buffer.copy_(host)
        batch = buffer.to(DEVICE, non_blocking=True)
        copied.record()
        step.train(batch)

    return lambda: step.train(host.pin_memory().to(DEVICE, non_blocking=True)), after


@pair("TPL203", "x.pin_memory().to(device, non_blocking=True) in the loop | pinned by the loader")
def pinned_before(step: Step) -> Pair:
    host = torch.randn(step.size.rows, step.size.width)
    pinned = host.pin_memory()
    return (
        lambda: step.train(host.pin_memory().to(DEVICE, non_blocking=True)),
        lambda: step.train(pinned.to(DEVICE, non_blocking=True)),
    )


@pair("TPL205", "bytes made floats, then copied | copied, then made floats")
def cast(step: Step) -> Pair:
    raw = torch.randint(0, 255, (step.size.rows, step.size.width), dtype=torch.uint8)
    return lambda: step.train(raw.float().to(DEVICE)), lambda: step.train(raw.to(DEVICE).float())


@pair("TPL208", "a table moved in every forward | kept on the device")
def table(step: Step) -> Pair:
    host = torch.randn(step.size.width, step.size.width)
    there = host.to(DEVICE)
    return step.then(lambda _: step.batch @ host.to(DEVICE), lambda _: step.batch @ there)


@pair("TPL209", "torch.save(state_dict) every step | none")
def save(step: Step) -> Pair:
    path = Path("/tmp/prices.pt")
    return step.then(lambda _: torch.save(step.model.state_dict(), path), nothing)


@pair("TPL251", "torch.zeros(n, m).to(device) | torch.zeros(n, m, device=device)")
def factory(step: Step) -> Pair:
    shape = (step.size.rows, step.size.width)
    return step.then(lambda _: torch.zeros(shape).to(DEVICE), lambda _: torch.zeros(shape, device=DEVICE))


@pair("TPL252", "torch.tensor([...], device=device) every step | a buffer")
def literal(step: Step) -> Pair:
    buffer = torch.tensor([0.1, 0.2, 0.7], device=DEVICE)
    return step.then(lambda loss: loss * torch.tensor([0.1, 0.2, 0.7], device=DEVICE), lambda loss: loss * buffer)


@pair("TPL401", "torch.cuda.empty_cache() every step | none")
def empty_cache(step: Step) -> Pair:
    return step.then(lambda _: torch.cuda.empty_cache(), nothing)


@pair("TPL402", "gc.collect() every step | none")
def collect(step: Step) -> Pair:
    return step.then(lambda _: gc.collect(), nothing)


@pair("TPL408", "torch.cuda.memory_summary() every step | none")
def memory_summary(step: Step) -> Pair:
    return step.then(lambda _: torch.cuda.memory_summary(), nothing)


@pair("TPL501", "float32 products in full | TF32 allowed")
def tf32(step: Step) -> Pair:
    def under(allowed: bool) -> Call:
        def call() -> None:
            torch.backends.cuda.matmul.allow_tf32 = allowed
            step.train()
            torch.backends.cuda.matmul.allow_tf32 = False

        return call

    return under(False), under(True)


@pair("TPL504", "a float64 batch and model | float32")
def float64(step: Step) -> Pair:
    model, batch = copy.deepcopy(step.model).double(), step.batch.double()

    def before() -> None:
        model.zero_grad()
        model(batch).square().mean().backward()

    return before, step.backward


@pair("TPL510", "convolutions with a bias before BatchNorm | bias=False")
def conv_bias(step: Step) -> Pair:
    def network(bias: bool) -> Call:
        layers = [
            nn.Sequential(nn.Conv2d(32, 32, 3, padding=1, bias=bias), nn.BatchNorm2d(32), nn.ReLU()) for _ in range(8)
        ]
        model = nn.Sequential(*layers).to(DEVICE)
        images = torch.randn(step.size.rows // 16, 32, 64, 64, device=DEVICE)

        def call() -> None:
            model.zero_grad()
            model(images).mean().backward()

        return call

    return network(True), network(False)


@pair("TPL551", "detect_anomaly | off")
def anomaly(step: Step) -> Pair:
    def before() -> None:
        with torch.autograd.detect_anomaly(check_nan=True):
            step.train()

    return before, step.train


@pair("TPL601", "zero_grad(set_to_none=False) | the default")
def zero_grad(step: Step) -> Pair:
    def run(none: bool) -> Call:
        def call() -> None:
            step.optimizer.zero_grad(set_to_none=none)
            step.model(step.batch).square().mean().backward()
            step.optimizer.step()

        return call

    return run(False), run(True)


def optimizers(step: Step, slow: dict, fast: dict, make: Callable[..., torch.optim.Optimizer]) -> Pair:
    def run(options: dict) -> Call:
        optimizer = make(step.model.parameters(), lr=1e-6, **options)

        def call() -> None:
            step.backward()
            optimizer.step()

        return call

    return run(slow), run(fast)


@pair("TPL602", "AdamW(foreach=False) | the default")
def foreach(step: Step) -> Pair:
    return optimizers(step, {"foreach": False}, {}, torch.optim.AdamW)


@pair("TPL603", "AdamW(...) | fused=True")
def fused(step: Step) -> Pair:
    return optimizers(step, {}, {"fused": True}, torch.optim.AdamW)


@pair("TPL604", "EMA of each parameter in a loop | torch._foreach_lerp_")
def ema(step: Step) -> Pair:
    averages = [p.detach().clone() for p in step.model.parameters()]
    parameters = [p.detach() for p in step.model.parameters()]

    def before(_: torch.Tensor) -> None:
        for average, parameter in zip(averages, parameters, strict=True):
            average.mul_(0.99).add_(parameter, alpha=0.01)

    return step.then(before, lambda _: torch._foreach_lerp_(averages, parameters, 0.01))


@pair("TPL605", "zeroing each p.grad beside zero_grad() | zero_grad() alone")
def zeroing(step: Step) -> Pair:
    def before(_: torch.Tensor) -> None:
        for parameter in step.model.parameters():
            parameter.grad.zero_()

    return step.then(before, nothing)


@pair("TPL606", "a frozen backbone that requires gradients | requires_grad_(False)")
def backbone(step: Step) -> Pair:
    head = nn.Linear(step.size.width, 10).to(DEVICE)
    trained, frozen = step.model, copy.deepcopy(step.model).requires_grad_(False)

    def run(model: nn.Module) -> Call:
        def call() -> None:
            head.zero_grad()
            trained.zero_grad()
            head(model(step.batch)).square().mean().backward()

        return call

    return run(trained), run(frozen)


@pair("TPL607", "norms and scales of each gradient in a loop | clip_grad_norm_")
def clip(step: Step) -> Pair:
    parameters = list(step.model.parameters())

    def before(_: torch.Tensor) -> None:
        total = torch.stack([p.grad.norm() for p in parameters]).norm()
        scale = (1.0 / (total + 1e-6)).clamp(max=1.0)
        for parameter in parameters:
            parameter.grad.mul_(scale)

    return step.then(before, lambda _: nn.utils.clip_grad_norm_(parameters, 1.0))


@pair("TPL651", "a loop over the rows | one operation")
def rows(step: Step) -> Pair:
    few = step.batch[:64]

    def before(_: torch.Tensor) -> torch.Tensor:
        return torch.stack([row.square().sum() for row in few])

    return step.then(before, lambda _: few.square().sum(1))


@pair("TPL652", "torch.cat in a loop | one torch.cat behind it")
def cat(step: Step) -> Pair:
    parts = list(step.batch[:64].split(1))

    def before(_: torch.Tensor) -> torch.Tensor:
        out = parts[0]
        for part in parts[1:]:
            out = torch.cat([out, part])
        return out

    return step.then(before, lambda _: torch.cat(parts))


@pair("TPL653", "the model called for each sample | once for the batch")
def per_sample(step: Step) -> Pair:
    few = step.batch[:16]

    def before(_: torch.Tensor) -> torch.Tensor:
        return torch.cat([step.model(few[i : i + 1]) for i in range(len(few))])

    return step.then(before, lambda _: step.model(few))


@pair("TPL654", "softmax(q @ k.T) @ v by hand | scaled_dot_product_attention")
def attention(step: Step) -> Pair:
    length = step.size.rows // 2
    q, k, v = (torch.randn(8, 8, length, 64, device=DEVICE, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))

    def before() -> None:
        (functional.softmax(q @ k.transpose(-2, -1) / 8.0, -1) @ v).sum().backward()

    return before, lambda: functional.scaled_dot_product_attention(q, k, v).sum().backward()


@pair("TPL655", "MultiheadAttention with its weights dropped | need_weights=False")
def weights(step: Step) -> Pair:
    length = step.size.rows // 2
    layer = nn.MultiheadAttention(512, 8, batch_first=True, device=DEVICE, dtype=torch.bfloat16)
    x = torch.randn(8, length, 512, device=DEVICE, dtype=torch.bfloat16)
    return (
        lambda: layer(x, x, x)[0].sum().backward(),
        lambda: layer(x, x, x, need_weights=False)[0].sum().backward(),
    )


@pair("TPL801", "evaluation with gradients recorded | torch.no_grad()")
def evaluation(step: Step) -> Pair:
    def after() -> torch.Tensor:
        with torch.no_grad():
            return step.model(step.batch)

    return lambda: step.model(step.batch), after


def waits_of(call: Call) -> int:
    """What the sync-debug mode warns of in one call."""
    call()
    torch.cuda.synchronize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            call()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("called a synchronizing" in str(warning.message) for warning in caught)


def block_ms(call: Call, calls: int) -> float:
    """Milliseconds a call, the device's work included."""
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(calls):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / calls * 1000


def measured(calls: Pair) -> dict:
    """The figures of one pair."""
    for call in calls:
        for _ in range(2):
            call()
    counts = [max(1, min(200, round(BLOCK_MS / block_ms(call, 1)))) for call in calls]
    blocks: list[list[float]] = []
    started = time.perf_counter()
    while len(blocks) < FEWEST_BLOCKS or (len(blocks) < BLOCKS and time.perf_counter() - started < PAIR_S):
        blocks.append([block_ms(call, count) for call, count in zip(calls, counts, strict=True)])
    ratios = sorted(before / after for before, after in blocks)
    before, after = (statistics.median(block[side] for block in blocks) for side in (0, 1))
    return {
        "before_ms": round(before, 4),
        "after_ms": round(after, 4),
        "blocks": len(blocks),
        "ratio": round(statistics.median(ratios), 3),
        "lowest": round(ratios[0], 3),
        "highest": round(ratios[-1], 3),
        "waits_before": waits_of(calls[0]),
        "waits_after": waits_of(calls[1]),
    }


def prices(codes: list[str]) -> Iterator[dict]:
    """The rows of the table, one for each pair and size."""
    for size in SIZES:
        for name, (code, make) in PAIRS.items():
            if codes and code not in codes:
                continue
            row = {"code": code, "name": name.partition(" ")[2], "size": size.name}
            try:
                yield row | measured(make(Step(size)))
            except Exception:  # noqa: BLE001 -- the other pairs have their own answers
                yield row | {"error": traceback.format_exc(limit=-1).strip().splitlines()[-1]}


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if not torch.cuda.is_available():
        sys.exit("needs a CUDA device")
    where = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__}
    print(f"{where['device']}, torch {where['torch']}")
    print("code    step             before ms   after ms   ratio  range         waits   flagged | advised")
    rows = []
    for row in prices(sys.argv[2:]):
        rows.append(row)
        if out is not None:
            out.write_text(json.dumps({"where": where, "rows": rows}, indent=1) + "\n", encoding="utf-8")
        if "error" in row:
            print(f"{row['code']:7} {row['size']:14} {row['error']}  {row['name']}", flush=True)
            continue
        figures = f"{row['before_ms']:10.3f} {row['after_ms']:10.3f} {row['ratio']:7.2f}"
        spread = f"{row['lowest']:5.2f}..{row['highest']:<5.2f}  {row['waits_before']:2}:{row['waits_after']:<2}"
        print(f"{row['code']:7} {row['size']:14} {figures}  {spread}  {row['name']}", flush=True)


if __name__ == "__main__":
    main()
