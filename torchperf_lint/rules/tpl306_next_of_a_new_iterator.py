"""TPL306."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import priced, silent, until_first_batches
from torchperf_lint.evidence import OFTEN_ENOUGH, Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.passes import Pass, pass_for_one_batch, varies
from torchperf_lint.facts.loaders.pinning import WORKERS_POSITION, lacks, loader_call
from torchperf_lint.model import Confidence, Finding, Location, Outcome, Severity, Verdict
from torchperf_lint.rates import EVALUATION, STEP
from torchperf_lint.recorded import Begun, LoaderRun
from torchperf_lint.rule import SourceRule

_BATCHES_A_PASS = 1.5
"""Up to so many batches a pass on average, a pass is begun for one batch."""


class NextOfANewIterator(SourceRule):
    """`next(iter(loader))` in code that runs every step.

    ## What it does
    Flags steps that take their batch from an iterator made just for it, `next(iter(loader))` or the same in two
    statements. Where the loader is known to have no workers, the finding is info.

    ## Why it is slow
    `iter(loader)` begins a whole pass: it starts the workers, draws a new order of all samples, and has
    `num_workers * prefetch_factor` batches made. One of them is used, the rest is thrown away, and the workers are
    stopped. Without workers, what remains is the order and a batch that nobody prepared ahead.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, steps, device):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
        for _ in range(steps):
            x, y = next(iter(loader))
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Use instead
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def endless(loader):
        while True:
            yield from loader

    def train(model: nn.Module, dataset, optimizer, criterion, steps, device):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
        batches = endless(loader)
        for _ in range(steps):
            x, y = next(batches)
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    To look at one batch before training, and to begin anew where a pass has ended:
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, loader: DataLoader, optimizer, criterion, steps, device):
        print(next(iter(loader))[0].shape)
        batches = iter(loader)
        for _ in range(steps):
            try:
                x, y = next(batches)
            except StopIteration:
                batches = iter(loader)
                x, y = next(batches)
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix yet: with one iterator every sample is seen once a pass, where now each step sees the
    first batch of a fresh shuffle.

    ## Confirmed by
    Several passes over the loader with about one batch each, counted by the step; priced, where time is measured, by
    what the loop waited until each first batch.

    ## References
    - PyTorch documentation, torch.utils.data: a new iterator starts the worker processes.
    - pytorch/pytorch #1917.
    """

    code, name, since = "TPL306", "next-of-a-new-iterator", "0.1.0"
    triggers = ("iter(", "iter__(")
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot batch that begins a pass of its own."""
        for site in file.hot_calls("next", "__next__"):
            begun = pass_for_one_batch(site)
            if begun is None or site.hot is None or site.hot.kind == "data" or varies(site, begun.loader):
                continue
            yield self._finding(project, site, begun)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By passes that had about one batch each."""
        made = [loader for place in finding.related for loader in run.loader_at(place.location)]
        begun = [(loader, *_begun_there(loader, finding)) for loader in made or run.loaders]
        begun = [(loader, p, b) for loader, p, b in begun if p >= OFTEN_ENOUGH and 0 < b <= _BATCHES_A_PASS * p]
        if not begun:
            return silent(run, finding.location, "pass for one batch")
        again = [loader for loader, _, _ in begun]
        passes, batches = sum(p for _, p, _ in begun), sum(b for _, _, b in begun)
        reason = f"{passes} passes over the loader for {batches} batches{until_first_batches(run, again)}"
        turns, unit = (run.steps, STEP) if run.steps else (run.eval_total, EVALUATION)
        if not turns:
            return Verdict(Outcome.CONFIRMED, reason)
        times = passes / turns
        each = sum(loader.start_ms + loader.first_wait_ms for loader in again) / sum(one.epochs for one in again)
        verdict = priced(run, Outcome.CONFIRMED, reason, each * times * run.paid_by[0])
        return replace(verdict, times=times, times_per=unit)

    def _finding(self, project: Project, site: Site, begun: Pass) -> Finding:
        assert site.hot is not None
        written = site.file.brief(begun.loader)
        known = begun.value.weaker(Confidence.POSSIBLE if site.hot.optional else site.hot.confidence)
        told = "" if begun.value.confidence is Confidence.CERTAIN else " (a DataLoader by its name)"
        origins = begun.value.origins
        calls = [call for call in (loader_call(project, origin) for origin in origins) if call is not None]
        alone = bool(calls) and all(lacks(call, "num_workers", WORKERS_POSITION) for call in calls)
        return self.found(
            site,
            message=f"`{site.file.brief(site.call)}` begins a pass over `{written}`{told} "
            f"for one batch {site.hot.when}",
            instead=f"make one iterator before the loop (`batches = iter({written})`), take `next(batches)` in it and "
            "make a new one on StopIteration; or loop over the loader itself",
            hot=site.hot,
            happens=begun.begun,
            severity=Severity.INFO if alone or site.hot.kind == "eval" else None,
            confidence=known.confidence,
            related=[site.file.related(*origin, "makes the loader") for origin in origins[:5]],
        )


def _begun_there(loader: LoaderRun, finding: Finding) -> tuple[int, int]:
    """The passes over a loader that begin at a finding's places, and their batches; all where nobody knows."""
    if loader.begun is None:
        return loader.epochs, loader.batches
    there = [one for one in loader.begun if any(_holds(place, one) for place in finding.places)]
    return sum(one.passes for one in there), sum(one.batches for one in there)


def _holds(place: Location, begun: Begun) -> bool:
    path, line = begun.place or ("", 0)
    return path == place.path and place.line <= line <= place.end_line
