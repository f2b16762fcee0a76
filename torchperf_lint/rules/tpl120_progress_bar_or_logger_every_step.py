"""TPL120."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events, unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.on_device import holds_on_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.formatted_tensors import is_written_within
from torchperf_lint.facts.reads.loggers import BAR, Logged, logged
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_REDRAWS = "redraws the progress bar"


class ProgressBarOrLoggerEveryStep(SourceRule):
    """A progress bar or an experiment tracker that is fed from the device every step.

    ## What it does
    Flags `set_postfix`, `set_description`, `wandb.log`, `add_scalar`, `add_histogram` (which copies the whole tensor),
    `log_metrics` and their like, Fabric's too, given a device tensor or a number just read from one, without a cadence,
    where the line runs every training step or evaluation batch (the last is reported as info).

    ## Why it is slow
    The host waits until everything queued on the device before has run, to show a number that nobody reads at that
    rate. `set_postfix` redraws the bar at each call, whatever its `mininterval`; trackers serialise and queue.

    ## Example
    ```python
    import torch
    from torch import nn
    from tqdm import tqdm

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        bar = tqdm(loader)
        for x, y in bar:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            bar.set_postfix(loss=loss.item())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn
    from tqdm import tqdm

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        bar = tqdm(loader)
        for step, (x, y) in enumerate(bar):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 0:
                bar.set_postfix(loss=loss.item())
    ```

    ## When it is fine
    For numbers that are on the host anyway, and through a framework that keeps a cadence itself:
    ```python
    import torch
    from lightning import LightningModule
    from torch import nn

    class Classifier(LightningModule):
        def __init__(self, net: nn.Module):
            super().__init__()
            self.net = net

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.log("loss", loss)
            return loss
    ```
    A bar that shows host numbers is drawn again in every step, too; what that costs is not measured, and it is only
    `possible`.

    ## Fix safety
    There is no automatic fix yet: a cadence changes what is shown.

    ## Confirmed by
    A synchronisation at the call in at least half of the recorded steps or evaluation batches; or several in a row, in
    a loop of its own. What a redraw costs is not measured.

    ## References
    - tqdm, `set_postfix(refresh=True)`: "Forces refresh".
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    """

    code, name, since = "TPL120", "progress-bar-or-logger-every-step", "0.1.0"
    triggers = (
        *(".set_postfix", ".set_desc", ".add_scalar", ".add_histogram", ".report_scalar", ".log_metric"),
        *(".log(", ".log_dict("),
    )
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot call that reads the device, or redraws."""
        del project
        for call in logged(file):
            if call.site.hot is not None and call.site.hot.kind != "data":
                yield from self._reading(file, call) if call.reads else self._redrawing(file, call)

    def _reading(self, file: SourceFile, call: Logged) -> Iterator[Finding]:
        site, hot = call.site, call.site.hot
        assert hot is not None
        first = call.reads[0]
        more = f" and {len(call.reads) - 1} more" if len(call.reads) > 1 else ""
        value = file.value(_tensor_of(first), site)
        written = f"{short(words(site.call.func))}(...)"
        yield self.found(
            site,
            message=f"`{written}` reads `{short(words(first))}`{more} from the device {hot.when}",
            instead=f"call `{written}` under `if step % n == 0:`; for a mean add up `.detach()` tensors on the device "
            "and read the sum there",
            value=value if value.kind == "tensor" else holds_on_device(file, site, first),
            hot=hot,
            severity=Severity.INFO if hot.optional or hot.kind == "eval" else None,
            confidence=Confidence.POSSIBLE if hot.optional else None,
            root_cause=cause(site),
            leads=False,
        )

    def _redrawing(self, file: SourceFile, call: Logged) -> Iterator[Finding]:
        site, hot = call.site, call.site.hot
        assert hot is not None
        refresh = site.keyword("refresh")
        if call.kind != BAR or is_false(refresh) or is_written_within(file, site.call):
            return  # of a text with a tensor in it TPL104 tells
        yield self.found(
            site,
            message=f"`{file.brief(site.call.func)}(...)` {_REDRAWS} {hot.when}",
            instead="pass `refresh=False`, and the bar redraws at its own interval, or call it under "
            "`if step % n == 0:`",
            hot=hot,
            severity=Severity.INFO,
            confidence=Confidence.POSSIBLE,  # readers find it a matter of taste, and nobody has measured it
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the call; a redraw with numbers of the host claims none, and is not measured."""
        events = run.at(finding, "sync")
        if not events and _REDRAWS in finding.message:
            return unmeasured(run, finding.location, "what a redraw of the bar costs is not measured")
        return by_events(finding, run, events, "synchronisation", probes=self.probes)


def _tensor_of(read: ast.expr) -> ast.expr:
    """What a read reads: of `loss.item()` and `float(loss)` the loss."""
    if not isinstance(read, ast.Call):
        return read
    if isinstance(read.func, ast.Attribute) and not read.args:
        return read.func.value
    return read.args[0] if read.args else read
