"""TPL301."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_waits, silent, unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.any_data_set import takes_any_data_set
from torchperf_lint.facts.loaders.chosen_data_sets import work_of_any
from torchperf_lint.facts.loaders.indexed_data_sets import IndexedDataSet, indexed_data_sets
from torchperf_lint.facts.loaders.left_early import only_begins
from torchperf_lint.facts.loaders.loaders import LoaderUse, loaders_of
from torchperf_lint.facts.loaders.no_workers import Unasked, no_workers
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.values.datasets import collating_work, data_of, held, item_work
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule

_BY_INDEX = "makes each sample in the loop's own process"


class LoaderWithoutWorkers(SourceRule):
    """A DataLoader without workers, over a data set that works for each item.

    ## What it does
    Flags `DataLoader(...)` whose `num_workers` is absent or 0, where a training loop iterates it and the data set is
    known to do real work for each item: it opens or decodes files, transforms images, tokenises. The number is followed
    to parameters whose callers give no other, and to options of the command line that are 0 by default, which makes it
    info; so do evaluation loops alone. Where nothing is known about the data set, the finding is `possible` and not
    shown by default, but where a trainer takes any `Dataset` and lets nobody ask for workers.
    Also loops that have no loader at all and take each sample by its index, `for i in range(len(dataset))`, before
    they run a model on it.

    ## Why it is slow
    Without workers every item is read, decoded and collated in the training process, between two steps, while the
    device waits; nothing is fetched ahead.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader
    from torchvision import datasets, transforms

    def train(model: nn.Module, optimizer, criterion, device):
        images = datasets.ImageFolder("data", transforms.ToTensor())
        loader = DataLoader(images, batch_size=64, shuffle=True)
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
    from torchvision import datasets, transforms

    def train(model: nn.Module, optimizer, criterion, device, workers: int):
        images = datasets.ImageFolder("data", transforms.ToTensor())
        loader = DataLoader(images, batch_size=64, shuffle=True, num_workers=workers, pin_memory=True)
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    For data that is in memory already, worker processes only add copying:
    ```python
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def train(model: nn.Module, x, y, optimizer, criterion, device):
        loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True, pin_memory=True)
        for xb, yb in loader:
            loss = criterion(model(xb.to(device, non_blocking=True)), yb.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```
    Nor do workers pay in an evaluation that makes its loader anew and leaves it after a few batches,
    `if i >= n: break`: each start of them takes longer than these batches.

    ## Fix safety
    There is no automatic fix: the right number depends on the machine and on what an item costs; measure the time a
    step waits for the loader. A data set that holds open files or device tensors must be made safe for worker
    processes first.

    ## Confirmed by
    The share of each step that is spent waiting for the loader.

    ## References
    - PyTorch performance tuning guide, "Enable asynchronous data loading and augmentation".
    - PyTorch documentation of torch.utils.data, "Single- and multi-process data loading".
    """

    code, name, since = "TPL301", "loader-without-workers", "0.1.0"
    triggers = ("DataLoader", "Loader(", "range(len(")
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader without workers that a hot loop iterates."""
        if not project.uses_accelerator:
            return
        for site in file.calls_of(*LOADER_CLASSES):
            uses = loaders_of(project).uses((file.path, *site.start))
            unasked = no_workers(project, site.call, site.frame) if uses else None
            if unasked is not None and not only_begins(site, uses):
                yield from self._judged(file, project, site, uses, unasked)
        for read in indexed_data_sets(file) if file.mentions(("range(len(",)) else ():
            yield self._by_index(file, read)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By what the loader made at the line was, and how long the loop waited for it; needs no device."""
        if _BY_INDEX in finding.message:
            return unmeasured(run, finding.location, "what a loop pays for samples it makes itself is not measured")
        made = run.loader_at(finding.location)
        if not made:
            return silent(run, finding.location, "loader")
        read = [loader for loader in made if loader.batches]
        if not read:
            return Verdict(Outcome.NOT_REACHED, "no batch was read from the loader")
        if all(loader.workers for loader in read):
            return Verdict(Outcome.REFUTED, f"it ran with {read[0].workers} workers")
        return by_waits(run, (loader for loader in read if not loader.workers), "no workers")

    def _by_index(self, file: SourceFile, read: IndexedDataSet) -> Finding:
        hot = read.spot.hot
        return self.found(
            read.spot,
            message=f"`{file.brief(read.spot.expression)}` {_BY_INDEX}, {read.work}, "
            f"while the device waits, {hot.when}",
            instead=f"fetch ahead: `for sample in DataLoader({read.data}, batch_size=None, num_workers=4)` gives the "
            "same samples in the same order, one by one, arrays as tensors",
            hot=hot,
            severity=Severity.WARNING if hot.kind == "step" else Severity.INFO,
            confidence=Confidence.POSSIBLE if hot.optional else Confidence.LIKELY,
        )

    def _judged(
        self, file: SourceFile, project: Project, site: Site, uses: list[LoaderUse], unasked: Unasked
    ) -> Iterator[Finding]:
        if held(project.values, site.call, site.frame) is not None:
            return
        data = data_of(site.call)
        work = None
        if data is not None:
            work = item_work(project.values, data, site.frame) or work_of_any(project.values, data, site.frame)
            work = work or collating_work(project.values, site.call, site.frame)
        first = next((use for use in uses if use.hot.kind == "step"), uses[0])
        offered = takes_any_data_set(project, data, site.frame) if data is not None and not work else None
        rebuilt = project.hotness.of_region(file.path, site.record.region) is not None  # starting workers takes longer
        offered = offered if first.hot.kind == "step" and not first.hot.optional and not rebuilt else None
        because = f": {work}, in the training process" if work else f": {offered}" if offered else ""
        zero = f" ({unasked.because})" if unasked.because else ""
        yield self.found(
            site,
            message=f"no workers fetch ahead for the loop at {first.path}:{first.line}{zero}{because}",
            instead=f"{_change(unasked, offered)} (try 4 and "
            "watch how long a step waits for data); keep the data set free of open handles and device tensors",
            hot=first.hot,
            severity=Severity.WARNING if first.hot.kind == "step" and not unasked.by_option else Severity.INFO,
            confidence=Confidence.POSSIBLE
            if not work and not offered
            else Confidence.LIKELY
            if offered or unasked.because
            else None,
            related=[file.related(u.path, u.line, 1, "iterates the loader") for u in uses[:5]],
        )


def _change(unasked: Unasked, offered: str | None) -> str:
    if offered:
        return "take `num_workers` as a parameter and pass it on"
    return "give the option another default" if unasked.by_option else "pass `num_workers`"
