"""The figures of a profiler's window, each definition by numbers made by hand. Times are microseconds."""

import random

import pytest

from torchperf_lint import intervals
from torchperf_lint.activities import CALL, COPY, FILL, KERNEL, MARK, Activity, kind_of
from torchperf_lint.bubbles import waits_of
from torchperf_lint.kernels import figures, on_tensor_cores

ITEM = (7, "stream")
HOST, STREAM = 100, 7


class Trace:
    """Launches and what they launch, one number for both."""

    def __init__(self):
        self.all = []

    def kernel(self, launched, start, end, name="k", stream=STREAM, kind=KERNEL, nbytes=None, device=0):
        number = len(self.all) + 1
        call = "cudaLaunchKernel" if kind == KERNEL else "cudaMemcpyAsync"
        self.all.append(Activity(CALL, call, launched, launched + 3, HOST, number))
        self.all.append(Activity(kind, name, start, end, stream, number, nbytes, device))
        return self

    def copy(self, launched, start, end, name="Memcpy HtoD (Pinned -> Device)", **more):
        return self.kernel(launched, start, end, name, kind=COPY, **more)

    def wait(self, start, end, site=ITEM[0], what=ITEM[1], thread=HOST, call="cudaStreamSynchronize"):
        self.all.append(Activity(MARK, f"tpl.sync:{site}:{what}", start, start + 1, thread))
        self.all.append(Activity(CALL, call, start + 1, end, thread))
        return self

    def mark(self, name, at):
        self.all.append(Activity(MARK, name, at, at + 1, HOST))
        return self

    def of(self, *boundaries):
        return figures(self.all, boundaries)


def test_the_union_of_streams_that_overlap():
    found = Trace().kernel(0, 10, 50).kernel(5, 30, 80, stream=8).kernel(90, 90, 100).kernel(101, 110, 111).of(0, 100)
    assert (found.start, found.end) == (10, 110)
    assert (found.busy_us, found.idle_us, found.kernel_us) == (80, 20, 100)
    assert (found.count, found.median_us) == (3, 40)


def test_a_sync_that_drains_the_queue_has_the_gap_behind_it():
    """The host is blocked until 102; the next launch, at 120, reaches the device at 125."""
    found = Trace().kernel(0, 5, 100).wait(10, 102).kernel(120, 125, 200).kernel(201, 201, 202).of(0, 200)
    assert found.bubbles == {ITEM: 25}
    assert found.waits == {ITEM: (1, 92)}
    assert found.idle_us == 26


def test_a_device_bound_loop_pays_nothing_for_its_sync():
    """Another stream has work until 300: the device is never idle, however long the host waits."""
    trace = (
        Trace().kernel(0, 5, 100).kernel(1, 5, 300, stream=8).wait(10, 102).kernel(120, 125, 310).kernel(401, 310, 311)
    )
    assert trace.of(0, 400).bubbles == {ITEM: 0}
    assert trace.of(0, 400).idle_us == 0


def test_a_sync_on_an_idle_device_costs_no_more_than_it_took():
    """The host is slow, not the wait: without it the kernel at 500 would have come 10 us earlier."""
    found = Trace().kernel(0, 5, 20).wait(30, 40).kernel(480, 500, 510).kernel(601, 610, 611).of(0, 600)
    assert found.bubbles == {ITEM: 10}


def test_the_copy_that_a_read_makes_belongs_to_it():
    """`.item()` on a device that idles already: its own copy ends at 36, and the gap behind it is 464 long."""
    trace = Trace().kernel(0, 5, 20).copy(32, 35, 36, "Memcpy DtoH (Device -> Pageable)").wait(30, 40)
    found = trace.kernel(480, 500, 510).kernel(601, 610, 611).of(0, 600)
    assert found.bubbles == {ITEM: 10}


def test_a_gap_that_two_syncs_share_is_counted_once():
    """The first drains the queue for 80 us, the second finds it empty for 20."""
    trace = Trace().kernel(0, 5, 100).wait(22, 102).wait(110, 130, site=8).kernel(140, 150, 200).kernel(201, 200, 201)
    found = trace.of(0, 200)
    assert found.bubbles == {ITEM: pytest.approx(40), (8, "stream"): pytest.approx(10)}
    assert found.idle_us == 50


def test_what_is_launched_before_the_wait_ends_is_not_kept_by_it():
    """Another thread launched meanwhile: the gap is none of the wait's."""
    found = Trace().kernel(0, 5, 50).wait(10, 100).kernel(60, 90, 200).kernel(201, 200, 201).of(0, 200)
    assert found.bubbles == {ITEM: 0}


def test_waits_of_other_threads_are_paired_on_their_own():
    trace = Trace().wait(10, 50, thread=1).wait(12, 20, site=9, thread=2)
    assert [(w.site, w.start, w.end) for w in waits_of(trace.all)] == [(7, 10, 50), (9, 12, 20)]


def test_a_mark_without_a_call_is_no_wait():
    trace = Trace().mark("tpl.sync:7:stream", 5).wait(10, 50, site=9)
    assert [w.site for w in waits_of(trace.all)] == [9]


def test_threads_that_bear_other_numbers_with_cupti_are_joined_by_time():
    trace = Trace().mark("tpl.sync:7:stream", 5)
    trace.all.append(Activity(CALL, "cudaEventSynchronize", 7, 30, 999_999))
    assert [(w.start, w.end) for w in waits_of(trace.all)] == [(5, 30)]


def test_the_edges_of_the_window_are_those_of_steps_on_the_device():
    """The host runs a step ahead: step 1 is launched from 0 to 100 and computed from 150 to 250."""
    trace = Trace().kernel(-50, 20, 120).kernel(0, 150, 250).kernel(100, 250, 350).kernel(200, 360, 460)
    found = trace.of(0, 100, 200)
    assert (found.start, found.end, found.steps, found.count) == (150, 360, 2, 2)
    assert (found.busy_us, found.idle_us) == (200, 10)


def test_a_wait_right_after_the_last_step_has_the_gap_before_the_next():
    trace = Trace().kernel(0, 10, 90).wait(105, 110).kernel(115, 120, 130)
    assert trace.of(0, 100).bubbles == {ITEM: 5}
    assert trace.of(0, 100).waits == {}, "it is a wait of the next step"


def test_without_a_next_step_the_window_ends_with_the_host():
    found = Trace().kernel(0, 10, 90).of(0, 100)
    assert (found.end, found.idle_us) == (100, 10)


def test_the_order_of_events_does_not_matter():
    trace = Trace().kernel(0, 5, 100).wait(22, 102).wait(110, 130, site=8).kernel(140, 150, 200).kernel(201, 201, 202)
    first = trace.of(0, 200)
    for seed in range(5):
        random.Random(seed).shuffle(trace.all)
        assert trace.of(0, 200) == first


def test_kernels_a_step_short_ones_and_tensor_cores():
    trace = Trace().kernel(0, 0, 4).kernel(1, 10, 18, "ampere_fp16_s16816gemm_fp16_128x128_ldg8_nn")
    found = trace.kernel(2, 20, 48, "cutlass_80_simt_sgemm_128x64").kernel(101, 110, 111).of(0, 50, 100)
    assert (found.count, found.median_us, found.steps) == (3, 8, 2)
    assert (found.short_us, found.tensor_core_us, found.kernel_us) == (12, 8, 40)


TENSOR_CORES = {
    "volta_h884gemm_64x128_ldg8_nn": True,
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64": True,
    "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNT": True,
    "cutlass_tensorop_s16816gemm_f16_128x128_32x5_nt_align8": True,
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>": True,
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma": False,
    "ampere_sgemm_32x128_tn": False,
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>": False,
}


@pytest.mark.parametrize("name", TENSOR_CORES)
def test_tensor_cores_by_name(name):
    assert on_tensor_cores(name) is TENSOR_CORES[name]


def test_copies_on_the_critical_path():
    """The copy runs for 40 us, 10 of them beside a kernel; a fill moves nothing."""
    trace = Trace().copy(0, 0, 40).kernel(1, 30, 80).kernel(60, 90, 95, "Memset (Device)", kind=FILL)
    found = trace.kernel(101, 100, 110).of(0, 100)
    assert (found.exposed_us, found.busy_us, found.idle_us) == (30, 50, 15)


def test_copies_by_line_with_their_bytes():
    """A mark is set when the call has returned, and says how long it took; a copy without one has no line."""
    pageable = "Memcpy HtoD (Pageable -> Device)"
    trace = Trace().copy(10, 12, 20, pageable).mark("tpl.copy:3:h2d:15:4096", 22).copy(30, 31, 33, pageable)
    trace.copy(42, 44, 48, "Memcpy DtoH (Device -> Pinned)", nbytes=8).mark("tpl.copy:4:d2h:6:9", 46)
    found = trace.kernel(101, 100, 110).of(0, 100)
    assert [tuple(copy) for copy in found.copies] == [
        (0, "h2d", 1, 2, None),
        (3, "h2d", 1, 8, 4096),
        (4, "d2h", 1, 4, 8),
    ]
    assert found.pageable == (2, 10)


def test_only_the_device_that_computes_most_is_looked_at():
    trace = Trace().kernel(0, 0, 10).kernel(1, 10, 20).kernel(2, 0, 90, device=1).kernel(101, 100, 101)
    assert trace.of(0, 100).busy_us == 20


@pytest.mark.parametrize("boundaries", [(), (0,), (500, 600)])
def test_nothing_to_say(boundaries):
    assert Trace().kernel(0, 5, 100).of(*boundaries) is None


KINDS = {
    ("void kernel()", True, "kernel"): KERNEL,
    ("Memcpy DtoH (Device -> Pinned)", True, "gpu_memcpy"): COPY,
    ("cudaStreamSynchronize", False, "cuda_runtime"): CALL,
    ("Stream Sync", True, "cuda_sync"): None,
    ("Optimizer.step#SGD.step", True, "gpu_user_annotation"): None,
    ("tpl.sync:3:stream", True, "gpu_user_annotation"): None,
    ("tpl.sync:3:stream", False, "user_annotation"): MARK,
    ("aten::add", False, "cpu_op"): None,
    ("void kernel()", True, None): KERNEL,
    ("Memcpy HtoD (Pageable -> Device)", True, None): COPY,
    ("Memset (Device)", True, None): FILL,
    ("Context Sync", True, None): None,
    ("hipLaunchKernel", False, None): CALL,
    ("aten::add", False, None): None,
}


@pytest.mark.parametrize("event", KINDS, ids=str)
def test_what_an_event_is(event):
    assert kind_of(*event) == KINDS[event]


def test_stretches():
    assert intervals.union([(5, 8), (0, 2), (1, 3), (8, 9)]) == [(0, 3), (5, 9)]
    assert intervals.between([(0, 3), (5, 9)], 1, 12) == [(3, 5), (9, 12)]
    assert intervals.between([], 1, 3) == [(1, 3)]
    assert intervals.within([(0, 3), (5, 9), (20, 30)], 2, 6) == [(2, 3), (5, 6)]
    assert intervals.total([(0, 3), (5, 9)]) == 7
