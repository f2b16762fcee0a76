"""A few steps under Kineto: what ran on the device, and which of the host's waits it idled for.

One window of `--window N` steps opens once the run is steady; a step before them settles what opening has stirred up,
and one after them says when the next step began on the device. None of these counts in step times, shares and waits.
The probes of waits and copies leave marks meanwhile that join what Kineto saw to lines. Nothing is opened while the
script profiles, without a device (there is nothing to see), on a simulated one, or for a block under `watch()`.
"""

from __future__ import annotations

import atexit
import os
import threading
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _cuda
from torchperf_lint.runtime.probes._kineto import Kineto, is_on, why_not
from torchperf_lint.runtime.probes._rivals import Rivals, in_the_way

if TYPE_CHECKING:
    from torchperf_lint.activities import Activity
    from torchperf_lint.runtime.session import Session

NAME = "window"
MARGIN = 5
"""Steps between the end of the warm-up and a window."""
_MOST_ATTEMPTS = 3
_BEFORE = 1
"""Steps within a window that are left out at its start."""
_ENDED = "the run ended before its window did"
THEIRS = "the script profiles itself"


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Wait for the steps of the window."""
    steps = int(session.spec.get("window") or 0)
    on_host = bool(session.spec.get("window_on_host"))
    if session.simulated:
        return None
    if not on_host and not _cuda.is_built(torch):
        return _cuda.NO_CUDA
    if not steps:
        return "none is opened by watch()" if session.spec.get("in_process") else "switched off (--window 0)"
    missing = why_not(torch) or in_the_way(torch)
    if missing is not None:
        return missing
    window = Window(session, torch, steps, on_device=not on_host)
    session.timeline.on_step.append(session.guarded(NAME, window.stepped))
    session.restarts.append(window.restart)
    atexit.register(session.guarded(NAME, window.run_ends))
    os.register_at_fork(before=session.guarded(NAME, window.about_to_fork))
    return f"the run ended before step {window.opens_at}, at which it opens"


class Window:
    """Waits for its step, records, and notes what it saw."""

    def __init__(self, session: Session, torch: Any, steps: int, on_device: bool) -> None:  # noqa: ANN401
        """`steps`: how many; `on_device`: False to see marks of the host alone, for tests."""
        self.session = session
        self.torch = torch
        self.steps = steps
        self.on_device = on_device
        self.opens_at = session.timeline.warmup + MARGIN
        self._over = False
        self._kineto: Kineto | None = None
        self._attempts = 0
        self._thread = 0
        self._boundaries: list[int] = []
        self._open_ms = 0.0
        self._deferred = session.timeline.may_defer
        # Until then each step is heard of when it closes.
        session.timeline.may_defer = False
        self._rivals = Rivals(lambda tell: session.guarded(NAME, tell))
        self._rivals.on_start = self._give_way

    def stepped(self, steps: int) -> None:
        """A step has closed, on the thread that trains."""
        if self._over:
            return
        if self._kineto is None:
            if steps >= self.opens_at:
                self._open()
        elif threading.get_ident() == self._thread:
            self._boundaries.append(time_ns())
            if len(self._boundaries) > _BEFORE + self.steps + 1:
                self._close(detach=True)

    def run_ends(self) -> None:
        """The interpreter ends: what steps there were are better than none."""
        if self._kineto is None or threading.get_ident() != self._thread:
            return
        if len(self._boundaries) > _BEFORE + 1:
            self._close()
        else:
            self._drop(_ENDED, again=False)

    def about_to_fork(self) -> None:
        """A child would go on recording for ever, and the window be none of a plain step: try again later."""
        if self._kineto is not None and threading.get_ident() == self._thread:
            self._drop("each time that it was open, a process was forked", again=True)

    def restart(self) -> None:
        """A forked child opens none."""
        self._over = True
        self._kineto = None
        self.session.mark = None
        self.session.timeline.may_defer = self._deferred

    def _open(self) -> None:
        self._attempts += 1
        why = self._why_not_now()
        if why is not None:
            self._finish(why)
            return
        if self.torch._C._current_graph_task_id() != -1:
            # Within a backward pass torch puts back what it finds on the thread, our profiler included.
            self._again("each step is taken within a backward pass")
            return
        kineto = Kineto(self.torch, self.on_device)
        self.session.recorder.probe(NAME, "unavailable", _ENDED)
        self.session.timeline.leave_out()
        started = perf_counter()
        try:
            kineto.begin()
        except Exception:
            self.session.timeline.take_in()
            self._finish("Kineto could not start")
            raise
        self._open_ms = (perf_counter() - started) * 1000
        self._thread = threading.get_ident()
        self._boundaries = [time_ns()]
        self._kineto = kineto
        self.session.mark = kineto.mark

    def _why_not_now(self) -> str | None:
        if self.on_device and not self.torch.cuda.is_initialized():
            return _cuda.NOT_OPENED
        if self._rivals.started or is_on(self.torch):
            return THEIRS
        return in_the_way(self.torch)

    def _close(self, *, detach: bool = False) -> None:
        """Stop, and note what was seen; the boundaries are those of the steps that count. `detach`: the run goes on."""
        kineto, self._kineto = self._kineto, None
        assert kineto is not None
        self.session.mark = None
        started = perf_counter()
        try:
            if not self.torch.autograd._profiler_enabled():
                self._finish(THEIRS)
                return
            kineto.wait()
            activities = kineto.end(detach=detach)
            if self._rivals.started:  # on another thread
                self._finish(THEIRS)
                return
            self._note(activities, kineto.base_ns, started)
        finally:
            self.session.timeline.take_in()
            self._release()

    def _note(self, activities: list[Activity], base_ns: int, started: float) -> None:
        from torchperf_lint.runtime import window_record

        left_out = len(self._boundaries) - 1
        counted = self._boundaries[_BEFORE : _BEFORE + self.steps + 1]
        boundaries = [(at - base_ns) / 1000 for at in counted]
        record = window_record.of(activities, boundaries, base_ns / 1e9, left_out)
        record["open_ms"] = round(self._open_ms, 3)
        record["close_ms"] = round((perf_counter() - started) * 1000, 3)
        self.session.recorder.note(record)
        if record["kernels"] is not None:
            self.session.recorder.state("kernels", record["kernels"])
        reason = None if record["kernels"] is not None or not self.on_device else "nothing ran on the device in it"
        self.session.recorder.probe(NAME, "unavailable" if reason else "watching", reason)

    def _give_way(self) -> None:
        """The script starts a profiler of its own, on whatever thread: ours ends first, and is thrown away."""
        if self._kineto is not None and threading.get_ident() == self._thread:
            self._drop(THEIRS, again=False)

    def _drop(self, why: str, *, again: bool) -> None:
        kineto, self._kineto = self._kineto, None
        self.session.mark = None
        try:
            if kineto is not None and self.torch.autograd._profiler_enabled():
                kineto.end()
        finally:
            self.session.timeline.take_in()
            if again:
                self._again(why)
            else:
                self._finish(why)

    def _again(self, why: str) -> None:
        if self._attempts >= _MOST_ATTEMPTS:
            self._finish(why)
        else:
            self.opens_at = self.session.timeline.steps + MARGIN

    def _finish(self, why: str) -> None:
        self.session.recorder.probe(NAME, "unavailable", why)
        self._release()

    def _release(self) -> None:
        self._over = True
        self._rivals.let_go()
        self.session.timeline.may_defer = self._deferred
