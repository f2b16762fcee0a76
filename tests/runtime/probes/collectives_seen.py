"""Prints what a script can tell of torch.distributed; the same, whether it is watched or not."""

import inspect
import pickle
import warnings

import torch
import torch.distributed as dist
from torch.distributed import all_reduce, distributed_c10d

NAMES = (
    "all_reduce",
    "all_gather_into_tensor",
    "reduce_scatter_tensor",
    "all_gather_object",
    "barrier",
    "monitored_barrier",
)


def told(work):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return sorted({(str(w.message)[:40], w.category.__name__, w.filename.rpartition("/")[2], w.lineno) for w in caught})


def main():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    print(all_reduce is dist.all_reduce is distributed_c10d.all_reduce)
    for name in NAMES:
        function = getattr(dist, name)
        print(name, inspect.signature(function), function.__module__, function.__qualname__, function.__doc__ is None)
    print(pickle.loads(pickle.dumps(all_reduce)) is all_reduce)
    x = torch.arange(4.0)
    print(all_reduce(x), x, dist.all_reduce(x, async_op=True).wait())
    gathered = [None]
    dist.all_gather_object(gathered, {"a": 1})
    print(gathered, dist.barrier())
    print(told(lambda: dist.all_gather_into_tensor(torch.empty(4), x)))
    print(told(lambda: dist.reduce_scatter_tensor(torch.empty(4), x)))
    try:
        all_reduce("no tensor")
    except TypeError as error:
        print(type(error).__name__, str(error)[:60])
    dist.destroy_process_group()


main()
