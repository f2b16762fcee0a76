"""TPL903."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import DEFAULT, WAITING, Bound, Loop, loop_of
from torchperf_lint.device_use import device_use
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.rule import RunRule
from torchperf_lint.window import Kernels, kernels_of

_READ_RARELY = "keep values on the device and read them rarely"
_COPY_AHEAD = "copy from pinned memory with `non_blocking=True` (where a package copies, by its settings)"


class SynchronisationBound(RunRule):
    """The host stands still for the device in every step, and the device is not busy.

    ## What it does
    Says that the device idles behind the host's synchronisations for a share of the time worth naming, and which lines
    it idles for most, where a profiler's window saw the device. Without one it says that the host is blocked for such
    a share while the device was measured not to be busy, and which lines block most.

    ## Why it is slow
    While the host waits it launches nothing; when the wait ends, the device has run dry and idles until the next
    kernels arrive.

    ## Example
    ```python
    for images, labels in loader:
        loss = criterion(model(images), labels)
        history.append(loss.item())
    ```

    ## Use instead
    ```python
    for images, labels in loader:
        loss = criterion(model(images), labels)
        history.append(loss.detach())
    ```
    Read what was gathered once, after the loop or every hundredth step.

    ## When it is fine
    Where the device is busy all the same: the host then waits for work that has to be done anyway, and nothing gets
    faster without that wait.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The time that the device idled behind a wait, else the time that the host was blocked, by line: an upper bound of
    what removing a wait saves, since another wait may take its place. Never under `--simulate`, which has counts and
    no times, nor where the device's use is unknown.

    ## References
    - PyTorch documentation, CUDA semantics: asynchronous execution.
    """

    code, name, since = "TPL903", "synchronisation-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the host's waits for an idle device are worth naming."""
        loop, use, kernels = loop_of(run), device_use(run), kernels_of(run.state)
        if loop is None or run.device is None or use is None or use.share >= DEFAULT.busy_device:
            return
        if kernels is not None and kernels.bubble is not None:
            yield from self._by_bubbles(run, kernels, kernels.bubble)
            return
        share = loop.share(WAITING)
        if share < DEFAULT.named:
            return
        worst = _worst(run)
        yield Bound(
            self.code,
            self.name,
            f"the host is blocked by the device {percent(share)} of the {loop.unit}'s time, and the device is not busy",
            f"blocked {ms(loop.ms(WAITING) / loop.turns)} a {loop.unit} (upper bound of what removing it saves); "
            f"the device ran some kernel {percent(use.share)} of the time{_lines(worst, loop)}",
            _advice(run, worst),
            share,
        )

    def _by_bubbles(self, run: Evidence, kernels: Kernels, share: float) -> Iterator[Bound]:
        if share < DEFAULT.named:
            return
        behind = [e for e in run.events if e.kind == "sync" and e.bubble_ms]
        worst = sorted(behind, key=lambda e: (-(e.bubble_ms or 0.0), e.path, e.line))[:3]
        parts = [f"{_place(e)} ({e.what}) {ms((e.bubble_ms or 0.0) / kernels.steps)}" for e in worst]
        yield Bound(
            self.code,
            self.name,
            f"the device idles {percent(share)} of the time behind synchronisations of the host",
            f"{ms((kernels.bubble_ms or 0.0) / kernels.steps)} a step (upper bound of what removing them saves); in "
            f"{kernels.steps} profiled steps some kernel ran {percent(kernels.busy)} of the time; longest: "
            f"{', '.join(parts) or 'at lines that are not known'}",
            _advice(run, worst),
            share,
        )


def _worst(run: Evidence) -> list[Event]:
    """The lines of training (of requests, where nothing trains) that block longest; at most three."""
    blocking = [e for e in run.events if e.kind == "sync" and e.blocked_ms and (e.train_turns or run.requests)]
    return sorted(blocking, key=lambda e: (-(e.blocked_ms or 0.0), e.path, e.line))[:3]


def _lines(worst: list[Event], loop: Loop) -> str:
    if not worst:
        return "; which lines block longest was not measured"
    parts = [f"{_place(e)} ({e.what}) {ms((e.blocked_ms or 0.0) / loop.turns)}" for e in worst]
    return f"; longest: {', '.join(parts)}"


def _place(event: Event) -> str:
    """The line, or that of the project which led into a package: nobody changes a package's."""
    return f"{line(*event.via)}, in a package" if event.via is not None else line(event.path, event.line)


def _advice(run: Evidence, worst: list[Event]) -> str:
    if not worst:
        return _READ_RARELY
    return f"{_COPY_AHEAD if _uploads(run, worst[0]) else _READ_RARELY}; begin with {_place(worst[0])}"


def _uploads(run: Evidence, wait: Event) -> bool:
    """Whether most of the waits of a place are those of copies to the device."""
    here = [e for e in run.events if e.kind == "copy" and (e.path, e.line, e.via) == (wait.path, wait.line, wait.via)]
    copies = sum(e.count for e in here if e.what == "h2d" and e.attributes.get("blocking"))
    return copies >= wait.count / 2 and copies > 0
