"""TPL315."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import unmeasured
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.loader_arguments import given
from torchperf_lint.facts.loaders.pinning import LOADER_CLASSES
from torchperf_lint.facts.loaders.unpinnable import unpinned_batch
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.model import Confidence, Finding, Verdict
from torchperf_lint.rule import SourceRule


class UnpinnableBatchType(SourceRule):
    """A loader is asked to pin batches of a type that it cannot pin, and says nothing.

    ## What it does
    Flags `DataLoader(pin_memory=True, collate_fn=...)` whose `collate_fn` returns an instance of a class of the project
    without a method `pin_memory`, or arrays of numpy.

    ## Why it is slow
    The pinning thread knows tensors, mappings, sequences, named tuples, and objects with a `pin_memory` method. All
    else it hands on as it is, without a word: the batch stays in pageable memory, and copies with `non_blocking=True`
    still wait for the driver to copy it into a pinned buffer of its own.

    ## Example
    ```python
    from dataclasses import dataclass

    import torch
    from torch.utils.data import DataLoader

    @dataclass
    class Batch:
        x: torch.Tensor
        y: torch.Tensor

    def collate(items):
        x, y = zip(*items)
        return Batch(torch.stack(x), torch.stack(y))

    def loader_of(dataset):
        return DataLoader(dataset, batch_size=64, num_workers=4, collate_fn=collate, pin_memory=True)
    ```

    ## Use instead
    ```python
    from dataclasses import dataclass

    import torch
    from torch.utils.data import DataLoader

    @dataclass
    class Batch:
        x: torch.Tensor
        y: torch.Tensor

        def pin_memory(self):
            self.x, self.y = self.x.pin_memory(), self.y.pin_memory()
            return self

    def collate(items):
        x, y = zip(*items)
        return Batch(torch.stack(x), torch.stack(y))

    def loader_of(dataset):
        return DataLoader(dataset, batch_size=64, num_workers=4, collate_fn=collate, pin_memory=True)
    ```

    ## When it is fine
    Tuples, named tuples, dictionaries and their like:
    ```python
    from typing import NamedTuple

    import torch
    from torch.utils.data import DataLoader

    class Batch(NamedTuple):
        x: torch.Tensor
        y: torch.Tensor

    def collate(items):
        x, y = zip(*items)
        return Batch(torch.stack(x), torch.stack(y))

    def loader_of(dataset):
        return DataLoader(dataset, batch_size=64, num_workers=4, collate_fn=collate, pin_memory=True)
    ```

    ## Fix safety
    There is no automatic fix: which parts of an object are tensors, its class knows.

    ## Confirmed by
    Nothing: see the copies at the line that moves the batch.

    ## References
    - PyTorch documentation of torch.utils.data, "Memory Pinning": custom types.
    """

    code, name, since = "TPL315", "unpinnable-batch-type", "0.1.0"
    default = False
    triggers = ("pin_memory",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each loader that pins nothing."""
        for site in file.calls_of(*LOADER_CLASSES):
            asked = given(site.call, "pin_memory")
            if unpacks(site.call) or not isinstance(asked, ast.Constant) or asked.value is not True:
                continue
            what = unpinned_batch(project, site)
            if what is not None:
                yield self.found(
                    site,
                    message=f"`pin_memory=True` pins nothing: {what}, which the loader hands on as it is",
                    instead="give the class a method `pin_memory` that pins its tensors and returns itself, or return "
                    "a tuple, named tuple or dict of tensors",
                    confidence=Confidence.LIKELY,
                )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """No probe looks into a batch."""
        return unmeasured(run, finding.location, "no probe looks into a batch; see the copies that move it")
