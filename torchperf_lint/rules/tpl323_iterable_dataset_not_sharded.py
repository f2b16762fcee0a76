"""TPL323."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import silent
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.loader_arguments import given, workers
from torchperf_lint.facts.loaders.loaders import loaders_of
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.loaders.sharding import Stream, undivided
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.values.datasets import data_of
from torchperf_lint.model import Confidence, Finding, Outcome, Verdict
from torchperf_lint.rule import SourceRule


class IterableDatasetNotSharded(SourceRule):
    """Every worker of a loader reads the whole of an iterable data set.

    ## What it does
    Flags `DataLoader(data, num_workers=...)` with more than one worker over an `IterableDataset` of the project that
    reads the same files, list or range in each of them: nothing in the class, or in what it calls, asks for the worker,
    the rank or a shard, and the loader has no `worker_init_fn`.

    ## Why it is slow
    Each worker has a copy of the data set and iterates all of it. With eight workers every sample is read, decoded and
    trained on eight times in an epoch, and batches of the same samples come one after the other. That is also a fault:
    evaluation counts every sample several times.

    ## Example
    ```python
    from torch.utils.data import DataLoader, IterableDataset

    class Lines(IterableDataset):
        def __init__(self, path):
            self.path = path

        def __iter__(self):
            with open(self.path) as file:
                for line in file:
                    yield line

    def loader_of(path):
        return DataLoader(Lines(path), batch_size=64, num_workers=8)
    ```

    ## Use instead
    ```python
    import itertools

    from torch.utils.data import DataLoader, IterableDataset, get_worker_info

    class Lines(IterableDataset):
        def __init__(self, path):
            self.path = path

        def __iter__(self):
            worker = get_worker_info()
            first, step = (worker.id, worker.num_workers) if worker is not None else (0, 1)
            with open(self.path) as file:
                yield from itertools.islice(file, first, None, step)

    def loader_of(path):
        return DataLoader(Lines(path), batch_size=64, num_workers=8)
    ```
    Where processes train together, each of them takes a part as well.

    ## When it is fine
    Samples that are drawn: workers are seeded apart.
    ```python
    import torch
    from torch.utils.data import DataLoader, IterableDataset

    class Noise(IterableDataset):
        def __iter__(self):
            while True:
                yield torch.randn(3, 32, 32)

    def loader():
        return DataLoader(Noise(), batch_size=64, num_workers=8)
    ```

    ## Fix safety
    There is no automatic fix: how to divide a stream without a cost of its own depends on what it is read from.

    ## Confirmed by
    A loader made at the line that read batches with more than one worker.

    ## References
    - PyTorch documentation of torch.utils.data.IterableDataset: "each worker process will have a different copy".
    """

    code, name, since = "TPL323", "iterable-dataset-not-sharded", "0.1.0"
    triggers = ("num_workers",)
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader whose workers all read the same."""
        for site in file.calls_of(*LOADER_CLASSES):
            count = None if unpacks(site.call) else workers(site)
            if count is None or count[0] == 1 or given(site.call, "worker_init_fn") is not None:
                continue
            stream = _stream(project, site)
            if stream is not None:
                yield self._finding(file, project, site, stream, count[0])

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By how many workers the loader made at the line had; the data set is known."""
        read = [loader for loader in run.loader_at(finding.location) if loader.batches]
        if not read:
            return silent(run, finding.location, "loader")
        most = max(loader.workers for loader in read)
        if most < 2:
            return Verdict(Outcome.REFUTED, f"it ran with {'one worker' if most else 'no worker'}")
        return Verdict(Outcome.CONFIRMED, f"it ran with {most} workers, each of which reads all of the data set")

    def _finding(self, file: SourceFile, project: Project, site: Site, stream: Stream, number: int | None) -> Finding:
        uses = loaders_of(project).uses((file.path, *site.start))
        times = f"{number} times" if number is not None else "once for each worker"
        what = f"`{stream.source}`" if stream.source else "all it iterates"
        return self.found(
            site,
            message=f"every worker reads the whole of `{stream.name}` ({what}): each sample comes {times} in an epoch",
            instead="ask `torch.utils.data.get_worker_info()` in `__iter__`, and give each worker its part: "
            "`items[info.id :: info.num_workers]`, or files of its own",
            hot=uses[0].hot if uses else None,
            confidence=Confidence.LIKELY if stream.source else Confidence.POSSIBLE,
        )


def _stream(project: Project, site: Site) -> Stream | None:
    """What the data set of a loader reads in every worker."""
    data = data_of(site.call)
    value = project.values.of(data, site.frame) if data is not None else None
    if value is None or value.kind != "object" or value.thing is None:
        return None
    return undivided(project, value.thing)
