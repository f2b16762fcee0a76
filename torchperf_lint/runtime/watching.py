"""`watch()`: what the runtime mode sees, for a block of a script or a cell of a notebook."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from torchperf_lint import events as record
from torchperf_lint.errors import UsageError
from torchperf_lint.events import SUFFIX, RawRun
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.runtime import in_process
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.runtime.session import WARMUP, Session

_SHOWN = ("sync", "copy")


def watch(*, warmup: int = WARMUP, events: str | os.PathLike[str] | None = None) -> Watch:
    """A context manager: the block is watched, and what is yielded says what was seen, within the block and after it.

    `warmup`: optimizer steps at the block's start (batches, where nothing trains) that times leave out.
    `events`: a file, named `*.events.jsonl`, that keeps the record for `torchperf-lint --report`.

    Entering raises AlreadyWatchedError within another watch, and UsageError for a wrong argument. The machine's GPU,
    CPU and disk are not sampled: that takes `torchperf-lint --runtime`.
    """
    if isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 0:
        raise UsageError(f"warmup is a number of steps, 0 or more, not {warmup!r}")
    path = os.path.abspath(events) if events is not None else None
    if path is not None and not path.endswith(SUFFIX):
        raise UsageError(f"the events file must be named *{SUFFIX}, not {os.fspath(events or '')}")
    return Watch(warmup, path)


class Watch:
    """What a watched block did."""

    def __init__(self, warmup: int, events: str | None) -> None:
        self._warmup = warmup
        self._kept = events
        self._directory: str | None = None
        self._path = ""
        self._session: Session | None = None
        self._started = 0.0
        self._raw: RawRun | None = None
        self._owner = 0

    def __enter__(self) -> Watch:
        """Begin to record."""
        if self._session is not None or self._raw is not None:
            raise RuntimeError("a watch is for one block: call watch() again")
        if self._kept is None:
            self._directory = tempfile.mkdtemp(prefix="torchperf-")
            self._path = os.path.join(self._directory, f"watch{SUFFIX}")
        else:
            self._path = self._kept
        try:
            self._session = in_process.begin(self._fresh_path(), self._warmup)
        except BaseException:
            self._clear()
            raise
        self._owner = os.getpid()
        self._started = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop recording; what the block raised goes on as it is."""
        session, self._session = self._session, None
        if session is None or os.getpid() != self._owner:
            return
        if kind is not None:
            session.recorder.state("raised", kind.__name__)
        ended = {"record": "ended", "returncode": None, "wall_s": round(time.monotonic() - self._started, 3)}
        session.recorder.note(ended)
        in_process.end(session)
        try:
            self._raw = record.read(self._path)
        finally:
            self._clear()

    @property
    def evidence(self) -> Evidence:
        """Everything that was seen, as the rules read it."""
        return evidence_of([self._run()])

    @property
    def sites(self) -> tuple[Event, ...]:
        """Synchronisations and copies by place, the most frequent first."""
        found = [event for event in self.evidence.events if event.kind in _SHOWN]
        return tuple(sorted(found, key=lambda e: (-e.count, e.path, e.line, e.kind, e.what)))

    @property
    def steps(self) -> int:
        """Training steps: two optimizers that step in one turn of the loop make one."""
        return self.evidence.steps

    def report(self, *, width: int | None = None, color: bool = False) -> str:
        """The text report of the runtime mode, with a verdict on each finding in the sources that were imported.

        `width` in columns; the terminal's if None.
        """
        from torchperf_lint import reporters
        from torchperf_lint.paths import Homes
        from torchperf_lint.runtime import judging

        run = self._run()
        homes = Homes({}, isolated=False, config=None, cwd=Path.cwd())
        judged = judging.judge([run], judging.linting(homes))
        kept = judged.record if self._kept is not None else None
        judged = replace(judged, script=_title(), record=kept)
        columns = shutil.get_terminal_size().columns if width is None else width
        return reporters.render_run("full", judged, reporters.View(width=columns, color=color))

    def _repr_html_(self) -> str:
        """For notebooks: a table of where the host waited and what was copied."""
        from torchperf_lint.reporters import run_table

        if self._session is None and self._raw is None:
            return "<p>not watched yet</p>"
        return run_table(self.evidence)

    def __repr__(self) -> str:
        if self._session is None and self._raw is None:
            return "<torchperf_lint.watch: not watched yet>"
        return f"<torchperf_lint.watch: {self.steps} steps, {len(self.sites)} sites>"

    def _run(self) -> RawRun:
        if self._raw is not None:
            return self._raw
        if self._session is None:
            raise RuntimeError("nothing was watched: write `with torchperf_lint.watch() as seen:`")
        self._session.recorder.flush()
        return record.read(self._path)

    def _fresh_path(self) -> str:
        """An earlier run's record of the same name gives way, like any output file."""
        path = Path(self._path)
        try:
            path.unlink(missing_ok=True)
            path.touch()
        except OSError as error:
            raise UsageError(f"the events file cannot be written: {error}") from error
        return self._path

    def _clear(self) -> None:
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)


def _title() -> str:
    """The script that holds the block, as far as there is one."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if not isinstance(main, str) or "ipykernel" in main:
        return "the watched block"
    return f"a block of {os.path.relpath(main)}"
