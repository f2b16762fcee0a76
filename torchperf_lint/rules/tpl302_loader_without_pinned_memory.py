"""TPL302."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchperf_lint.confirming import NO_DEVICE, by_events, copies, silent
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.copy_fixes import pinned
from torchperf_lint.facts.loaders.loaders import loaders_of
from torchperf_lint.facts.loaders.no_workers import no_workers
from torchperf_lint.facts.loaders.own_loaders import never_pinned
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES, PIN_POSITION, WORKERS_POSITION, lacks
from torchperf_lint.facts.loaders.prepared_loaders import Prepared, prepared_images
from torchperf_lint.facts.loaders.spread_arguments import dicts_spread, each_written_out, written_out
from torchperf_lint.facts.loaders.unfollowed_loaders import work_of_training_loader
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.literals import is_false
from torchperf_lint.facts.values.datasets import batches_on_device, held
from torchperf_lint.facts.values.web_loaders import decoded_images
from torchperf_lint.model import Confidence, Finding, Outcome, Severity, Verdict
from torchperf_lint.recorded import LoaderRun
from torchperf_lint.rule import SourceRule

_PASSED = "what it passes on"


class LoaderWithoutPinnedMemory(SourceRule):
    """A DataLoader with workers whose batches go to the device from pageable memory.

    ## What it does
    Flags `DataLoader(...)` with `num_workers` but without `pin_memory`, where a hot line moves its batches to the
    device with `non_blocking=True`. Where the copy is blocking as well, TPL201 reports both at the copy. Where the
    copy cannot be found (a function returns the loader, a dict holds it), a loader that shuffles what it loads from
    files is reported as info; so is webdataset's `WebLoader` around a pipeline that shuffles and decodes images, a
    class of the project below DataLoader that passes `num_workers` on and never `pin_memory`, a loader that accelerate
    sets up where steps compute with the images or sounds of its batches (`batch["pixel_values"]`), and a loader that is
    told not to pin where steps copy batches with `non_blocking=True`. Of a data set that holds its items in memory,
    workers and pinning are disputable: `possible` only, and not shown by default.

    ## Why it is slow
    The driver copies pageable memory into a pinned buffer of its own first, and `non_blocking=True` cannot make that
    asynchronous. With `pin_memory=True` a thread of the loader prepares pinned batches while the step runs.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4)
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

    def train(model: nn.Module, dataset, optimizer, criterion, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
        for x, y in loader:
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    ## When it is fine
    Without workers (pinning would then happen in the training process), when the batches stay on the host, and where
    the host is short of memory:
    ```python
    from torch.utils.data import DataLoader

    def mean(dataset):
        loader = DataLoader(dataset, batch_size=64, num_workers=4)
        return sum(x.mean() for x, _ in loader) / len(loader)
    ```

    ## Fix safety
    Unsafe: `pin_memory=True` changes no values, but takes page-locked memory, of which a small host has little.

    ## Confirmed by
    Copies from pageable memory at the line that moves the batch; where that line is not known, a run says only whether
    its steps copied from pageable memory at all.

    ## References
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch".
    - metatensor/metatrain #1273: timings before and after.
    """

    code, name, since = "TPL302", "loader-without-pinned-memory", "0.1.0"
    triggers = ("DataLoader", "Loader(")
    probes = ("transfers", "loader")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each unpinned loader whose batches are copied asynchronously."""
        for site in file.calls_of(*LOADER_CLASSES):
            ways = each_written_out(project.values, site.call, site.frame)
            if not all(lacks(way, "pin_memory", PIN_POSITION) for way in ways):
                continue
            if any(lacks(way, "num_workers", WORKERS_POSITION) for way in ways):
                continue
            copies = loaders_of(project).copies((file.path, *site.start))
            if not copies:
                yield from self._unfollowed(project, site)
                continue
            if any(copy.blocking for copy in copies):
                continue
            first = copies[0]
            yield self.found(
                site,
                message=f"this loader's batches are not pinned, so the copy at {first.path}:{first.line} cannot "
                f"overlap with the host {first.hot.when.partition(' (')[0]}",
                instead="pass `pin_memory=True` to the loader",
                hot=first.hot,
                confidence=Confidence.POSSIBLE if held(project.values, site.call, site.frame) is not None else None,
                fix=pinned(site),
                related=[file.related(c.path, c.line, c.column, "moves its batches to the device") for c in copies[:5]],
            )
        for site in never_pinned(file) if project.uses_accelerator else ():
            yield self._own(file, site)

    def _own(self, file: SourceFile, site: Site) -> Finding:
        own = file.project.index.class_of(file.path, site.function)
        assert own is not None
        name = file.project.index.record(own).name
        written = dicts_spread(file.project.values, site.call, site.frame)
        return self.found(
            site,
            message=f"loaders of class `{name}` never pin their batches, whoever makes one, so no copy of them to the "
            "device can overlap with the step",
            instead="pass `pin_memory=True` on, or let the constructor take it; and `non_blocking=True` where batches "
            "are copied",
            severity=Severity.INFO,
            confidence=Confidence.LIKELY,
            related=[file.related(file.path, *file.start(at), _PASSED) for at in written],
        )

    def _unfollowed(self, project: Project, site: Site) -> Iterator[Finding]:
        """Where the batches go cannot be seen from here; what the loader is made of can."""
        work = work_of_training_loader(project, site) or (decoded_images(site) if project.uses_accelerator else None)
        if work is None:
            prepared = prepared_images(project, (site.file.path, *site.start))
            asked = prepared is not None and no_workers(project, site.call, site.frame) is None
            yield from self._set_up(site, prepared) if prepared and asked else self._pinned_in_vain(project, site)
            return
        yield self.found(
            site,
            message=f"workers hand over pageable batches ({work}), so no copy of them to the device can overlap with "
            "the step",
            instead="pass `pin_memory=True` to the loader, and `non_blocking=True` where its batches are copied",
            severity=Severity.INFO,
            confidence=Confidence.LIKELY,
            fix=pinned(site),
        )

    def _set_up(self, site: Site, prepared: Prepared) -> Iterator[Finding]:
        """Accelerate copies the batches, which are known to be large."""
        yield self.found(
            site,
            message=f"workers hand over pageable batches (`{prepared.entry}`), which accelerate copies to the device "
            f"through a buffer of the driver, and waits for, {prepared.hot.when}",
            instead="pass `pin_memory=True` to the loader; with it, `non_blocking=True` of accelerate's "
            "`DataLoaderConfiguration` lets the copy overlap as well",
            hot=prepared.hot,
            severity=Severity.INFO,
            confidence=Confidence.LIKELY,
            fix=pinned(site),
        )

    def _pinned_in_vain(self, project: Project, site: Site) -> Iterator[Finding]:
        """Where a loader is told not to pin, and the project's steps copy batches as if it did."""
        origin = (site.file.path, *site.start)
        told = is_false(keyword(written_out(project.values, site.call, site.frame), "pin_memory"))
        steps = [use for use in loaders_of(project).uses(origin) if use.hot.kind == "step"] if told else []
        copies = [copy for copy in loaders_of(project).asynchronous(origin) if copy.hot.kind == "step"] if steps else []
        if not copies or batches_on_device(project.values, site.call, site.frame):
            return
        first = copies[0]
        yield self.found(
            site,
            message=f"this loader is told not to pin its batches, and steps copy batches with `non_blocking=True` "
            f"({first.path}:{first.line}), which pageable memory cannot keep",
            instead="pass `pin_memory=True` to the loader",
            hot=steps[0].hot,
            severity=Severity.INFO,
            confidence=Confidence.LIKELY,
            fix=pinned(site),
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies from pageable memory at the lines that move the batches."""
        made = run.loader_at(finding.location)
        if not made:
            return silent(run, finding.location, "loader")
        if all(loader.settings.get("pin_memory") for loader in made):
            return Verdict(Outcome.REFUTED, "it ran with pinned memory")
        if run.device is None:
            return Verdict(Outcome.UNOBSERVABLE, NO_DEVICE)
        moving = [related.location for related in finding.related if related.message != _PASSED]
        places = moving or [finding.location]
        seen = [copy for at in places for copy in copies(run, at, "h2d", lambda c: c.attributes.get("pinned") is False)]
        if not seen and not moving:
            return _of_batches(run, made)
        ran_most = max(places, key=lambda at: run.ran(at) or 0)
        moved = replace(finding, location=ran_most)
        return by_events(moved, run, seen, "copy from pageable memory", probes=self.probes)


def _of_batches(run: Evidence, made: Sequence[LoaderRun]) -> Verdict:
    """Where nobody could follow the batches to a copy: that they were not pinned is known, and whether any copy was."""
    batches = sum(loader.batches for loader in made if not loader.settings.get("pin_memory"))
    if not batches:
        return Verdict(Outcome.NOT_REACHED, "no batch was read from the loader")
    given = f"{batches} batch{'es that were' if batches > 1 else ' that was'} not pinned came from it"
    hot = [event for event in run.events if event.kind == "copy" and event.train_turns + event.eval_turns]
    if any(event.what == "h2d" and event.attributes.get("pinned") is False for event in hot):
        return Verdict(Outcome.UNOBSERVABLE, f"{given}; which copies move them is not known")
    return Verdict(Outcome.REFUTED, f"{given}, and no step copied to the device from pageable memory")
