"""Prints what a script can tell of the tensor methods and compilers; the same, whether they are watched or not."""

import json
import sys
from pathlib import Path

import torch

if sys.argv[1] == "watched":
    from torchperf_lint.runtime.probes import allocator, collectives, data_parallel, lines, transfers
    from torchperf_lint.runtime.session import Session

    session = Session({"events": sys.argv[2], "owner_pid": 0, "project_root": str(Path(__file__).parent)})
    transfers.watch(session, torch, "meta")
    assert allocator.install(session, torch) is None
    assert data_parallel.install(session, torch) is None
    assert collectives.install(session, torch) is None
    lines.begin(session)
    session._hide_from_compilers(torch)

import torch._dynamo
from torch._dynamo.utils import counters
from torch.overrides import TorchFunctionMode

X = torch.arange(4.0)
PARALLEL = torch.nn.DataParallel(torch.nn.Linear(4, 4))


def compiled(function, *args):
    torch._dynamo.reset()
    counters.clear()
    watched = torch.compile(function, backend="eager")
    results = [str(watched(*args)) for _ in range(2)]
    frames, stats = dict(counters["frames"]), dict(counters["stats"])
    return [results[0] == results[1], frames, stats, len(counters["graph_break"])]


def moves_and_casts(x):
    y = (x + 1).to(torch.float64).to("cpu").cpu()
    return torch.empty(4, dtype=torch.float64).copy_(y).to(x) + y.to(device="cpu", non_blocking=True)


def breaks_at_item(x):
    return x * (x + 1).sum().item() + len(x.tolist())


def empties(x):
    torch.cuda.empty_cache()
    return x + 1


def exchanges(x):
    total = x + 1
    torch.distributed.all_reduce(total)
    return total * 2


def exchanges_and_breaks_off(x):
    total = x.sum().item() + x
    torch.distributed.all_reduce(total)
    torch.distributed.barrier()
    return total


def in_a_group():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        return [compiled(function, X) for function in (exchanges, exchanges_and_breaks_off)]
    finally:
        torch.distributed.destroy_process_group()


def scripted(x: torch.Tensor):
    y = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(torch.float64).cpu()
    y.copy_(x)
    return y.to("cpu")


class Traced(torch.nn.Module):
    def forward(self, x):
        return x.to(torch.float64).cpu()


class Logged(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


class Mode(TorchFunctionMode):
    def __init__(self):
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.calls.append(func.__name__)
        return func(*args, **(kwargs or {}))


def of_subclass():
    tensor = torch.ones(3).as_subclass(Logged)
    moved = tensor.to("meta"), tensor.cpu(), tensor.to(torch.float64), tensor.copy_(torch.zeros(3)), tensor.tolist()
    return [[type(value).__name__ for value in moved], Logged.calls]


def of_mode():
    with Mode() as mode:
        X.to("meta").to(torch.float16)
        X.tolist()
    return mode.calls


def of_overrides():
    methods = [getattr(torch.Tensor, name) for name in ("to", "cuda", "cpu", "copy_", "tolist")]
    overridable = torch.overrides.get_overridable_functions()
    known = [[m.__name__, m.__doc__ is not None, torch.overrides.is_tensor_method_or_property(m)] for m in methods]
    names = [torch.overrides.resolve_name(method) for method in methods]
    return [known, names, len(overridable), sum(map(len, overridable.values()))]


def errors():
    told = []
    for method, *args in ((X.to, "nowhere"), (X.to,), (X.copy_,), (X.copy_, 3), (X.cpu, 1, 2)):
        try:
            told.append(str(method(*args)))
        except Exception as error:  # noqa: BLE001 -- whatever torch raises is what is compared
            told.append([type(error).__name__, str(error)])
    return told


if sys.argv[1] == "watched":
    session.timeline.step_begins(None)
tracing = sys.gettrace() is not None
facts = {
    "dynamo": [compiled(f, X) for f in (moves_and_casts, breaks_at_item, empties, PARALLEL)],
    "dynamo in a process group": in_a_group(),
    "script": str(torch.jit.script(scripted).graph),
    "trace": torch.jit.trace(Traced(), X).code,
    "fx": torch.fx.symbolic_trace(Traced()).code,
    "subclass": of_subclass(),
    "mode": of_mode(),
    "overrides": of_overrides(),
    "errors": errors(),
    "lines were watched": tracing or sys.version_info >= (3, 12),
    "vmap": torch.func.vmap(lambda x: x.to(torch.float64).to("cpu"))(X).tolist(),
}
print(json.dumps(facts))
