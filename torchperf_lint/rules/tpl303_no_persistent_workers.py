"""TPL303."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import silent, until_first_batches
from torchperf_lint.evidence import OFTEN_ENOUGH, Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.loader_arguments import given, workers
from torchperf_lint.facts.loaders.loaders import loaders_of
from torchperf_lint.facts.loaders.passes_again import Again, read_again
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.values.datasets import held
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule

_NAME = "persistent_workers"


class NoPersistentWorkers(SourceRule):
    """A loader starts its workers anew for every epoch.

    ## What it does
    Flags `DataLoader(num_workers=...)` without `persistent_workers`, where the loader is made once and a loop of epochs
    reads it in each turn. Where only evaluation reads it, that is info.

    ## Why it is slow
    At the end of a pass the workers are ended, at the start of the next they are started: processes are made, with
    `spawn` torch is imported and the data set unpickled in each, what the data set keeps open or caches is lost, and
    the queue is empty. The first step of each epoch waits for all that. With short epochs that is much of the time;
    with `fork` and long epochs it is next to nothing, which is why the rule is off by default.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, device, epochs):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=8, pin_memory=True)
        for epoch in range(epochs):
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    ```

    ## Use instead
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, device, epochs):
        loader = DataLoader(
            dataset, batch_size=64, shuffle=True, num_workers=8, pin_memory=True, persistent_workers=True
        )
        for epoch in range(epochs):
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    ```

    ## When it is fine
    Where the loop changes the data set between epochs: workers that live on keep their old copy.
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, device, epochs):
        loader = DataLoader(dataset, batch_size=64, num_workers=8, pin_memory=True)
        for epoch in range(epochs):
            dataset.set_epoch(epoch)
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: what the main process changes in the data set later does not reach workers that live on,
    and the memory of all loaders' workers is taken at the same time.

    ## Confirmed by
    A loader made at the line with workers that were started for each of at least three passes.

    ## References
    - PyTorch documentation of torch.utils.data, `persistent_workers`.
    - pytorch/pytorch #55455; open-mmlab/mmhuman3d #233.
    """

    code, name, since = "TPL303", "no-persistent-workers", "0.1.0"
    default = False
    triggers = ("num_workers",)
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader that is read again and again by new workers."""
        for site in file.calls_of(*LOADER_CLASSES):
            count = None if unpacks(site.call) else workers(site)
            if count is None or given(site.call, _NAME) is not None:
                continue
            origin = (file.path, *site.start)
            again = read_again(project, origin, loaders_of(project).uses(origin))
            if again is not None:
                yield self._finding(file, project, site, again, *count)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By what the loader made at the line was, and how often it was read."""
        read = [loader for loader in run.loader_at(finding.location) if loader.batches]
        if not read:
            return silent(run, finding.location, "loader")
        anew = [loader for loader in read if loader.workers and not loader.settings.get(_NAME)]
        passes = sum(loader.epochs for loader in anew)
        if not anew:
            return Verdict(Outcome.REFUTED, "it ran without workers, or with workers that live on")
        if passes < OFTEN_ENOUGH:
            return Verdict(Outcome.UNOBSERVABLE, f"{passes} passes, too few to judge")
        return Verdict(Outcome.CONFIRMED, f"{passes} passes{until_first_batches(run, anew)}")

    def _finding(
        self, file: SourceFile, project: Project, site: Site, again: Again, number: int | None, written: str
    ) -> Finding:
        shown = "" if again.path == file.path else f" of {again.path}"
        flag = "True" if number is not None else f"{written} > 0"
        in_memory = held(project.values, site.call, site.frame) is not None
        return self.found(
            site,
            message=f"its workers end and start anew in each turn of `{again.region.detail}` "
            f"(line {again.region.head}{shown})",
            instead=f"pass `{_NAME}={flag}`, unless something changes the data set between the passes: workers that "
            "live on keep their copy of it",
            hot=again.use.hot,
            severity=None if again.use.hot.kind == "step" else Severity.INFO,
            confidence=Confidence.POSSIBLE if in_memory else None,
            related=[file.related(again.path, again.region.head, 1, "reads the loader in each turn")],
        )
