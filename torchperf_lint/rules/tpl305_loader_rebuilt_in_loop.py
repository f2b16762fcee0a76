"""TPL305."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchperf_lint.confirming import silent, until_first_batches
from torchperf_lint.evidence import OFTEN_ENOUGH, Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.pinning import WORKERS_POSITION, lacks, told_call
from torchperf_lint.facts.loaders.rebuilt import Rebuilt, rebuilt_loaders
from torchperf_lint.facts.loaders.rebuilt_at_end import RebuiltAtEnd, rebuilt_at_end
from torchperf_lint.facts.loaders.spread_arguments import written_out
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.rule import SourceRule


class LoaderRebuiltInLoop(SourceRule):
    """A DataLoader made anew in each turn of a loop, out of what never changes.

    ## What it does
    Flags `DataLoader(...)`, or a call of a function that returns a new one, in a loop over epochs or steps that takes
    its batches, where nothing that goes into the loader is set or changed by the loop. A loader that is known to have
    no workers costs next to nothing to make: between epochs that is `possible` only, and not shown by default.
    Loaders that only evaluation reads make it info. And a loader that a generator makes again where the pass over the
    old one has ended, in `except StopIteration:`: info.

    ## Why it is slow
    Each new loader starts its worker processes again, each of which gets its own copy of the data set and opens its
    files, and the first batches are waited for. `persistent_workers=True` can do nothing for a loader that lives for
    one pass.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, epochs, device):
        for epoch in range(epochs):
            loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
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

    def train(model: nn.Module, dataset, optimizer, criterion, epochs, device):
        loader = DataLoader(
            dataset, batch_size=64, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True
        )
        for epoch in range(epochs):
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    ```

    ## When it is fine
    Where each turn has data of its own: folds, a curriculum, a data set that the loop changes:
    ```python
    from torch import nn
    from torch.utils.data import DataLoader, Subset

    def train(model: nn.Module, dataset, order, optimizer, criterion, epochs, device):
        for epoch in range(epochs):
            easy = Subset(dataset, order[: 1000 * (epoch + 1)])
            loader = DataLoader(easy, batch_size=64, shuffle=True, num_workers=4, pin_memory=True)
            for x, y in loader:
                loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix. Workers that live on keep their copy of the data set: what the loop changes in it
    would not reach them.

    ## Confirmed by
    Several loaders made at the place, each read for a pass.

    ## References
    - PyTorch documentation of torch.utils.data, `persistent_workers`.
    """

    code, name, since = "TPL305", "loader-rebuilt-in-loop", "0.1.0"
    triggers = ("oader",)
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader that a loop makes anew for nothing."""
        for rebuilt in rebuilt_loaders(file):
            yield self._finding(file, project, rebuilt)
        for rebuilt_there in rebuilt_at_end(file) if project.uses_accelerator else ():
            yield self._at_end(file, project, rebuilt_there)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By how many loaders were made at the place, or where the function it calls makes them."""
        places = [finding.location, *(place.location for place in finding.related)]
        made = list({id(loader): loader for place in places for loader in run.loader_at(place)}.values())
        read = [loader for loader in made if loader.batches]
        if not read:
            return silent(run, finding.location, "loader")
        passes = sum(loader.epochs for loader in read)
        if len(read) >= OFTEN_ENOUGH:
            return Verdict(Outcome.CONFIRMED, f"{len(read)} loaders were made and read{until_first_batches(run, read)}")
        if passes >= OFTEN_ENOUGH:
            return Verdict(Outcome.REFUTED, f"{len(read)} made and read for {passes} passes")
        return Verdict(Outcome.UNOBSERVABLE, f"{len(read)} made and read, too few to judge")

    def _at_end(self, file: SourceFile, project: Project, rebuilt: RebuiltAtEnd) -> Finding:
        site = rebuilt.site
        told = written_out(project.values, site.call, site.frame)
        alone = not unpacks(told) and lacks(told, "num_workers", WORKERS_POSITION)
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` makes the same loader again each time a pass over it has ended "
            f"(line {rebuilt.taken}){'' if alone else ', and its workers start anew'}",
            instead="iterate the same loader again: `batches = iter(loader)`"
            + ("" if alone else ", and give it `persistent_workers=True`")
            + "; with `shuffle=True` each pass has an order of its own all the same",
            severity=Severity.INFO,
            confidence=Confidence.POSSIBLE if alone or unpacks(told) else Confidence.LIKELY,
        )

    def _finding(self, file: SourceFile, project: Project, rebuilt: Rebuilt) -> Finding:
        calls = [call for call in (told_call(project, o) for o in rebuilt.value.origins) if call is not None]
        alone = bool(calls) and all(lacks(call, "num_workers", WORKERS_POSITION) for call in calls)
        cheap = alone and not rebuilt.per_step
        use, loop = rebuilt.use, rebuilt.loop
        taken = f"line {use.line}" if use.path == file.path else f"{use.path}:{use.line}"
        because = f"it runs in each turn of `{loop.detail}` (line {loop.head}); its batches are taken at {taken}"
        hot = replace(use.hot, because=because)
        weakest = rebuilt.value.weaker(hot.confidence).weaker(Confidence.LIKELY)
        persistent = "" if alone else ", with `persistent_workers=True`"
        return self.found(
            rebuilt.site,
            message=f"`{file.brief(rebuilt.site.call)}` makes the same loader in each turn of `{loop.detail}` "
            f"(line {loop.head}){'' if alone else ', and its workers start anew'}",
            instead=f"make it once, before line {loop.head}{persistent}; with `shuffle=True` or `set_epoch` each pass "
            "has an order of its own all the same",
            hot=hot,
            severity=Severity.INFO if cheap or hot.kind == "eval" else None,
            confidence=weakest.weaker(Confidence.POSSIBLE).confidence if cheap else weakest.confidence,
            related=[
                file.related(*origin, "makes the loader")
                for origin in rebuilt.value.origins[:5]
                if origin != (file.path, *rebuilt.site.start)
            ],
        )
