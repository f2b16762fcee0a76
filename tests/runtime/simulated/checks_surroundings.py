"""What stands around tensors: torch.cuda's functions, streams, compilers, modes, processes, refusals."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import CUDA, EVENTS, on, raised
from torch import nn

from torchperf_lint.runtime import simulated


def check_a_forked_process_has_no_device() -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.ones(2).cuda()
        except RuntimeError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert b"Cannot re-initialize CUDA in forked subprocess" in os.read(read, 1000)
    os.close(read)
    os.close(write)


def check_streams_and_events() -> None:
    stream = torch.cuda.Stream()
    default = torch.cuda.current_stream()
    assert default == torch.cuda.default_stream() != stream
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        on().record_stream(stream)
    assert torch.cuda.current_stream() == default
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    end.record(stream)
    stream.wait_event(end)
    assert stream.query()
    assert EVENTS.seen == []
    elapsed = start.elapsed_time(end)
    assert 0 <= elapsed < 10_000
    assert [what for what, _ in EVENTS.seen] == [
        "unsupported: Event.elapsed_time: the simulated device measures no time; the host's was returned"
    ]
    with pytest.raises(ValueError, match="Both events must be recorded before calculating elapsed time"):
        start.elapsed_time(torch.cuda.Event(enable_timing=True))


def check_queries() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.is_initialized()
    assert torch.cuda.is_bf16_supported()
    assert (torch.cuda.device_count(), torch.cuda.current_device()) == (1, 0)
    assert "simulated" in torch.cuda.get_device_name(0)
    assert torch.cuda.get_device_capability() == (8, 0)
    assert torch.cuda.get_device_properties("cuda:0").total_memory > 0
    torch.cuda.set_device(0)
    with torch.cuda.device(0):
        torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.range_pop()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert EVENTS.seen == []
    assert torch.cuda.memory_allocated() == 0
    assert torch.cuda.max_memory_reserved() == 0
    assert len(EVENTS.seen) == 1
    assert "does not track its memory" in EVENTS.seen[0][0]


def check_sync_debug_mode_warns_and_refuses() -> None:
    x = on()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x.sum().item()
            torch.nn.functional.one_hot(x.long())
            torch.cuda.synchronize()
        torch.cuda.set_sync_debug_mode("error")
        try:
            x.cpu()
        except RuntimeError as error:
            assert "synchronizing CUDA operation" in str(error)
        else:
            raise AssertionError("the copy was let through")
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert [Path(warning.filename).name for warning in caught] == ["checks_surroundings.py"] * 2


def check_compile_runs_eagerly_and_says_so() -> None:
    layer = torch.compile(nn.Linear(3, 2).cuda())

    @torch.compile(fullgraph=True)
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    layer.compile()
    assert double(layer(on((1, 3)))).shape == (1, 2)
    said = [what for what, _ in EVENTS.seen if what.startswith("unsupported")]
    assert said == ["unsupported: torch.compile runs eagerly under simulation"]


def check_what_cannot_be_simulated_is_named() -> None:
    attempts = (
        torch.cuda.CUDAGraph,
        lambda: torch.quantize_per_tensor(on(), 0.1, 0, torch.qint8),
        lambda: on((2, 2)).to_sparse().to_sparse_csc(),
        lambda: torch.distributed.init_process_group("nccl", store=torch.distributed.HashStore(), rank=0, world_size=2),
    )
    for attempt in attempts:
        EVENTS.seen.clear()
        try:
            attempt()
        except RuntimeError:
            assert any(what.startswith("unsupported: ") for what, _ in EVENTS.seen)
        else:
            raise AssertionError("this was simulated after all")


def in_a_group(act: Callable[[Any], None], backend: str | None = "nccl") -> None:
    """Does it with torch.distributed, in a group of one."""
    group = torch.distributed
    group.init_process_group(backend, store=group.HashStore(), rank=0, world_size=1)
    try:
        act(group)
    finally:
        group.destroy_process_group()


def check_collectives_of_one_rank_give_back_what_they_get() -> None:
    def collect(group: Any) -> None:
        x, out, parts = on(), torch.zeros(3, device=CUDA), [torch.zeros(3, device=CUDA)]
        group.all_reduce(x, async_op=True).wait()
        group.broadcast(x, 0)
        group.all_gather(parts, x)
        group.reduce_scatter(out, [x])
        group.all_to_all_single(torch.zeros(3, device=CUDA), x, group=group.new_group([0]))
        assert not EVENTS.seen
        assert x.equal(on())
        assert x.equal(out)
        assert x.equal(parts[0])
        assert (group.get_backend(), group.get_world_size(), group.get_rank()) == ("nccl", 1, 0)
        EVENTS.seen.clear()
        group.barrier(device_ids=[0])
        assert EVENTS.named("stream-synchronize")
        assert "device type cpu" in raised(lambda: group.all_reduce(torch.ones(3)))
        objects: list[Any] = [None]
        group.all_gather_object(objects, {"a": 1})
        assert objects == [{"a": 1}]

    in_a_group(collect)
    for both in ("cpu:gloo,cuda:nccl", None):
        in_a_group(lambda group: [group.all_reduce(x) for x in (torch.ones(3), on())], both)


def check_distributed_data_parallel_of_one_rank() -> None:
    def train(group: Any) -> None:
        for how in ({}, {"find_unused_parameters": True}, {"static_graph": True}):
            model = nn.ModuleList([nn.Linear(3, 1), nn.Linear(3, 1)][: 2 if "find_unused_parameters" in how else 1])
            model.forward = lambda x, first=model[0]: first(x)
            wrapped = nn.parallel.DistributedDataParallel(model.cuda(), device_ids=[0], **how)
            optimizer = torch.optim.SGD(wrapped.parameters(), 0.1)
            for step in range(3):
                EVENTS.seen.clear()
                optimizer.zero_grad()
                wrapped(on((2, 3))).sum().backward()
                optimizer.step()
                assert step < 2 or not EVENTS.seen  # the second lays buckets out anew, and waits
            assert model[0].weight.grad.tolist() == [[2.0, 2.0, 2.0]]

    in_a_group(train)


def check_patches_look_like_what_they_replace() -> None:
    assert torch.Tensor.to.__name__ == "to"
    assert "dtype" in torch.Tensor.to.__doc__
    assert torch.zeros.__doc__.strip().startswith("zeros(")
    assert list(inspect.signature(torch.cuda.synchronize).parameters) == ["device"]
    assert next(iter(inspect.signature(torch.compile).parameters)) == "model"


def check_subclasses_and_modes_still_have_their_say() -> None:
    seen = []

    class Mine(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            seen.append(function)
            return super().__torch_function__(function, types, args, kwargs or {})

    moved = torch.ones(3).as_subclass(Mine).to("cuda")
    assert type(moved) is Mine
    assert moved.device == CUDA
    assert torch.Tensor.to in seen

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    seen.clear()
    with Watch():
        torch.zeros(3, device="cuda").sum().item()
    assert seen[0] is torch.zeros
    assert [what for what, _ in EVENTS.seen if what != "copy"] == ["h2d", "item"]


def check_dispatch_modes_see_the_operators() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            seen.append(str(operator))
            return operator(*args, **(kwargs or {}))

    x = on()
    with Watch():
        (x + 1).sum().item()
    assert seen == ["aten.add.Tensor", "aten.sum.default", "aten._local_scalar_dense.default"]


def check_torchscript() -> None:
    def scale(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * torch.ones_like(x) + torch.zeros([1], device=x.device)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        assert torch.jit.script(scale)(on()).tolist() == [1, 1, 1]
        assert torch.jit.script(nn.Linear(3, 2).cuda())(on((1, 3))).device == CUDA


def check_a_second_install_is_refused() -> None:
    try:
        simulated.install(EVENTS)
    except simulated.UnavailableError as error:
        assert "already" in str(error)
    else:
        raise AssertionError("installed twice")
