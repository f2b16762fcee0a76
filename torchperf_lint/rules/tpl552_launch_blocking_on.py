"""TPL552."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import NO_DEVICE
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.switches import asked_for, reached, switched_back
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.processes.environment import settings_of, unset
from torchperf_lint.facts.processes.text_files import TextFile
from torchperf_lint.facts.processes.text_settings import text_settings
from torchperf_lint.model import Confidence, Finding, Outcome, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule, TextRule

_VARIABLE = "CUDA_LAUNCH_BLOCKING"
_OFF = frozenset({"default", 0})
_NOT_ON = frozenset({"", "0", "none", "null", "false"})


class LaunchBlockingOn(SourceRule, TextRule):
    """Kernel launches wait for their kernels in ordinary runs.

    ## What it does
    Flags code that sets `CUDA_LAUNCH_BLOCKING=1` for its own process (`os.environ[...] =`, `setdefault`, `update`,
    `putenv`) where no flag decides about it. `torch.cuda.set_sync_debug_mode("warn")`, left on, is reported as info.
    In a function that nothing in the project calls either is only `possible`.
    The variable is also looked for in shell scripts, Dockerfiles, yaml and .env files, where no condition decides.

    ## Why it is slow
    Each launch returns only when its kernel has run, so the host never gets ahead of the device, and the device
    idles while the host prepares the next kernel. The debug mode for synchronisations issues a warning at each.

    ## Example
    ```python
    import os

    os.environ["CUDA_LAUNCH_BLOCKING"] = "1"

    import torch

    def train(model, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch

    def train(model, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    While looking for a kernel that fails, from the shell (`CUDA_LAUNCH_BLOCKING=1 python train.py`) or behind a flag:
    ```python
    import os
    import sys

    if "--debug-kernels" in sys.argv:
        os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
    ```

    ## Fix safety
    Unsafe: it is removed. An error in a kernel is then reported at a later line, and who sets the variable in the
    shell decides again. No fix where something else would have to be guessed: a comment above it that says why, an
    `if` that would be left empty, a second target of the same assignment.

    ## Confirmed by
    The variable in the environment of a training step of the run. It counts only where it was set before CUDA was
    first used.

    ## References
    - PyTorch CUDA semantics, "Asynchronous execution".
    - PyTorch performance tuning guide, "Disable debugging APIs".
    - PyTorch documentation of `torch.cuda.set_sync_debug_mode`.
    """

    code, name, since = "TPL552", "launch-blocking-on", "0.1.0"
    triggers = (_VARIABLE, "set_sync_debug_mode")
    keys = (_VARIABLE,)
    probes = ("state",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each place that sets the variable, or leaves the debug mode on."""
        del project
        if _VARIABLE in file.text:
            yield from self._blocking(file)
        for site in file.calls_of("torch.cuda.set_sync_debug_mode"):
            function, mode = site.record.function, site.call.args[0] if site.call.args else site.keyword("debug_mode")
            on = isinstance(mode, ast.Constant) and mode.value not in _OFF
            if not on or asked_for(file, site.call, function):
                continue
            if switched_back(file, function, "set_sync_debug_mode", _OFF):
                continue
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` stays on: from here on every synchronisation is looked at and told",
                instead='remove it, or set it back with `torch.cuda.set_sync_debug_mode("default")`',
                severity=Severity.INFO,
                confidence=Confidence.LIKELY if reached(file, function) else Confidence.POSSIBLE,
                fix=fix_of(site, Safety.UNSAFE, lambda edit, call=site.call: unset(edit, call, "")),  # type: ignore[misc]
            )

    def _blocking(self, file: SourceFile) -> Iterator[Finding]:
        for mark, value in settings_of(file, _VARIABLE):
            if not _is_on(value) or asked_for(file, mark.expression, mark.function):
                continue
            yield self.found(
                mark,
                message=f"{_VARIABLE} is set for the whole process: every kernel launch waits for its kernel, so "
                "the host never runs ahead of the device",
                instead=f"remove it, and set it in the shell for the run that needs it: `{_VARIABLE}=1 python ...`",
                confidence=Confidence.CERTAIN if reached(file, mark.function) else Confidence.POSSIBLE,
                fix=fix_of(mark, Safety.UNSAFE, lambda edit, node=mark.expression: unset(edit, node, _VARIABLE)),  # type: ignore[misc]
            )

    def check_text(self, file: TextFile) -> Iterator[Finding]:
        """Yield a finding for each line that sets the variable."""
        for setting in text_settings(file, self.keys):
            if setting.value.lower() not in _NOT_ON:
                yield self.found_in_text(
                    setting,
                    message=f"{_VARIABLE} is set for every run: each kernel launch waits for its kernel, so the host "
                    "never runs ahead of the device",
                    instead="remove it, and type it in front of the command while looking for a kernel that fails",
                )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the environment that a training step found."""
        if run.ran(finding.location) == 0:
            return Verdict(Outcome.NOT_REACHED, "the line did not run")
        if finding.severity is Severity.INFO:
            return Verdict(Outcome.UNOBSERVABLE, "no probe looks at the debug mode for synchronisations")
        if run.device is None:
            return Verdict(Outcome.UNOBSERVABLE, NO_DEVICE)
        environment = run.state.get("environment")
        if environment is None:
            return Verdict(Outcome.UNOBSERVABLE, run.unwatched.get("state", "the run ended before its third step"))
        if environment.get(_VARIABLE, "0") not in ("", "0"):
            return Verdict(Outcome.CONFIRMED, f"{_VARIABLE} was {environment[_VARIABLE]} while it {run.trained}")
        return Verdict(Outcome.REFUTED, f"{_VARIABLE} was not 1 while it {run.trained}")


def _is_on(value: ast.expr) -> bool:
    """A literal other than "0"; `str(1)` is one as well."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "str" and value.args:
        value = value.args[0]
    return isinstance(value, ast.Constant) and str(value.value).lower() not in _NOT_ON
