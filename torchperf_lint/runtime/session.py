"""The watched process: sets up the recorder, installs the probes once the script has imported torch.

`prepare` is called by the start-up hook, before the script; it imports nothing heavy. Nothing here may raise into
the script: a probe that cannot watch is noted as unavailable, one that fails is noted as failed and left alone.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Callable
from threading import get_ident
from time import time
from types import CodeType
from typing import Any, TypeVar

from torchperf_lint import __version__, events
from torchperf_lint.runtime.imports import after_import
from torchperf_lint.runtime.next_step import NextStep
from torchperf_lint.runtime.placement import identity, placed
from torchperf_lint.runtime.raised import note_what_ended
from torchperf_lint.runtime.recorder import Recorder
from torchperf_lint.runtime.sites import Key, Sites
from torchperf_lint.runtime.timeline import Timeline

Answer = TypeVar("Answer")
WARMUP = 10
_PATIENCE = 10
"""A probe that failed this often is not asked again."""


running: list[Session] = []
"""The session of this process, if it is watched."""


class Stop(SystemExit):
    """Ends the script after `--steps N` steps, the way `sys.exit()` does: `finally` and `atexit` run."""


class Session:
    """What probes get to work with."""

    def __init__(self, spec: dict[str, Any]) -> None:
        """`spec`: what the parent asks for, see request.py."""
        cwd = os.getcwd()
        self.spec = spec
        self.simulated = bool(spec.get("simulate"))
        self.primary = spec.get("owner_pid") == os.getppid()
        self.sites = Sites(spec.get("project_root"), cwd)
        path = spec["events"] if self.primary else _path_of_this(spec["events"])
        self.recorder = Recorder(path, self._header(cwd), self.sites, eager=self.primary, family=spec["events"])
        self.timeline = Timeline(self.recorder, spec.get("warmup", WARMUP))
        self.timeline.sample.allowed = not self.simulated
        self.loaders: Any = None
        """The loader probe's registry, which other probes share."""
        self.on_backward: list[Callable[[Any], object]] = []
        """Called with the tensors of a backward pass before it begins; who has seen enough leaves the list."""
        self.on_call: list[Callable[[Key | None], object]] = []
        """Called with the place where a model is called, until a loader feeds training, or a backward pass begins."""
        self.trained: set[int] = set()
        """By address, the parameters that optimizers step on."""
        self.trained_by_hand: set[int] = set()
        """The same of backward passes in a run that has no optimizer."""
        self.restarts: list[Callable[[], None]] = [self.timeline.restart]
        """What else starts afresh in a forked child."""
        self.on_withdrawal: list[Callable[[], None]] = []
        """Called when the steps so far turn out to have been none, see withdrawal.py."""
        self.mark: Callable[[str], None] | None = None
        """While a window is open: leaves a mark of this name in what the profiler records, on the calling thread."""
        self.callbacks: list[CodeType] = []
        """What the interpreter calls of ours, besides what is guarded."""
        self._failures: dict[str, int] = {}

    def _header(self, cwd: str) -> dict[str, Any]:
        spec, here = self.spec, placed(os.environ)
        launched = here.rank is not None
        return {
            "version": events.VERSION,
            "tool": __version__,
            "python": sys.version.split()[0],
            "platform": " ".join(os.uname()[i] for i in (0, 2, 4)),
            "argv": events.redacted(sys.orig_argv[1:]),
            "cwd": cwd,
            # A launcher that runs within the watched process tells its ranks what nobody has told us.
            "rank": here.rank if launched else spec.get("rank"),
            "world": here.world if launched else spec.get("world"),
            **identity(here),
            "started": round(time(), 3),
            "primary": self.primary,
            "simulated": self.simulated,
            "in_process": bool(spec.get("in_process")),
            "settings": {"warmup": spec.get("warmup", WARMUP), "steps": spec.get("steps")},
        }

    def guarded(self, probe: str, callback: Callable[..., Answer]) -> Callable[..., Answer | None]:
        """`callback`, with its exceptions noted in place of raised; None is returned then."""

        failures = self._failures

        @functools.wraps(callback)
        def safe(*args: Any, **kwargs: Any) -> Answer | None:  # noqa: ANN401
            if failures and failures.get(probe, 0) >= _PATIENCE:
                return None
            try:
                return callback(*args, **kwargs)
            except Exception as error:
                if not self.is_blamed(probe, error):
                    raise
                return None

        return safe

    def is_blamed(self, probe: str, error: Exception) -> bool:
        """Note that a probe failed; False where a handler of signals raised, which its border must hand on.

        It does not raise itself: a frame that holds an exception which holds the frame would keep both alive.
        """
        if _is_of_signal(error):
            return False
        self.failed(probe, error)
        return True

    def after_import(self, module: str, callback: Callable[[Any], object]) -> None:
        """Call `callback` with the module once it has been imported; at once if it has been."""
        after_import(module, callback, on_error=lambda error: self.failed(module, error))

    def failed(self, probe: str, error: BaseException) -> None:
        """Note that a probe's own code raised."""
        self._failures[probe] = self._failures.get(probe, 0) + 1
        if self._failures[probe] == 1:
            self.recorder.probe(probe, "failed", _told(error))
            self.recorder.matters()

    def install(self, torch: Any) -> None:  # noqa: ANN401
        """Install every probe; the simulated device first, if asked for."""
        from torchperf_lint.runtime import probes

        self.recorder.state("torch", str(torch.__version__))
        self.sites.is_internal(os.path.dirname(os.path.abspath(torch.__file__)))
        if self.simulated:
            self._simulate()
        for probe in probes.names():
            try:
                reason = probes.load(probe).install(self, torch)
            except Exception as error:  # noqa: BLE001 -- the border of a probe
                self.failed(probe, error)
            else:
                self.installed(probe, reason)
        self._hide_from_compilers(torch)

    def installed(self, probe: str, reason: str | None) -> None:
        """Note that a probe watches, or why it cannot; one that has failed already stays so."""
        if probe not in self._failures:
            self.recorder.probe(probe, "unavailable" if reason else "watching", reason)

    def _hide_from_compilers(self, torch: Any) -> None:  # noqa: ANN401
        from torchperf_lint.runtime.probes import _dynamo

        try:
            # What the wrappers call unguarded, beside the script's own: the standard library is below these.
            sites = (Sites.key, Sites.remembered, Sites.kind_of, Sites.shown)
            asked = (*sites, Recorder.event, Recorder.later, Recorder.drain, Recorder.tick)
            codes = {function.__code__ for function in asked}
            _dynamo.leave_alone(torch, {self.guarded("session", _told).__code__, *codes, *self.callbacks})
        except Exception as error:  # noqa: BLE001 -- the border to torch's internals
            self.failed("dynamo", error)

    def _simulate(self) -> None:
        from torchperf_lint.runtime import simulated
        from torchperf_lint.runtime.sink import RecordingSink

        try:
            guarded = functools.partial(self.guarded, "simulated")
            asked = (simulated.is_gradient_of_index, simulated.gradient, simulated.forward_line)
            sink = RecordingSink(self.recorder, guarded, *asked)
            # A device that the process itself has asked for has a sink already.
            (simulated.listen if simulated.is_installed() else simulated.install)(sink)
        except Exception as error:  # noqa: BLE001 -- without a device the script takes its CPU path, and we say so
            self.failed("simulated", error)
        else:
            simulated.locate_by(self.guarded("simulated", self.sites.key))
            self.recorder.probe("simulated", "watching")

    def stop_after(self, steps: int) -> None:
        """End the script when so many steps have closed.

        What follows the last step belongs to it: the end comes with the next batch or, where no loader feeds them, with
        the call of a model or backward pass that begins the next. Several ranks end where they step together: what each
        does after it differs.
        """
        recorder, timeline = self.recorder, self.timeline
        ends = False

        def stop() -> None:
            recorder.state("stopped_after", timeline.steps)
            _leave_process_group()
            raise Stop(0)

        def count(closed: int) -> None:
            nonlocal ends
            if recorder.next_step is not None:
                recorder.next_step.closes()
            if closed > steps or (closed == steps and _is_one_of_several()):
                stop()
            elif closed == steps:
                timeline.on_fetch.append(stop)
                if recorder.next_step is not None and recorder.scopes.is_outside():
                    recorder.next_step.ends()
                    ends = True

        def look(key: Key | None) -> None:
            mine = not recorder.muted and (not timeline.steps or timeline.is_training(get_ident()))
            if mine and recorder.next_step is not None and recorder.next_step.calls(key) and ends:
                stop()

        def restart() -> None:
            nonlocal ends
            ends = False
            recorder.next_step = NextStep()
            timeline.on_fetch[:] = [callback for callback in timeline.on_fetch if callback is not stop]

        restart()
        self.on_call.append(look)
        self.restarts.append(restart)
        self.on_withdrawal.append(restart)
        self.timeline.on_step.append(count)
        self.timeline.may_defer = False


def _is_one_of_several() -> bool:
    """Whether the process is in a group with others."""
    group: Any = sys.modules.get("torch.distributed")
    return group is not None and group.is_available() and group.is_initialized() and group.get_world_size() > 1


def prepare(spec: dict[str, Any]) -> Session:
    """Record this process; called by the start-up hook before the script runs."""
    session = Session(spec)
    running.append(session)
    recorder = session.recorder
    atexit.register(recorder.flush)
    # Called before the flush: those who register last are first.
    atexit.register(session.guarded("session", note_what_ended), session)
    os.register_at_fork(after_in_child=lambda: recorder.forked(session.restarts))
    _flush_before_exit(recorder)
    if spec.get("steps"):
        session.stop_after(int(spec["steps"]))
    watch_lines(session)
    after_import("torch", session.install, on_error=lambda error: session.failed("session", error))
    return session


def watch_lines(session: Session) -> None:
    """From before the script's first line, so that a line that was not seen did not run."""
    from torchperf_lint.runtime.probes import lines

    try:
        lines.begin(session)
    except Exception as error:  # noqa: BLE001 -- the border of a probe
        session.failed(lines.NAME, error)


def _flush_before_exit(recorder: Recorder) -> None:
    """`os._exit` runs neither `finally` nor `atexit`."""
    leave = os._exit

    @functools.wraps(leave)
    def flush_and_leave(status: int) -> None:
        recorder.flush()
        leave(status)

    os._exit = flush_and_leave  # type: ignore[assignment]


def _leave_process_group() -> None:
    """Without it a rank that ends early was seen to abort (SIGABRT) once in two runs."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def _path_of_this(path: str) -> str:
    from torchperf_lint.runtime.recorder import path_of_child

    return path_of_child(path, os.getpid())


def _is_of_signal(error: BaseException) -> bool:
    """Whether a signal's handler raised it, which happened to be called while our code ran: a timeout of the script."""
    import signal

    handlers = map(signal.getsignal, signal.valid_signals())
    codes = {getattr(getattr(handler, "__func__", handler), "__code__", None) for handler in handlers} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _told(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace is not None else ""
    return f"{type(error).__name__}: {error}{at}"
