"""TPL402."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.left_out import left_out
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.model import Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_MILDER = frozenset({"eval", "rollout", "data"})


class GcCollectInHotLoop(SourceRule):
    """`gc.collect()` in code that runs every step.

    ## What it does
    Flags full collections by Python's garbage collector where the line runs every training step, evaluation batch or
    forward pass (all but training steps and forward passes are reported as info).

    ## Why it is slow
    A full collection looks at every container object of the process, and a training process holds millions; meanwhile
    the host queues nothing. It frees next to nothing: a tensor goes when its last reference goes, without the
    collector. Only reference cycles wait for it.

    ## Example
    ```python
    import gc

    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            gc.collect()
    ```

    ## Use instead
    ```python
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Between phases, in a handler for out-of-memory errors, and every so many steps in place of automatic collections,
    so that all ranks pause together:
    ```python
    import gc

    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion, device):
        gc.disable()
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                gc.collect(1)
        gc.enable()
        gc.collect()
    ```

    ## Fix safety
    Unsafe: the call is removed, with a test that guards nothing else and an import that nothing else uses. A program
    whose batches hang in reference cycles needs the collector, and then less often. There is none where the count that
    it returns is used, or where code that is not hot calls the function around.

    ## Confirmed by
    Collections that the line asked for, counted, with the time they took.

    ## References
    - Python documentation, `gc.collect` and `gc.freeze`.
    - huggingface/peft #2894: timings with and without the calls, peak memory unchanged.
    """

    code, name, since = "TPL402", "gc-collect-in-hot-loop", "0.1.0"
    triggers = ("gc.collect", "gc import", "import gc")
    probes = ("collector",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot full collection, unless the file steers the collector itself."""
        del project
        if not file.mentions(("collect(",)) or file.mentions(("gc.disable(",)):
            return
        for site in file.calls_of("gc.collect"):
            if site.hot is None or not _is_full(site):
                continue
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` walks every Python object of the process {site.hot.when}",
                instead="remove it: tensors are freed when their last reference goes (or collect between phases, or "
                "every so many steps: `if step % 100 == 0: gc.collect()`)",
                hot=site.hot,
                fix=left_out(site),
                severity=Severity.INFO if site.hot.kind in _MILDER else None,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By collections that the line asked for, and the time they took; needs no device."""
        seen = run.at(finding, "collect")
        return by_events(finding, run, seen, "full collection", needs_device=False, probes=self.probes)


def _is_full(site: Site) -> bool:
    """Whether all generations are collected: no argument, or a literal 2; the young ones are cheap."""
    given = arguments(site.call)
    return not given or is_literal(given[0], 2)
