"""TPL203."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.copy_fixes import without_pinning
from torchperf_lint.facts.loaders.asynchronous import Pinned, pinned_and_moved
from torchperf_lint.model import Confidence, Finding, Fix, Location, Safety, Severity, Verdict
from torchperf_lint.rule import SourceRule


class PinMemoryInline(SourceRule):
    """`.pin_memory()` just before the copy to the device, in the step itself.

    ## What it does
    Flags `x.pin_memory().to(device)` and `.pin_memory().cuda()`, chained or over two statements, on a loader's batch in
    code that runs every training step or forward pass. Functions that work ahead of the step (threads, workers,
    prefetchers, `collate_fn`) are left alone, and so is what no loader makes: it has to be pinned somewhere. Where the
    loader has pinned the batch, the call gives it back and costs next to nothing: the finding is info.

    ## Why it is slow
    `pin_memory()` copies the batch into pinned memory, in the training process, while nothing else is done there. A
    loader does that in a thread, ahead of the step. torch keeps pinned blocks and uses them again, so pages are locked
    in the first steps only: pinning by hand beats a blocking copy from pageable memory where the device sets the pace,
    and one buffer that is filled again is no faster. An H200 with torch 2.11 took 1.07 and 1.13 times as long
    for a step of larger kernels that pinned its batch as for one whose loader had, and, where the device set the pace,
    0.85 times as long as for one that copied it unpinned (docs/prices.md).

    ## Example
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, device):
        for x, y in loader:
            x = x.pin_memory().to(device, non_blocking=True)
            y = y.pin_memory().to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Where no loader makes the batch, and in a thread that prepares batches:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, tokens: torch.Tensor, optimizer, device):
        for start in torch.randint(len(tokens) - 64, (1000,)).tolist():
            x = tokens[start : start + 64].pin_memory().to(device, non_blocking=True)
            loss = model(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    `.pin_memory()` is taken out; the same values arrive. Safe where the batch is what a pinned loader yields: there it
    gave back the tensor itself. Otherwise unsafe: a loader in the same file that has workers is asked to pin, which
    takes memory, and what else uses the tensor gets the one that was pinned and no copy. Where no loader in sight pins,
    or can be asked to, there is none.

    ## Confirmed by
    Copies to the device from pinned memory, where what was pinned is moved, in at least half of the recorded steps.

    ## References
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch" (which measures single
      copies, before the first of which pages have to be locked).
    """

    code, name, since = "TPL203", "pin-memory-inline", "0.1.0"
    triggers = (".pin_memory(",)
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each tensor that the step pins and then moves."""
        del project
        for pinned in pinned_and_moved(file):
            if _from_a_loader(file, pinned):
                yield self._finding(file, pinned)

    def _finding(self, file: SourceFile, pinned: Pinned) -> Finding:
        site, hot = pinned.move, pinned.move.hot
        assert hot is not None
        start, end = file.span(pinned.pin)
        fix = _fix(file, pinned)
        in_vain = fix is not None and fix.safety is Safety.SAFE
        found = self.found(
            site,
            message=f"`{file.brief(pinned.pin)}` gives back what its loader has pinned, {hot.when}"
            if in_vain
            else f"`{file.brief(pinned.pin)}` copies the batch into pinned memory while the host waits {hot.when}",
            instead="drop it"
            if in_vain
            else "drop it, and pass `pin_memory=True` to the loader, which pins in a thread",
            hot=hot,
            confidence=Confidence.POSSIBLE if hot.optional else None,
            severity=Severity.INFO if in_vain or hot.kind == "eval" or hot.optional else None,
            related=[file.related(file.path, *site.start, "moves what was pinned")]
            if site.start[0] != start[0]
            else (),
            root_cause=f"{self.code} on line {start[0]} of function {site.function}",
            fix=fix,
        )
        return replace(found, location=Location(file.shown, *start, *end))

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies from pinned memory where what was pinned is moved."""
        at = finding.related[0].location if finding.related else finding.location
        seen = copies(run, replace(at, column=1, end_column=10**6), "h2d", lambda c: c.attributes.get("pinned") is True)
        return by_events(finding, run, seen, "copy of what the step pinned", probes=self.probes)


def _from_a_loader(file: SourceFile, pinned: Pinned) -> bool:
    """Whether a loader makes the batch, and could pin it."""
    assert isinstance(pinned.pin.func, ast.Attribute)
    return file.value(pinned.pin.func.value, pinned.move).kind == "batch"


def _fix(file: SourceFile, pinned: Pinned) -> Fix | None:
    assert isinstance(pinned.pin.func, ast.Attribute)
    return without_pinning(pinned.pin, pinned.move, file.value(pinned.pin.func.value, pinned.move))
