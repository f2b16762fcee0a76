"""Asks a card what the probes see of it, through a session like any script's: facts.py OUT [SECTION ...].

Writes one JSON object. Each section stands alone: where one fails, its traceback stands in its place. Times are in
milliseconds. FACTS_SIMULATED=1 goes through the motions on the simulated device, which measures nothing.
"""

from __future__ import annotations

import gc
import json
import operator
import os
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "runtime" / "simulated")]

from torchperf_lint.runtime import session as sessions  # noqa: E402

OUT = Path(sys.argv[1]).resolve()
SIMULATED = bool(os.environ.get("FACTS_SIMULATED"))
SESSION = sessions.prepare(
    {
        "events": str(OUT.with_suffix(".events.jsonl")),
        "owner_pid": os.getppid(),
        "project_root": str(ROOT),
        "simulate": SIMULATED,
    }
)

import torch  # noqa: E402 -- the session must see this import

from torchperf_lint.runtime.probes._quiet import Quiet  # noqa: E402

REPEATS = 5
KERNEL_MS = 20.0
BRIEF_MS = 10.0
ROUNDS = 20_000


class Seen:
    """What the recorder is told, kept as it comes."""

    def __init__(self) -> None:
        self.events: list[dict] = []
        self._event = SESSION.recorder.event

    def event(self, kind, what, *, ms=None, nbytes=0, attributes=(), depth=2, key=None):
        key = key or SESSION.sites.key(depth + 1)
        place = SESSION.sites.resolve(key).place if key is not None else None
        where = {"function": place.function, "line": place.line} if place is not None else {}
        self.events.append({"kind": kind, "what": what, "ms": ms, "bytes": nbytes, **dict(attributes), **where})
        self._event(kind, what, ms=ms, nbytes=nbytes, attributes=attributes, key=key)

    def of(self, *kinds):
        return [event for event in self.events if event["kind"] in kinds]

    def during(self, action):
        """The events of a call, and nothing that came before."""
        self.events.clear()
        action()
        # The interpreter tells of a wait's end at its next check.
        time.sleep(0)
        return list(self.events)


SEEN = Seen()
SESSION.recorder.event = SEEN.event


def first_copy():
    """The copy that opens the device; has to come first."""
    before = torch.cuda.is_initialized()
    host = torch.ones(3)
    events = SEEN.during(lambda: host.to("cuda"))
    return {"was_open": before, "events": events}


def machine():
    properties = torch.cuda.get_device_properties(0)
    return {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": sys.version.split()[0],
        "device": properties.name,
        "uuid": str(getattr(properties, "uuid", None)),
    }


def per_ms():
    """What `torch.cuda._sleep` needs for a millisecond, in its own unit."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cycles = 50_000_000
    for _ in range(2):
        start.record()
        torch.cuda._sleep(cycles)
        end.record()
        torch.cuda.synchronize()
    return cycles / start.elapsed_time(end)


def waits():
    """Name -> a call that waits for all that is queued."""
    scalar, values = torch.ones((), device="cuda"), torch.rand(64, device="cuda")
    mask, whole = values > 0.5, torch.arange(64, device="cuda") % 7
    host, stream = torch.ones(64), torch.cuda.current_stream()
    event = torch.cuda.Event()
    return {
        "item": scalar.item,
        "float": lambda: float(scalar),
        "bool": lambda: bool(scalar),
        "if": lambda: 1 if scalar else 0,
        "tolist": values.tolist,
        "cpu": values.cpu,
        "to host": lambda: values.to("cpu"),
        "to device": lambda: host.to("cuda"),
        "mask index": lambda: values[mask],
        "nonzero": mask.nonzero,
        "unique": whole.unique,
        "device synchronize": torch.cuda.synchronize,
        "stream synchronize": stream.synchronize,
        "event synchronize": lambda: (event.record(), event.synchronize()),
        "accelerator synchronize": torch.accelerator.synchronize,
    }


def blocked_time():
    """Each wait behind a kernel of known length, and on an idle device."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    cycles = 0 if SIMULATED else int(per_ms() * KERNEL_MS)
    rows = {}
    for name, wait in waits().items():
        torch.cuda.synchronize()
        wait()
        behind = []
        for _ in range(REPEATS):
            torch.cuda.synchronize()
            start.record()
            if not SIMULATED:
                torch.cuda._sleep(cycles)
            end.record()
            events = [event for event in SEEN.during(wait) if event["kind"] == "sync"]
            torch.cuda.synchronize()
            measured = [event["ms"] for event in events]
            behind.append({"kernel_ms": None if SIMULATED else start.elapsed_time(end), "blocked_ms": measured})
        torch.cuda.synchronize()
        idle = [event["ms"] for event in SEEN.during(wait) if event["kind"] == "sync"]
        rows[name] = {"behind": behind, "idle_ms": idle}
    return rows


def operations():
    """Each row of the operations table: what the card does, beside what the simulated device would report.

    `behind_ms` is how long the call takes the host behind a kernel of BRIEF_MS: as long where anything in it waits,
    whether a probe sees that or not.
    """
    import copy
    import math

    import numpy as np
    from measure import names
    from operations import SILENT, WAITS

    rows = {}
    cycles = 0 if SIMULATED else int(per_ms() * BRIEF_MS)
    for expression in (*WAITS, *SILENT):
        scope = {"torch": torch, "np": np, "math": math, "copy": copy, **names("cuda")}
        torch.cuda.synchronize()
        try:
            events = SEEN.during(lambda: eval(expression, scope))  # noqa: B023
        except Exception as error:  # noqa: BLE001 -- a row of its own
            rows[expression] = {"error": f"{type(error).__name__}: {error}"[:300]}
            continue
        rows[expression] = {"syncs": [e["what"] for e in events if e["kind"] == "sync"], "copies": copied(events)}
        if not SIMULATED:
            fresh = scope | names("cuda")
            rows[expression]["behind_ms"] = behind(cycles, lambda: eval(expression, fresh))  # noqa: B023
    return rows


def behind(cycles, call):
    """Milliseconds that a call takes behind a kernel of so many cycles, the second time it is called."""
    call()
    torch.cuda.synchronize()
    torch.cuda._sleep(cycles)
    started = time.perf_counter()
    call()
    ms = (time.perf_counter() - started) * 1000
    torch.cuda.synchronize()
    return ms


def copied(events):
    """Copies by the simulated table's names."""
    counts = Counter()
    for event in events:
        if event["kind"] == "copy":
            name = event["what"] + ("" if event["blocking"] else "-async") + ("-pinned" if event["pinned"] else "")
            counts[name] += 1
    return dict(counts)


def transfers():
    """Direction, bytes, pinned and blocking of single copies."""
    host, pinned, there = torch.ones(1000), torch.ones(1000).pin_memory(), torch.ones(1000, device="cuda")
    calls = {
        "pageable to device": lambda: host.to("cuda"),
        "pageable to device, not blocking": lambda: host.to("cuda", non_blocking=True),
        "pinned to device": lambda: pinned.to("cuda"),
        "pinned to device, not blocking": lambda: pinned.cuda(non_blocking=True),
        "to host": there.cpu,
        "to host, not blocking": lambda: there.to("cpu", non_blocking=True),
        "into pinned, not blocking": lambda: pinned.copy_(there, non_blocking=True),
        "on the device": lambda: there.to("cuda", torch.float16),
        "model": lambda: torch.nn.Linear(10, 10).to("cuda"),
    }
    return {name: SEEN.during(call) for name, call in calls.items()}


def copy_kinds():
    """What the profiler calls each copy, which knows the memory that it went from and to."""
    from torch.profiler import ProfilerActivity, profile

    host, there = torch.ones(512, 512), torch.ones(512, 512, device="cuda")
    pinned = host.pin_memory()
    calls = {
        "pageable": lambda: host.to("cuda"),
        "pageable, not blocking": lambda: host.to("cuda", non_blocking=True),
        "pinned": lambda: pinned.to("cuda"),
        "pinned, not blocking": lambda: pinned.to("cuda", non_blocking=True),
        "pinned columns, not blocking": lambda: pinned[:, 1:3].to("cuda", non_blocking=True),
        "pinned transposed, not blocking": lambda: pinned.t().to("cuda", non_blocking=True),
        "pinned to half": lambda: pinned.to("cuda", torch.float16),
        "pinned to half, not blocking": lambda: pinned.to("cuda", torch.float16, non_blocking=True),
        "index by a list": lambda: there[[0, 2]],
        "index by a mask of the host": lambda: there[torch.tensor([True, False] * 256)],
        "to pinned, not blocking": lambda: pinned.copy_(there, non_blocking=True),
        "half to pinned, not blocking": lambda: pinned.copy_(there.half(), non_blocking=True),
        "half to pinned": lambda: pinned.copy_(there.half()),
    }
    kinds = {}
    for name, call in calls.items():
        call()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
            call()
            torch.cuda.synchronize()
        kinds[name] = [e.name for e in profiled.events() if e.name.startswith("Memcpy")]
        kinds[name].append({"told": copied(SEEN.during(call))})
    return kinds


def exceptions():
    """What the script catches where an exception is on its way while tensors are freed."""
    from raising import CASES

    return {name: case() for name, case in CASES.items()}


def hooks_and_threads():
    """Who is named for a wait within `backward()`, of a hook, and on a thread of the script."""
    leaf = torch.rand(64, device="cuda", requires_grad=True)
    mask = leaf.detach() > 0.5

    def in_hook(gradient):
        gradient.sum().item()

    def hooked():
        value = leaf * 2
        value.register_hook(in_hook)
        value.sum().backward()

    def masked():
        total = leaf[mask].sum()
        torch.cuda.synchronize()
        SEEN.events.clear()
        total.backward()

    def on_thread():
        thread = threading.Thread(target=lambda: leaf.detach().sum().item())
        thread.start()
        thread.join()

    return {call.__name__: SEEN.during(call) for call in (hooked, masked, on_thread)}


def barrier():
    """Whether the waits of torch.distributed on one NCCL rank are seen."""
    from torch import distributed

    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
        try:
            tensor = torch.ones(4, device="cuda")
            distributed.all_reduce(tensor)
            torch.cuda.synchronize()
            calls = {
                "barrier": lambda: distributed.barrier(device_ids=[0]),
                "all_reduce": lambda: distributed.all_reduce(tensor),
                "work.wait": lambda: distributed.all_reduce(tensor, async_op=True).wait(),
            }
            return {name: SEEN.during(call) for name, call in calls.items()}
        finally:
            distributed.destroy_process_group()


def profiler():
    """What the profiler waits for on its own account."""
    from torch.profiler import ProfilerActivity, profile

    tensor = torch.ones(64, device="cuda")

    def profiled():
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            tensor.sum()

    profiled()
    return SEEN.during(profiled)


def sync_debug_mode():
    """Whether the script's own mode works as it does without us, and what it warns of."""
    import warnings

    scalar = torch.ones((), device="cuda")
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        caught.clear()
        events = SEEN.during(scalar.item)
        torch.cuda.set_sync_debug_mode("default")
    return {"before": before, "warned": [str(warning.message) for warning in caught], "events": events}


def empty_cache():
    del_me = torch.empty(1 << 26, device="cuda")
    del del_me
    return SEEN.during(torch.cuda.empty_cache)


def costs():
    """What our hooks cost, in microseconds: an allocation silenced, called back in C and in Python; an idle wait."""
    from torch.cuda import _gpu_trace

    scalar = torch.ones((), device="cuda")

    def per_call(action):
        started = time.perf_counter()
        for _ in range(ROUNDS):
            action()
        return (time.perf_counter() - started) / ROUNDS * 1e6

    def allocate():
        torch.empty(1 << 20, device="cuda")

    registries = (_gpu_trace.MemoryAllocationCallbacks, _gpu_trace.MemoryDeallocationCallbacks)
    (quiet,) = [found for found in gc.get_objects() if type(found) is Quiet]
    silenced = per_call(allocate)
    quiet.end()
    called = per_call(allocate)
    nothings = [vars(registry).pop("fire_callbacks", None) for registry in registries]
    python = per_call(allocate)
    for registry, nothing in zip(registries, nothings, strict=True):
        if nothing is not None:
            registry.fire_callbacks = nothing
    again = quiet.begin()
    SESSION.recorder.event = SEEN._event
    watched = per_call(scalar.item)
    hook = vars(_gpu_trace.StreamSynchronizationCallbacks).pop("fire_callbacks", None)
    _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks = operator.truth
    bare = per_call(scalar.item)
    if hook is not None:
        _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks = hook
    SESSION.recorder.event = SEEN.event
    return {
        "allocate_us": silenced,
        "allocate_called_us": called,
        "allocate_python_us": python,
        "item_us": watched,
        "item_bare_us": bare,
        "silenced_again": again,
    }


def nvml():
    """The device that torch names, looked up by its UUID."""
    import pynvml

    pynvml.nvmlInit()
    properties = torch.cuda.get_device_properties(0)
    handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{properties.uuid}")
    name = pynvml.nvmlDeviceGetName(handle)
    return {"torch": properties.name, "nvml": name if isinstance(name, str) else name.decode()}


SECTIONS = (
    first_copy,
    machine,
    blocked_time,
    operations,
    transfers,
    copy_kinds,
    exceptions,
    hooks_and_threads,
    barrier,
    profiler,
    sync_debug_mode,
    empty_cache,
    costs,
    nvml,
)


ON_A_CARD = (copy_kinds, exceptions, barrier, profiler, costs, nvml)
"""What the simulated device has no part in."""


def main() -> None:
    wanted = sys.argv[2:]
    facts = {"simulated": SIMULATED}
    for section in SECTIONS:
        if section.__name__ not in (wanted or [section.__name__]) or (SIMULATED and section in ON_A_CARD):
            continue
        try:
            facts[section.__name__] = section()
        except Exception:  # noqa: BLE001 -- the next section has other questions
            facts[section.__name__] = {"error": traceback.format_exc(limit=-4)}
    SESSION.recorder.flush()
    from torchperf_lint import events

    probes = events.read(SESSION.recorder.path).probes
    facts["probes"] = {name: [record["state"], record["reason"]] for name, record in probes.items()}
    OUT.write_text(json.dumps(facts, indent=1), encoding="utf-8")
    failed = {name: fact["error"] for name, fact in facts.items() if isinstance(fact, dict) and "error" in fact}
    for name, error in failed.items():
        print(f"{name}: {error.strip().splitlines()[-1]}")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
