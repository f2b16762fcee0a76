"""From what Kineto hands out to the record: fake events of new and old torch versions, and tuples made by hand."""

import json
from types import SimpleNamespace

import pytest

from torchperf_lint.activities import CALL, COPY, KERNEL, MARK, Activity
from torchperf_lint.runtime import window_record
from torchperf_lint.runtime.probes import _kineto

HOST, DEVICE = "cpu", "cuda"
BASE_NS = 1_700_000_000_000_000_000


def event(name, activity_type, device, start_us, us, thread, correlation, meta=""):
    """One of torch's `_KinetoEvent`, as far as it is asked."""
    return SimpleNamespace(
        name=lambda: name,
        activity_type=lambda: activity_type,
        device_type=lambda: device,
        device_index=lambda: 0,
        device_resource_id=lambda: thread,
        correlation_id=lambda: correlation,
        start_ns=lambda: BASE_NS + int(start_us * 1000),
        duration_ns=lambda: int(us * 1000),
        metadata_json=lambda: meta,
    )


def old(made):
    """As torch 2.2 has them: microseconds, no types, no metadata."""
    known = vars(made)
    names = ("activity_type", "start_ns", "duration_ns", "metadata_json")
    kept = {name: value for name, value in known.items() if name not in names}
    us = {"start_us": lambda: known["start_ns"]() // 1000, "duration_us": lambda: known["duration_ns"]() // 1000}
    return SimpleNamespace(**kept, **us)


EVENTS = [
    event("tpl.sync:3:stream", "user_annotation", HOST, 10, 2, 44, 0),
    event("tpl.sync:3:stream", "gpu_user_annotation", DEVICE, 10, 2, 7, 0),
    event("cudaMemcpyAsync", "cuda_runtime", HOST, 12, 3, 44, 9),
    event("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy", DEVICE, 20.5, 2, 7, 9, '"bytes": 4, "stream": 7'),
    event("Stream Sync", "cuda_sync", DEVICE, 20, 5, 7, 10),
    event("void kernel<float>()", "kernel", DEVICE, 1, 8.25, 7, 8),
]


def test_events_become_tuples():
    found = list(_kineto._read(EVENTS, HOST, BASE_NS))
    assert found == [
        Activity(MARK, "tpl.sync:3:stream", 10, 12, 44, 0),
        Activity(CALL, "cudaMemcpyAsync", 12, 15, 44, 9),
        Activity(COPY, "Memcpy DtoH (Device -> Pageable)", 20.5, 22.5, 7, 9, 4),
        Activity(KERNEL, "void kernel<float>()", 1, 9.25, 7, 8),
    ]


def test_those_of_older_versions_too():
    found = list(_kineto._read([old(made) for made in EVENTS], HOST, BASE_NS))
    assert [(a.kind, a.start, a.nbytes) for a in found] == [
        (MARK, 10, None),
        (CALL, 12, None),
        (COPY, 20, None),
        (KERNEL, 1, None),
    ]
    assert list(_kineto._read([], HOST, BASE_NS)) == []


def two_steps(kernels=2):
    """Each step launches a kernel of 40 us at its start, and waits for it; the next step follows at 100."""
    made = []
    for step in range(kernels + 1):
        at = 100.0 * step
        made.append(Activity(CALL, "cudaLaunchKernel", at, at + 2, 44, step + 1))
        made.append(Activity(KERNEL, "k" * 500, at + 5, at + 45, 7, step + 1))
        made.append(Activity(MARK, "tpl.sync:3:stream", at + 3, at + 4, 44))
        made.append(Activity(CALL, "cudaStreamSynchronize", at + 4, at + 50, 44))
    return made


def test_the_record_of_a_window():
    record = window_record.of(two_steps(), [0.0, 100.0, 200.0], 1_700_000_000.0, left_out=4)
    assert (record["record"], record["steps"], record["left_out"], record["at"]) == ("window", 2, 4, 1_700_000_000.0)
    assert record["boundaries"] == [0, 100, 200]
    assert (record["tracks"], record["names"]) == (["stream 7"], ["k" * 120])
    assert record["intervals"] == [[0, 0, 5, 40], [0, 0, 105, 40], [0, 0, 205, 40]]
    assert record["waits"][0] == [3, "stream", 3, 47]
    assert record["sites"] == [[3, "stream", 2, 0.094, pytest.approx(0.094)]]
    assert record["marks"] == 3
    kernels = record["kernels"]
    assert (kernels["steps"], kernels["count"], kernels["median_us"], kernels["ms"]) == (2, 2, 40, 0.2)
    assert (kernels["busy_share"], kernels["idle_share"], kernels["copy_share"]) == (0.4, 0.6, 0)
    assert kernels["bubble_ms"] == pytest.approx(0.094)
    assert json.loads(json.dumps(record)) == record


def test_a_picture_has_its_limit_and_figures_have_none():
    record = window_record.of(two_steps(5000), [0.0, 500_000.0], 0.0, left_out=3)
    assert (len(record["intervals"]), record["cut"]) == (4000, 1001)
    assert record["kernels"]["count"] == 5000
    assert len(json.dumps(record)) < 200_000


def test_nothing_on_the_device():
    record = window_record.of([Activity(MARK, "tpl.sync:3:stream", 3, 4, 44)], [0.0, 100.0], 0.0, left_out=3)
    assert (record["kernels"], record["sites"], record["intervals"], record["marks"]) == (None, [], [], 1)
