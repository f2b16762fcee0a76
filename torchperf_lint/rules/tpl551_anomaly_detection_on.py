"""TPL551."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import happened
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import asked_for, is_context, reached, switched_back
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.model import Confidence, Finding, Fix, Outcome, Safety, Verdict
from torchperf_lint.recorded import Event
from torchperf_lint.rule import SourceRule
from torchperf_lint.waits import IN_SEARCH

_DETECT = frozenset({"torch.autograd.detect_anomaly", "torch.autograd.anomaly_mode.detect_anomaly"})
_SWITCH = frozenset({"torch.autograd.set_detect_anomaly", "torch.autograd.anomaly_mode.set_detect_anomaly"})
_TRAINER = "lightning.Trainer"


class AnomalyDetectionOn(SourceRule):
    """Autograd's anomaly detection is on in ordinary runs.

    ## What it does
    Flags `torch.autograd.set_detect_anomaly(True)`, `with torch.autograd.detect_anomaly():` and
    `Trainer(detect_anomaly=True)` where no flag decides about it. In a function that nothing in the project calls it
    is only `possible`.

    ## Why it is slow
    Every operation of the forward pass records a Python stack trace, and the backward pass looks for NaN in every
    gradient, which makes the host wait for the device once an operation. Users report training two to three times
    slower.

    ## Example
    ```python
    import torch
    from torch import nn

    torch.autograd.set_detect_anomaly(True)

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device, find_nan: bool = False):
        torch.autograd.set_detect_anomaly(find_nan)
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    While looking for a NaN: behind a flag, or around the step that has just gone wrong:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            optimizer.zero_grad()
            try:
                criterion(model(x), y).backward()
            except RuntimeError:
                with torch.autograd.detect_anomaly():
                    criterion(model(x), y).backward()
            optimizer.step()
    ```

    ## Fix safety
    Unsafe: the literal True becomes False. A NaN in a gradient no longer raises, errors in the backward pass no
    longer show where the forward pass was, and what another part of the program switched on is off from there on.
    No fix for `with torch.autograd.detect_anomaly():`, which has no such literal.

    ## Confirmed by
    `torch.is_anomaly_enabled()` in a training step of the run, and the synchronisations of backward passes meanwhile.

    ## References
    - PyTorch performance tuning guide, "Disable debugging APIs".
    - PyTorch documentation of `torch.autograd.detect_anomaly`, its warning.
    - Lightning-AI/pytorch-lightning #12344, #17359: timings with and without.
    """

    code, name, since = "TPL551", "anomaly-detection-on", "0.1.0"
    triggers = ("detect_anomaly",)
    probes = ("state",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each place that turns anomaly detection on and that no flag decides about."""
        del project
        for site in file.calls_of(*_DETECT, *_SWITCH, _TRAINER):
            function = site.record.function
            if not _turns_on(file, site) or asked_for(file, site.call, function):
                continue
            for_a_while = switched_back(file, function, "set_detect_anomaly", frozenset({False}))
            sure = reached(file, function) and not for_a_while
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` records a stack trace for every operation and searches every "
                f"gradient for NaN, {_when(file, site)}",
                instead="remove it, or let a flag that is off by default decide: "
                "`torch.autograd.set_detect_anomaly(args.find_nan)`",
                confidence=Confidence.CERTAIN if sure else Confidence.POSSIBLE,
                fix=_switched_off(file, site),
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the mode that a training step found set."""
        if run.ran(finding.location) == 0:
            return Verdict(Outcome.NOT_REACHED, "the line did not run")
        on = run.state.get("anomaly_mode")
        if on is None:
            return Verdict(Outcome.UNOBSERVABLE, run.unwatched.get("state", "the run ended before its third step"))
        searched = self.explained_elsewhere(run)
        if on and searched:
            seen = happened(run, searched, "synchronisation", finding.location)
            if seen.outcome is Outcome.CONFIRMED:
                return replace(seen, reason=f"{seen.reason}: backward passes that search for NaN")
        if on:
            return Verdict(Outcome.CONFIRMED, "anomaly detection was on when the optimizer stepped")
        reason = "anomaly detection was off when the optimizer stepped; a `with` block may have ended before"
        return Verdict(Outcome.UNOBSERVABLE, reason)

    def explained_elsewhere(self, run: Evidence) -> tuple[Event, ...]:
        """The waits of backward passes that search their gradients, wherever they are called."""
        return tuple(event for event in run.events if event.kind == "sync" and event.what == IN_SEARCH)


def _turns_on(file: SourceFile, site: Site) -> bool:
    if file.denotes(site.call.func, site) in _DETECT:
        return True
    mode = _mode(file, site)
    return isinstance(mode, ast.Constant) and mode.value in (True, 1)


def _mode(file: SourceFile, site: Site) -> ast.expr | None:
    """The argument that switches it on; `detect_anomaly()` has none."""
    called = file.denotes(site.call.func, site)
    mode = site.keyword("detect_anomaly" if called == _TRAINER else "mode")
    return site.call.args[0] if mode is None and called in _SWITCH and site.call.args else mode


def _switched_off(file: SourceFile, site: Site) -> Fix | None:
    mode = _mode(file, site)
    if mode is None or file.denotes(site.call.func, site) in _DETECT:
        return None
    return fix_of(site, Safety.UNSAFE, lambda edit: [edit.replace(mode, "False")])


def _when(file: SourceFile, site: Site) -> str:
    if is_context(file, site.call, site.record.function):
        return site.hot.when if site.hot is not None else "as long as its block runs"
    return "in every backward pass from here on"
