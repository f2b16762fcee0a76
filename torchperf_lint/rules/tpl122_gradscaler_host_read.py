"""TPL122."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.edits import fix_of
from torchperf_lint.facts.hotness.hot import place
from torchperf_lint.facts.optimizers.scaled_steps import scale_reads, stepped_unfused
from torchperf_lint.model import Confidence, Finding, Fix, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class GradscalerHostRead(SourceRule):
    """A gradient scaler that reads the device in every step: to step an optimizer that is not fused, or its scale.

    ## What it does
    Flags `Adam`, `AdamW` and `SGD` of torch, made without `fused=True`, where `GradScaler.step` steps them in a
    training loop, where all that may make the optimizer is in sight, in other functions and files too (info, and only
    `possible`: those who read whole programs asked for no change there; a run says what the wait costs); and
    `GradScaler.get_scale()` and `state_dict()["scale"]` in a training loop, where the number is not compared with
    another, and a `state_dict()` that every step puts by: `runner.meta["scaler"] = scaler.state_dict()`.

    ## Why it is slow
    `GradScaler.step` reads from the device whether any gradient was infinite, and skips the step on the host. The
    host waits for the whole backward pass before it can launch the optimizer. Fused optimizers get the answer as a
    tensor and skip on the device. `get_scale()` reads one number, and waits the same way.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, device, history):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        scaler = torch.amp.GradScaler("cuda")
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            history.append(scaler.get_scale())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, device, history):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
        scaler = torch.amp.GradScaler("cuda")
        for step, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            if step % 100 == 0:
                history.append(scaler.get_scale())
    ```

    ## When it is fine
    The scale on a cadence, or where the program has to know whether a step was skipped:
    ```python
    def finish(scaler, optimizer, scheduler, loader, compute):
        for step, batch in enumerate(loader):
            scaler.scale(compute(batch)).backward()
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            if scaler.get_scale() >= before:
                scheduler.step()
            if step % 100 == 0:
                print(scaler.get_scale())
    ```

    ## Fix safety
    Unsafe: `fused=True` is added to the optimizer. It rounds in other places, and needs the parameters on the device
    when the optimizer is made. There is none for `get_scale()`.

    ## Confirmed by
    A synchronisation at the line where the scaler is used, in at least half of the recorded steps.

    ## References
    - torch/amp/grad_scaler.py, `_maybe_opt_step` and `_step_supports_amp_scaling`.
    - PyTorch documentation of `torch.optim.AdamW`, `fused`.
    """

    code, name, since = "TPL122", "gradscaler-host-read", "0.1.0"
    triggers = ("scaler",)
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each read by a scaler that could be left out."""
        for site in scale_reads(file):
            assert site.hot is not None
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` reads the scale from the device {site.hot.when}",
                instead="call it under `if step % n == 0:`",
                hot=site.hot,
            )
        for made, step in stepped_unfused(file):
            assert step.hot is not None
            if made.record.callee.endswith("SGD") and project.must_run_before(2, 3):
                continue
            yield self.found(
                step,
                message=f"`{file.brief(step.call)}` reads from the device whether a gradient was infinite, "
                f"{step.hot.when}: the optimizer ({place(made.file.path, made.record.line, file.path)}) is not fused",
                instead=f"make it with `fused=True`: `{made.file.brief(made.call.func)}(..., fused=True)` skips such "
                "steps on the device",
                hot=step.hot,
                severity=Severity.INFO,
                confidence=Confidence.POSSIBLE,
                related=[file.related(made.file.path, *made.start, "the optimizer is made here")],
                fix=_fix(made) if made.file.path == file.path else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the line."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _fix(made: Site) -> Fix | None:
    return fix_of(made, Safety.UNSAFE, lambda edit: edit.set_keyword(made.call, "fused", "True"))
