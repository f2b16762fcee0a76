"""TPL875."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.loaders.lazy_transforms import made_by
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.loaders.web_loaders import WEB_LOADER
from torchperf_lint.facts.processes.framework_runs import is_ordinary
from torchperf_lint.facts.syntax.arguments import keyword, literal, unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_DATA_LOADERS = tuple(name for name in LOADER_CLASSES if name != WEB_LOADER)
_ACCELERATORS = ("accelerate.Accelerator", "accelerate.accelerator.Accelerator")
_CONFIGURATIONS = frozenset(
    {
        "accelerate.DataLoaderConfiguration",
        "accelerate.utils.DataLoaderConfiguration",
        "accelerate.utils.dataclasses.DataLoaderConfiguration",
    }
)


class AccelerateBlockingDataloader(SourceRule):
    """An `Accelerator` that copies the batches of a pinned loader and waits.

    ## What it does
    Flags `Accelerator()` without `DataLoaderConfiguration(non_blocking=True)` in a file that trains with it and
    prepares a `DataLoader` made with `pin_memory=True`, as information: how much it costs depends on the batch.

    ## Why it is slow
    A prepared loader copies each batch to the device itself, by default with a copy that blocks: the host waits for it
    and for everything queued on the device before, in every step. Pages were pinned so that it need not.

    ## Example
    ```python
    from accelerate import Accelerator
    from torch.utils.data import DataLoader

    def main(model, optimizer, data, criterion):
        accelerator = Accelerator()
        loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            optimizer.zero_grad()
            accelerator.backward(criterion(model(x), y))
            optimizer.step()
    ```

    ## Use instead
    ```python
    from accelerate import Accelerator, DataLoaderConfiguration
    from torch.utils.data import DataLoader

    def main(model, optimizer, data, criterion):
        accelerator = Accelerator(dataloader_config=DataLoaderConfiguration(non_blocking=True))
        loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            optimizer.zero_grad()
            accelerator.backward(criterion(model(x), y))
            optimizer.step()
    ```

    ## When it is fine
    For a loader that is not pinned, and where nothing is placed on a device for it:
    ```python
    from accelerate import Accelerator
    from torch.utils.data import DataLoader

    def main(model, optimizer, data, criterion):
        accelerator = Accelerator(device_placement=False)
        loader = DataLoader(data, batch_size=64, num_workers=4, pin_memory=True)
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x, y in loader:
            optimizer.zero_grad()
            accelerator.backward(criterion(model(x), y))
            optimizer.step()
    ```

    ## Fix safety
    There is no automatic fix: the argument needs an import, and accelerate 0.30 or later.

    ## Confirmed by
    Nothing yet: the copy is made inside accelerate, away from the line.

    ## References
    - accelerate 1.15: `DataLoaderConfiguration.non_blocking`, False by default.
    - huggingface/accelerate #2685.
    """

    code, name, since = "TPL875", "accelerate-blocking-dataloader", "0.1.0"
    triggers = ("Accelerator(",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each accelerator that waits for the batches of a pinned loader."""
        if not file.mentions(("pin_memory",)) or not file.mentions((".backward(",)):
            return
        made = [site for site in file.calls_of(*_ACCELERATORS) if _blocks(project, site) and is_ordinary(site)]
        lines = _pinned_and_prepared(file, project) if made else []
        for site in made if lines else ():
            yield self.found(
                site,
                message="batches are copied to the device by copies that block, in every step, though the loader "
                f"at line {lines[0]} pins them",
                instead="`Accelerator(dataloader_config=DataLoaderConfiguration(non_blocking=True))`",
                severity=Severity.INFO,
                confidence=Confidence.LIKELY,
                related=[file.related(file.path, line, 1, "makes a pinned loader") for line in lines[:5]],
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """The copy is made inside accelerate."""
        return unmeasured(run, finding.location, "the copy is made inside accelerate, away from this line")


def _blocks(project: Project, site: Site) -> bool:
    """Whether an accelerator places batches on a device, and is known not to be told to go on meanwhile."""
    call = site.call
    if unpacks_keywords(call) or literal(call, "cpu") is True:
        return False
    if keyword(call, "device_placement") is not None and literal(call, "device_placement") is not True:
        return False
    given = keyword(call, "dataloader_config")
    if given is None:
        return True
    made = made_by(project.values, given, site.frame)
    if made is None or site.file.denotes(made.func, site) not in _CONFIGURATIONS:
        return False
    unpacked = unpacks_keywords(made)
    return not unpacked and (keyword(made, "non_blocking") is None or literal(made, "non_blocking") is False)


def _pinned_and_prepared(file: SourceFile, project: Project) -> list[int]:
    """The lines of the loaders that pin their batches and are given to `prepare` in the same function."""
    found = set()
    for site in file.calls_among(c for c in file.outline.calls if last_part(c.callee) == "prepare"):
        if "accelerator" not in last_part(chain(site.call.func).removesuffix(".prepare")).lower():
            continue
        for argument in site.call.args:
            loader = made_by(project.values, argument, site.frame)
            named = loader is not None and file.denotes(loader.func, site) in _DATA_LOADERS
            if named and loader is not None and literal(loader, "pin_memory") is True:
                found.add(loader.lineno)
    return sorted(found)
