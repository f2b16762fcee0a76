"""TPL555."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.confirming import by_setting
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import Mark, asked_for, reached
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.framework_runs import is_trial_file
from torchperf_lint.facts.processes.process_flags import explained, flags_set
from torchperf_lint.facts.syntax.literals import is_true
from torchperf_lint.model import Confidence, Finding, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule

_CUDNN = "torch.backends.cudnn.deterministic"
_BENCHMARK = "torch.backends.cudnn.benchmark"
_SWITCH = "torch.use_deterministic_algorithms"
_MODE = "torch.set_deterministic_debug_mode"
_OFF_MODES = frozenset({0, "default"})
_TRAINS = (".backward(", ".fit(", "training_step", "optimizer.step(", "optim.step(", "opt.step(", ".train()")


class _Asked(NamedTuple):
    """A place that asks for deterministic algorithms, the literal that does, and the one that does not."""

    mark: Mark
    value: ast.expr
    off: str


class DeterministicLeftOn(SourceRule):
    """Deterministic algorithms are asked for in runs that do not repeat each other anyway.

    ## What it does
    Flags `torch.backends.cudnn.deterministic = True`, `torch.use_deterministic_algorithms(True)` and
    `torch.set_deterministic_debug_mode` with a literal, as information, where no flag decides about it and nothing
    comes of it: `cudnn.benchmark = True` is set in the same function, which picks an algorithm by a race, or the file
    trains and speaks of no seed. With a seed, or with a comment that says why, it is only `possible`.

    ## Why it is slow
    Where there is a choice, the deterministic algorithms are the slower ones: backward passes of convolutions, sums by
    index. `use_deterministic_algorithms` also fills every tensor that `torch.empty` makes, as long as
    `torch.utils.deterministic.fill_uninitialized_memory` is on, which is the default.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = True

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    One of the two: runs that are fast, with `benchmark = True` alone where shapes stay the same, or runs that can be
    repeated:
    ```python
    import torch

    torch.manual_seed(0)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    ```

    ## When it is fine
    Where results have to be repeated, which is for the project to say; best behind a flag:
    ```python
    import torch

    def set_up(args):
        torch.manual_seed(args.seed)
        if args.deterministic:
            torch.use_deterministic_algorithms(True)
    ```

    ## Fix safety
    Unsafe, and only where the finding is `likely`: the literal becomes False (`"default"`, 0). Who counted on it gets
    other results from run to run.

    ## Confirmed by
    The switches as a training step of the run found them. What the slower algorithms cost no probe measures.

    ## References
    - PyTorch documentation, "Reproducibility": deterministic operations are often slower, and benchmarking may choose
      another algorithm in each run.
    - PyTorch documentation of `torch.use_deterministic_algorithms` and `torch.utils.deterministic`.
    """

    code, name, since = "TPL555", "deterministic-left-on", "0.1.0"
    severity = Severity.INFO
    triggers = ("cudnn.deterministic", "use_deterministic_algorithms", "set_deterministic_debug_mode")
    probes = ("state",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each place that asks for determinism and does not get it."""
        del project
        if is_trial_file(file.path):
            return
        raced = {flag.mark.function for flag in flags_set(file, _BENCHMARK) if is_true(flag.value)}
        in_vain = file.mentions(_TRAINS) and "seed" not in file.text.lower()
        for asked in _asking(file):
            mark = asked.mark
            if asked_for(file, mark.expression, mark.function):
                continue
            sure = mark.function in raced or in_vain
            if sure:
                sure = reached(file, mark.function) and not explained(file, mark.expression)
            yield self._told(asked, mark.function in raced, sure)

    def _told(self, asked: _Asked, raced: bool, sure: bool) -> Finding:
        mark = asked.mark
        because = (
            "while `cudnn.benchmark = True` lets each run pick another one"
            if raced
            else "in every run, and this file sets no seed that would make runs repeat each other"
            if sure
            else "in every run"
        )
        return self.found(
            mark,
            message=f"`{mark.file.brief(mark.expression)}` keeps to deterministic algorithms, which are slower where "
            f"there is a choice, {because}",
            instead="leave one of the two out" if raced else "leave it out, or let a flag that is off decide",
            confidence=Confidence.LIKELY if sure else Confidence.POSSIBLE,
            root_cause=f"{self.code} in function {mark.function} of {mark.file.path}",
            # Where nothing says that it is in vain, results that repeat may be what somebody wants.
            fix=fix_of(mark, Safety.UNSAFE, lambda edit: [edit.replace(asked.value, asked.off)]) if sure else None,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the switches that a training step found."""
        switches = [run.state.get(key) for key in ("deterministic", "cudnn_deterministic")]
        on = any(switches) if None not in switches else None
        said = (
            f"deterministic algorithms were asked for while it {run.trained}",
            f"nobody asked for deterministic algorithms while it {run.trained}",
        )
        return by_setting(finding, run, on, said)


def _asking(file: SourceFile) -> Iterator[_Asked]:
    yield from (_Asked(flag.mark, flag.value, "False") for flag in flags_set(file, _CUDNN) if is_true(flag.value))
    if not file.mentions(("_deterministic_",)):
        return
    sites = list(file.calls_of(_SWITCH, _MODE))
    functions = [site.function for site in sites]
    for site in sites:
        value = site.call.args[0] if site.call.args else site.keyword("mode") or site.keyword("debug_mode")
        mode = site.record.callee.endswith(_MODE.rpartition(".")[2])
        if functions.count(site.function) > 1 or not isinstance(value, ast.Constant):
            continue  # taken back, or set to what it was
        if (value.value not in _OFF_MODES) if mode else is_true(value):
            off = "False" if not mode else '"default"' if isinstance(value.value, str) else "0"
            yield _Asked(Mark(file, site.call, site.function), value, off)
