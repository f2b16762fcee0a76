"""What a copy is, and that nobody notices who counts it. The "meta" device stands in for the one that is not there."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from torchperf_lint.runtime.probes import _copies, _cuda, transfers  # noqa: E402

METHODS = ("to", "cuda", "cpu", "copy_", "tolist")
CPU, FIRST, SECOND, OTHER = (torch.device(name) for name in ("cpu", "cuda:0", "cuda:1", "xpu:0"))


@pytest.fixture
def meta(watched):
    """A session that counts copies to the meta device, which holds no data and cannot be copied from."""
    before = {name: vars(torch.Tensor).get(name) for name in METHODS}
    transfers.watch(watched, torch, "meta")
    yield watched
    for name, method in before.items():
        if method is None:
            delattr(torch.Tensor, name)
        else:
            setattr(torch.Tensor, name, method)


def as_told(event):
    return [event[name] for name in ("what", "n", "bytes", "pinned", "blocking")]


@pytest.mark.parametrize(
    ("source", "target", "way"),
    [
        (CPU, FIRST, "h2d"),
        (FIRST, CPU, "d2h"),
        (FIRST, SECOND, "d2d"),
        (FIRST, FIRST, None),
        (CPU, CPU, None),
        (CPU, OTHER, None),
        (OTHER, CPU, None),
    ],
)
def test_the_direction_of_a_copy(source, target, way):
    assert _copies.direction(source, target, "cuda") == way


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "expected"),
    [
        ("to", ("cuda",), {}, False),
        ("to", ("cuda",), {"non_blocking": True}, True),
        ("to", ("cuda", torch.float16, True), {}, True),
        ("to", ("cuda", None, False), {}, False),
        ("to", (0, torch.float16, True), {}, True),
        ("to", (FIRST, torch.float16, True), {}, True),
        ("to", (torch.float16, True), {}, True),
        ("to", (torch.ones(1), True), {}, True),
        ("to", (torch.ones(1), False, True), {}, False),
        ("to", (), {"device": "cuda", "non_blocking": True}, True),
        ("to", (), {"device": "cuda"}, False),
        ("cuda", (), {}, False),
        ("cuda", (0,), {}, False),
        ("cuda", (None, True), {}, True),
        ("cpu", (), {}, False),
        ("copy_", (torch.ones(1), True), {}, True),
        ("copy_", (torch.ones(1),), {"non_blocking": True}, True),
        ("copy_", (torch.ones(1),), {}, False),
    ],
)
def test_whether_a_call_asks_not_to_block(name, args, kwargs, expected):
    assert _copies.asks_not_to_block(name, args, kwargs, (str, int, torch.device)) is expected


@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_the_size_of_what_is_copied():
    dense = torch.zeros(3, 5, dtype=torch.float16)
    dense[0, 0] = 1
    assert _copies.size(dense) == 30
    assert _copies.size(dense.to_sparse()) == 2 * 8 + 2
    assert _copies.size(dense.float().to_sparse_csr()) == 4 * 8 + 8 + 4


def test_a_blocking_copy_is_counted_where_it_is_asked_for(meta):
    tensor = torch.ones(3, 4)
    for _ in range(2):
        tensor.to("meta")
    (event,) = meta.found("copy")
    assert as_told(event) == ["h2d", 2, 96, False, True]
    assert event["function"] == "test_a_blocking_copy_is_counted_where_it_is_asked_for"
    assert event["ms"] > 0


def test_a_window_that_is_open_gets_a_mark_of_each_copy(meta):
    marks = []
    meta.mark = marks.append
    torch.ones(3, 4).to("meta")
    ((what, site, way, us, nbytes),) = [mark.split(":") for mark in marks]
    (event,) = meta.found("copy")
    assert (what, int(site), way, int(nbytes)) == ("copy", event["site"], "h2d", 48)
    assert int(us) >= event["ms"] * 1000


def test_a_copy_that_does_not_block_has_no_time(meta):
    torch.ones(3).to("meta", non_blocking=True)
    (event,) = meta.found("copy")
    assert as_told(event) == ["h2d", 1, 12, False, False]
    assert event["ms"] is None


def test_the_bytes_are_those_that_arrive(meta):
    torch.ones(8).to("meta", torch.float16)
    torch.empty(8, dtype=torch.float64, device="meta").copy_(torch.ones(8))
    assert sorted(event["bytes"] for event in meta.found("copy")) == [16, 64]


def test_pinned_memory_is_told_from_pageable(meta, monkeypatch):
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: True)
    torch.ones(3).to("meta", non_blocking=True)
    (event,) = meta.found("copy")
    assert as_told(event) == ["h2d", 1, 12, True, False]


def test_memory_that_cannot_be_asked_is_neither(meta, monkeypatch):
    def unknown(self):
        raise RuntimeError("no")

    monkeypatch.setattr(torch.Tensor, "is_pinned", unknown)
    torch.ones(3).to("meta")
    (event,) = meta.found("copy")
    assert event["pinned"] is None


def test_a_model_is_one_copy_per_tensor_at_one_line(meta):
    torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).to("meta")
    assert sum(event["n"] for event in meta.found("copy")) == 7
    assert len({event["line"] for event in meta.found("copy")}) == 1


def test_what_stays_where_it_is_is_no_copy(meta):
    tensor = torch.ones(3)
    tensor.to("cpu").to(torch.float64).cpu().copy_(tensor).tolist()
    tensor.to("cpu", copy=True)
    torch.empty(0).to("meta")
    assert meta.found("copy") == []


def test_what_a_compiler_traces_is_no_copy(meta):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        mode.from_tensor(torch.ones(3)).to("meta")
        torch.ones(3).to("meta")
    assert meta.found("copy") == []


def test_a_list_is_read_from_the_device(meta):
    copies = _copies.Copies(meta, torch, "cpu")
    copies.read(torch.ones(5), meta.waits.told, 0.0)
    copies.read(torch.ones(0), meta.waits.told, 0.0)
    (event,) = meta.found("copy")
    assert as_told(event) == ["d2h", 1, 20, False, True]


def test_a_copy_within_a_copy_is_one(meta):
    class Nested(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Nested():
        torch.ones(3).to("meta")
    assert meta.counted("copy") == {"h2d": 1}


def test_a_subclass_is_counted_without_its_knowing(meta):
    class Sub(torch.Tensor):
        pass

    torch.ones(3).as_subclass(Sub).to("meta")
    assert meta.counted("copy") == {"h2d": 1}


def test_the_timeline_is_told_of_a_blocking_copy(meta, monkeypatch):
    told = []
    monkeypatch.setattr(meta.timeline, "waited", told.append)
    torch.ones(3).to("meta", non_blocking=True)
    assert told == []
    torch.ones(3).to("meta")
    assert len(told) == 1


def test_a_wait_that_the_timeline_knows_is_not_told_again(meta, monkeypatch):
    told = []
    copies = _copies.Copies(meta, torch, "meta")
    monkeypatch.setattr(meta.timeline, "waited", told.append)
    before = meta.waits.told
    meta.waits.waited(5.0)
    copies.moved("to", torch.ones(3), torch.ones(3, device="meta"), ("meta",), {}, before, 0.0)
    assert told == [5.0]
    assert meta.counted("copy") == {"h2d": 1}


def test_a_failure_of_ours_is_noted_and_goes_no_further(meta, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(meta.recorder, "event", broken)
    assert [torch.ones(3).to("meta").shape for _ in range(20)] == [(3,)] * 20
    assert torch.empty(3, device="meta").copy_(torch.ones(3)).shape == (3,)
    monkeypatch.undo()
    assert meta.probe_state("transfers") == "failed"


def test_the_methods_are_in_place_before_the_device_is_opened(watched):
    class Tensor:
        """What is asked of torch.Tensor."""

    for name in METHODS:
        setattr(Tensor, name, lambda self: self)
    originals = dict(vars(Tensor))
    queued = []
    built = SimpleNamespace(
        Tensor=Tensor,
        device=torch.device,
        strided=torch.strided,
        nn=torch.nn,
        _C=SimpleNamespace(_cuda_getDeviceCount=None, DisableTorchFunction=None),
        cuda=SimpleNamespace(_lazy_call=queued.append),
    )
    assert transfers.install(watched, built) == _cuda.NOT_OPENED
    assert [name for name in METHODS if vars(Tensor)[name] is originals[name]] == []
    queued[0]()
    assert watched.probe_state("transfers") == "watching"


def test_a_build_without_cuda_says_so_and_replaces_nothing(watched):
    if _cuda.is_built(torch):
        pytest.skip("this torch is built with CUDA")
    before = torch.Tensor.to
    assert transfers.install(watched, torch) == _cuda.NO_CUDA
    assert torch.Tensor.to is before


def test_the_simulated_device_reports_its_own_copies(simulated):
    before = torch.Tensor.to
    assert transfers.install(simulated, torch) is None
    assert torch.Tensor.to is before


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the same script sees when it is watched, and when it is not."""
    script = Path(__file__).with_name("transparent.py")
    events = tmp_path_factory.mktemp("transparent") / "run.events.jsonl"
    running = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script), mode, str(events)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
            text=True,
        )
        for mode in ("plain", "watched")
    ]
    ended = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], ended
    return [json.loads(out) for out, _ in ended]


KINDS = (
    "dynamo",
    "dynamo in a process group",
    "script",
    "trace",
    "fx",
    "subclass",
    "mode",
    "overrides",
    "errors",
    "vmap",
)


@pytest.mark.parametrize("what", KINDS)
def test_nobody_notices(told, what):
    plain, watched = told
    assert watched[what] == plain[what]


def test_the_watched_script_had_its_lines_watched_too(told):
    plain, watched = told
    assert watched["lines were watched"]
    if sys.version_info < (3, 12):
        assert not plain["lines were watched"]


def test_dynamo_compiled_what_it_was_given(told):
    plain, _ = told
    assert [frames["ok"] for _, frames, _, _ in plain["dynamo"]] != [0, 0, 0, 0]
    assert plain["dynamo"][0][3] == 0
    assert plain["dynamo"][1][3] > 0
