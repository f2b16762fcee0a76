"""TPL209."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events, unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.models.snapshots import NAMES, SAVE, snapshot_at
from torchperf_lint.facts.optimizers.states_read import attribute_read_as_state
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule

_GOES_THROUGH = "goes through all parameters"


class CheckpointEveryStep(SourceRule):
    """A checkpoint, or a copy of the whole model, at every training step.

    ## What it does
    Flags `torch.save(model.state_dict(), ...)`, `save_pretrained`, `save_checkpoint`, `save_state`, and
    `copy.deepcopy` of a model or its state, in a training loop and under no condition that makes them rare. As info, an
    optimizer's state that is put together for one entry: `optimizer.state_dict()["param_groups"][0]["lr"]`.

    ## Why it is slow
    Every weight crosses to the host, is pickled and written, while the device has nothing to do. A copy on the device
    doubles what the weights take.

    ## Example
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device, path):
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            torch.save(model.state_dict(), path)
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device, path):
        for step, (x, y) in enumerate(loader):
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 1000 == 0:
                torch.save(model.state_dict(), path)
    ```
    `torch.distributed.checkpoint.async_save` writes while training goes on.

    ## When it is fine
    Once an epoch, on a cadence, and at the end:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device, path, epochs: int):
        for epoch in range(epochs):
            for x, y in loader:
                x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            torch.save(model.state_dict(), f"{path}-{epoch}")
    ```
    Keeping the best so far (`if loss < best:`) happens often at first and seldom later. Such findings are only
    `possible`: shown with `--confidence possible`.

    ## Fix safety
    There is no automatic fix: how often to save is for you to say.

    ## Confirmed by
    Synchronisations or copies to the host at the line in at least half of the recorded steps; what is written to disk
    no probe watches, so without them the finding stays open.

    ## References
    - PyTorch, `torch.distributed.checkpoint.async_save`.
    - PyTorch tutorial, "Saving and loading models".
    """

    code, name, since = "TPL209", "checkpoint-every-step", "0.1.0"
    triggers = ("save", "deepcopy", "state_dict")
    probes = ("host-sync", "transfers")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each snapshot of a model that a training loop takes at every step."""
        del project
        for site in file.hot_calls(*NAMES):
            found = snapshot_at(site)
            if found is None or site.hot is None:
                yield from self._entry(file, site)
                continue
            rare = found.best_only or site.hot.optional
            what = "save" if found.does == SAVE else "copy"
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` {found.does} {site.hot.when}"
                + (" that is the best so far" if found.best_only else ""),
                instead=f"{what} once every n steps (`if step % n == 0:`) or once an epoch",
                value=Value("plain", because=found.about),
                hot=site.hot,
                confidence=Confidence.POSSIBLE if rare else None,
                severity=Severity.INFO if rare else None,
                root_cause=f"{self.code} on line {site.record.line} of function {site.function}",
            )

    def _entry(self, file: SourceFile, site: Site) -> Iterator[Finding]:
        hot = site.hot
        if hot is None or hot.kind != "step" or hot.optional or not site.record.callee.endswith("state_dict"):
            return
        attribute = attribute_read_as_state(site)
        if attribute is None:
            return
        yield self.found(
            site,
            message=f"`{file.brief(site.call)}` {_GOES_THROUGH}, for one entry of what it gives, {hot.when}",
            instead=f"read the optimizer itself: `{attribute}`",
            hot=hot,
            severity=Severity.INFO,
            root_cause=f"{self.code} on line {site.record.line} of function {site.function}",
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By what the line made the host wait for, or copy."""
        if _GOES_THROUGH in finding.message:
            return unmeasured(run, finding.location, "no probe measures what the host does in a call")
        seen = run.at(finding, "sync", "copy")
        if seen:
            return by_events(finding, run, seen, "copy of the weights", probes=self.probes)
        if run.ran(finding.location) == 0:
            return Verdict(Outcome.NOT_REACHED, "the line did not run")
        return Verdict(Outcome.UNOBSERVABLE, "no probe watches what is written to disk or copied on the device")
