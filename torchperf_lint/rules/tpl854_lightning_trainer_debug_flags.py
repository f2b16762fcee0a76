"""TPL854."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.named_settings import literals_written_out
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.framework_runs import is_ordinary, small
from torchperf_lint.facts.processes.process_flags import explained
from torchperf_lint.facts.syntax.arguments import keyword, literal
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.syntax.literals import UNKNOWN
from torchperf_lint.model import Confidence, Finding, Fix, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_PROFILERS = {
    "advanced": "runs cProfile around every hook of every step",
    "pytorch": "records every operation with torch.profiler",
    "simple": "takes the time of every hook of every step",
}
_PROFILER_CLASSES = {"AdvancedProfiler": "advanced", "PyTorchProfiler": "pytorch"}


class _Cost(NamedTuple):
    """What an argument makes the trainer do."""

    name: str
    what: str
    instead: str
    severity: Severity = Severity.WARNING
    confidence: Confidence = Confidence.LIKELY
    fixed: str | None = ""
    """What to put in the value's place; empty: the argument goes; None: there is no fix."""


class LightningTrainerDebugFlags(SourceRule):
    """A Lightning `Trainer` whose arguments are for finding errors, in ordinary runs.

    ## What it does
    Flags arguments of Lightning's `Trainer`, given as literals or by a name that is bound to one, where no flag
    decides about them:

    - `profiler="advanced"` and `profiler="pytorch"`, or such a profiler made in place (`"simple"` is only `possible`);
    - `val_check_interval=1`, which is one batch, where `1.0` is one epoch;
    - `deterministic=True` in a file without a seed, as information: no run repeats another there anyway. Where a
      seed is set it is only `possible`;
    - `strategy="dp"` (Lightning before 2.0) and, as information, `strategy="ddp_spawn"`;
    - `terminate_on_nan=True` and `log_gpu_memory="all"` (before 1.7).

    `detect_anomaly=True` is TPL551, `strategy="ddp_find_unused_parameters_true"` TPL752.

    ## Why it is slow
    A profiler works at every hook or operation of every step. With `val_check_interval=1` the whole validation runs
    after each training batch. Deterministic algorithms are the slower ones where there is a choice, and
    `cudnn.benchmark` is off. `"dp"` is `nn.DataParallel`: one process drives all devices and copies the model to
    them in every step. `terminate_on_nan` reads the loss and every parameter back in every step, and
    `log_gpu_memory` runs `nvidia-smi`.

    ## Example
    ```python
    import lightning as L

    def main(model, data):
        trainer = L.Trainer(max_epochs=100, profiler="advanced")
        trainer.fit(model, data)
    ```

    ## Use instead
    ```python
    import lightning as L

    def main(model, data, profiler: str | None = None):
        trainer = L.Trainer(max_epochs=100, profiler=profiler)
        trainer.fit(model, data)
    ```

    ## When it is fine
    In a run that is there to be looked at, and behind a flag:
    ```python
    import lightning as L

    def main(args, model, data):
        if args.profile:
            L.Trainer(max_epochs=1, profiler="advanced").fit(model, data)
        L.Trainer(fast_dev_run=True, profiler="pytorch").fit(model, data)
        L.Trainer(max_epochs=100).fit(model, data)
    ```

    ## Fix safety
    Unsafe: the argument is removed, `val_check_interval=1` becomes `1.0` and `"ddp_spawn"` becomes `"ddp"`. What the
    profiler wrote is no longer written; a model that needs a validation after each batch needs the 1 back;
    `"ddp"` runs the script once per device. `"dp"` has no fix: with several processes each gets a share of the batch;
    nor has what is passed by a name, which may be used elsewhere.

    ## Confirmed by
    Nothing: no probe looks at the trainer's settings.

    ## References
    - Lightning 2.6 documentation of `Trainer`: `profiler`, `val_check_interval`, `deterministic`, `strategy`.
    - Lightning documentation, "GPU training": DDP instead of DP, and instead of DDP spawn.
    """

    code, name, since = "TPL854", "lightning-trainer-debug-flags", "0.1.0"
    triggers = (
        *("profiler", "val_check_interval", "deterministic", '"dp"', "'dp'", "ddp_spawn"),
        *("terminate_on_nan", "log_gpu_memory"),
    )

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each argument that is there to find errors."""
        del project
        for site in file.calls_of("lightning.Trainer"):
            settings = literals_written_out(site)
            costs = [cost for cost in _costs(file, settings) if cost.confidence.at_least(file.weakest)]
            if not costs or not is_ordinary(site):
                continue
            for cost in costs:
                written = keyword(settings, cost.name)
                assert written is not None
                yield self._told(site, cost, written)

    def _told(self, site: Site, cost: _Cost, written: ast.expr) -> Finding:
        value = keyword(site.call, cost.name)
        assert value is not None
        mark = Mark(site.file, value, site.function)
        doubtful = explained(site.file, value) or explained(site.file, written)
        return self.found(
            mark,
            message=f"`{cost.name}={site.file.brief(written)}` {cost.what}",
            instead=cost.instead,
            severity=cost.severity,
            confidence=Confidence.POSSIBLE if doubtful else cost.confidence,
            fix=_fix(site, mark, cost, value) if written is value else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks at the trainer's settings."""
        return unmeasured(run, finding.location, "no probe looks at the trainer's settings")


def _fix(site: Site, mark: Mark, cost: _Cost, value: ast.expr) -> Fix | None:
    if cost.fixed is None:
        return None
    if cost.fixed:
        return fix_of(mark, Safety.UNSAFE, lambda edit: [edit.replace(value, cost.fixed or "")])
    return fix_of(mark, Safety.UNSAFE, lambda edit: edit.drop_argument(site.call, cost.name))


def _costs(file: SourceFile, call: ast.Call) -> Iterator[_Cost]:
    yield from _profiling(call)
    if small(literal(call, "val_check_interval"), 1):
        yield _Cost(
            "val_check_interval",
            "validates after every training batch: a whole number counts batches, 1.0 is an epoch",
            "`val_check_interval=1.0`, or a number of batches that take minutes",
            fixed="1.0",
        )
    if literal(call, "deterministic") in (True, "warn"):
        yield _deterministic(file)
    yield from _strategies(call)
    if literal(call, "terminate_on_nan") is True:
        yield _Cost(
            "terminate_on_nan",
            "reads the loss and every parameter back in every step",
            "leave it out; `detect_anomaly` behind a flag finds where a NaN comes from",
        )
    if literal(call, "log_gpu_memory") in ("all", "min_max"):
        yield _Cost(
            "log_gpu_memory",
            "runs `nvidia-smi` at every step that logs",
            "leave it out; the callback `DeviceStatsMonitor` asks torch",
        )


def _profiling(call: ast.Call) -> Iterator[_Cost]:
    kind = _profiler(call)
    if kind in _PROFILERS:
        yield _Cost(
            "profiler",
            _PROFILERS[kind],
            "leave it out, or let a flag that is off by default decide: `profiler=args.profiler`",
            confidence=Confidence.POSSIBLE if kind == "simple" else Confidence.LIKELY,
        )


def _profiler(call: ast.Call) -> str:
    """The kind of profiler that runs in every step; empty for none, and for one that keeps a schedule."""
    made = keyword(call, "profiler")
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Name | ast.Attribute):
        scheduled = any(k.arg in ("schedule", None) for k in made.keywords)
        return "" if scheduled else _PROFILER_CLASSES.get(last_part(ast.unparse(made.func)), "")
    named = literal(call, "profiler")
    return named.lower() if isinstance(named, str) else ""


def _deterministic(file: SourceFile) -> _Cost:
    seeded = file.mentions(("seed",))
    return _Cost(
        "deterministic",
        "asks for deterministic algorithms, which are slower, "
        + ("in every run" if seeded else "and this file sets no seed that would make runs repeat each other"),
        "leave it out, or set a seed and let a flag decide: `deterministic=args.deterministic`",
        severity=Severity.INFO,
        confidence=Confidence.POSSIBLE if seeded else Confidence.LIKELY,
    )


def _strategies(call: ast.Call) -> Iterator[_Cost]:
    for name in ("strategy", "distributed_backend", "accelerator"):
        chosen = literal(call, name)
        if chosen is UNKNOWN or not isinstance(chosen, str):
            continue
        if chosen == "dp":
            yield _Cost(
                name,
                "is `nn.DataParallel`: one process drives all devices and copies the model to them in every step",
                '`strategy="ddp"`: one process per device',
                fixed=None,
            )
        elif chosen == "ddp_spawn":
            yield _Cost(
                name,
                "hands the model, the data and the results from process to process, and workers start slowly",
                '`strategy="ddp"`, which runs the script once per device',
                severity=Severity.INFO,
                fixed='"ddp"',
            )
