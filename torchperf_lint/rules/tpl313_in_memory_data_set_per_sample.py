"""TPL313."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_waits, silent
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.collating import Batch, collated_by_sample
from torchperf_lint.facts.loaders.loaders import LoaderUse, loaders_of
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.model import Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule


class InMemoryDataSetPerSample(SourceRule):
    """A DataLoader that takes tensors in memory apart into samples and stacks them again.

    ## What it does
    Flags `DataLoader(...)` over a `TensorDataset`, or over a class whose `__getitem__` only indexes its tensors or
    arrays, where a training loop iterates it, batches have more than one sample and nothing is collated in a way of
    its own. Info: how much it is depends on what a sample weighs beside the step. Where the size of a batch, what the
    class holds or that batches go to a device is not in sight, the finding is `possible` and not shown by default.

    ## Why it is slow
    For each batch Python indexes every sample on its own and `default_collate` stacks the small tensors again:
    thousands of calls for what one index of the whole tensor does at once. Worker processes only move that work and
    copy the result; they make small samples slower.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def train(model: nn.Module, x, y, optimizer, criterion, device):
        loader = DataLoader(TensorDataset(x, y), batch_size=1024, shuffle=True)
        for xb, yb in loader:
            loss = criterion(model(xb.to(device)), yb.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    Batches by index; the tensors may live on the device where they fit:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, x, y, optimizer, criterion, device):
        x, y = x.to(device), y.to(device)
        for index in torch.randperm(len(x), device=device).split(1024):
            loss = criterion(model(x[index]), y[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```
    Or, with the loader kept, indices by the batch:
    ```python
    from torch import nn
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

    def train(model: nn.Module, x, y, optimizer, criterion, device):
        data = TensorDataset(x, y)
        sampler = BatchSampler(RandomSampler(data), batch_size=1024, drop_last=False)
        for xb, yb in DataLoader(data, sampler=sampler, batch_size=None):
            loss = criterion(model(xb.to(device)), yb.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    For a few thousand samples, and where samples are read, transformed or padded one by one:
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def fit_a_line(model: nn.Module, optimizer, device):
        data = TensorDataset(torch.randn(500, 3), torch.randn(500, 1))
        for x, y in DataLoader(data, batch_size=32, shuffle=True):
            optimizer.zero_grad()
            (model(x.to(device)) - y.to(device)).pow(2).mean().backward()
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: the order of random numbers changes, and with it which samples share a batch.

    ## Confirmed by
    The loader at the place: batches of several samples, and how long the loop waited for each.

    ## References
    - PyTorch documentation of torch.utils.data, "Disable automatic batching".
    - pytorch/pytorch #154318, #106704: timings.
    """

    code, name, since = "TPL313", "in-memory-data-set-per-sample", "0.1.0"
    severity = Severity.INFO
    triggers = ("DataLoader", "Loader(")
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader whose batches one index could take."""
        for site in file.calls_of(*LOADER_CLASSES) if project.uses_accelerator else ():
            uses = [use for use in loaders_of(project).uses((file.path, *site.start)) if use.hot.kind == "step"]
            batch = collated_by_sample(site) if uses else None
            if batch is not None:
                goes = (
                    bool(loaders_of(project).copies((file.path, *site.start)))
                    or file.value(site.call, site).device == DEVICE
                )
                yield self._finding(file, site, batch if goes else batch.doubtful, uses)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By what the loader made at the line was, and how long the loop waited for it."""
        read = [loader for loader in run.loader_at(finding.location) if loader.batches]
        if not read:
            return silent(run, finding.location, "loader")
        if all((loader.settings.get("batch_size") or 1) == 1 for loader in read):
            return Verdict(Outcome.REFUTED, "its batches are not put together from several samples")
        return by_waits(run, read, f"batches of {read[0].settings.get('batch_size')} samples")

    def _finding(self, file: SourceFile, site: Site, batch: Batch, uses: list[LoaderUse]) -> Finding:
        first = uses[0]
        when = first.hot.when.partition(" (")[0]
        return self.found(
            site,
            message=f"`{batch.size}` samples of {batch.of} are indexed one by one and stacked again {when}",
            instead=f"index whole batches, `for index in torch.randperm(n).split({batch.size}): x[index]`; or pass "
            f"`sampler=BatchSampler(RandomSampler(data), {batch.size}, False), batch_size=None`",
            hot=first.hot,
            confidence=max(batch.confidence, first.hot.confidence, key=lambda c: c.rank),
            related=[file.related(use.path, use.line, 1, "takes its batches") for use in uses[:5]],
        )
