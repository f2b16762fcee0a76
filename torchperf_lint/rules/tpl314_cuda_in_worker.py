"""TPL314."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_PER_SAMPLE = frozenset({"__getitem__", "__iter__", "__getitems__"})
_DATA_SETS = ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset")
_FACTORIES = ("tensor", "as_tensor", "zeros", "ones", "full", "empty", "rand", "randn", "arange")


class CudaInWorker(SourceRule):
    """A data set moves each sample to the device.

    ## What it does
    Flags `.cuda()`, `.to("cuda")` and `torch.tensor(..., device="cuda")` in `__getitem__` or `__iter__` of a class
    that derives from `torch.utils.data.Dataset`, and `.to(device)` of a name that stands for `accelerator.device` or
    CUDA where the class is written. What the data set holds on the device already is left alone.

    ## Why it is slow
    Each sample is a small copy of its own, which waits for the device. In worker processes it is worse: with `fork`
    CUDA cannot be initialised again and raises an error, with `spawn` each worker opens a CUDA context of its own.

    ## Example
    ```python
    import torch
    from torch.utils.data import Dataset

    class Samples(Dataset):
        def __init__(self, arrays, labels):
            self.arrays = arrays
            self.labels = labels

        def __len__(self):
            return len(self.labels)

        def __getitem__(self, index):
            return torch.from_numpy(self.arrays[index]).cuda(), self.labels[index]
    ```

    ## Use instead
    ```python
    import torch
    from torch.utils.data import Dataset

    class Samples(Dataset):
        def __init__(self, arrays, labels):
            self.arrays = arrays
            self.labels = labels

        def __len__(self):
            return len(self.labels)

        def __getitem__(self, index):
            return torch.from_numpy(self.arrays[index]), self.labels[index]
    ```
    and move whole batches in the loop: `x = x.to(device, non_blocking=True)`, from a loader with `pin_memory=True`.

    ## When it is fine
    Where all data are moved once, in the constructor:
    ```python
    import torch
    from torch.utils.data import Dataset

    class OnDevice(Dataset):
        def __init__(self, arrays):
            self.data = torch.from_numpy(arrays).to("cuda")

        def __len__(self):
            return len(self.data)

        def __getitem__(self, index):
            return self.data[index]
    ```

    ## Fix safety
    There is no automatic fix: the loop that takes the batches has to move them.

    ## Confirmed by
    Copies to the device at the line in at least half of the recorded steps, where no worker runs it.

    ## References
    - PyTorch documentation of torch.utils.data, "Multi-process data loading": it is not
      recommended to return CUDA tensors.
    - PyTorch notes, "Multiprocessing best practices", "CUDA in multiprocessing".
    """

    code, name, since = "TPL314", "cuda-in-worker", "0.1.0"
    triggers = (".cuda(", '"cuda', "'cuda", "accelerator.device")
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each copy to the device that a data set makes for a sample."""
        del project
        if not file.mentions(("def __getitem__", "def __iter__", "def __getitems__")):
            return
        for site in file.hot_calls("cuda", "to", *_FACTORIES):
            if not _in_data_set(file, site) or not _to_cuda(file, site):
                continue
            assert site.hot is not None
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` copies to the device one sample at a time, and fails or opens a "
                "CUDA context in each worker process",
                instead="return the tensor on the host, and move whole batches in the loop that takes them from the "
                "loader: `x = x.to(device, non_blocking=True)`",
                hot=site.hot,
                severity=Severity.INFO if site.hot.optional else None,
                confidence=Confidence.POSSIBLE if site.hot.optional else Confidence.LIKELY,
            )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By copies to the device at the line."""
        made = copies(run, finding, "h2d", lambda event: True)
        return by_events(finding, run, made, "copy to the device", probes=self.probes)


def _in_data_set(file: SourceFile, site: Site) -> bool:
    record = file.outline.functions[site.function]
    cls = file.project.index.class_of(file.path, site.function)
    if cls is None or record.name not in _PER_SAMPLE:
        return False
    index = file.project.index
    bases = [name for one in index.ancestry(cls) if one.kind == "class" for name in index.external_bases(one)]
    return any(base in _DATA_SETS for base in bases)


def _to_cuda(file: SourceFile, site: Site) -> bool:
    """Whether a call names CUDA as the place of what it returns, and that was not there before."""
    method = last_part(chain(site.call.func))
    if site.receiver is None:
        return False
    if method in _FACTORIES:
        return file.denotes(site.receiver, site) == "torch" and _names_cuda(site.keyword("device"))
    value = file.value(site.receiver, site)
    if value.kind == "module" or value.device == DEVICE:
        return False
    given = site.call.args[0] if site.call.args else site.keyword("device")
    return method == "cuda" or _names_cuda(given) or _is_bound_to_cuda(file, site, given)


def _is_bound_to_cuda(file: SourceFile, site: Site, given: ast.expr | None) -> bool:
    """Whether a name of a function around, or of the file, stands for the device that training runs on."""
    body = file.project.body(file.path)
    functions, number = file.outline.functions, site.function
    while body is not None and isinstance(given, ast.Name):
        found = body.reaching(number, given.id, site.start if number == site.function else END_OF_FILE)
        if found:
            return all(d.how == "assign" and d.value is not None and _trains_on(d.value) for d in found)
        if number <= 0:
            return False
        number = max(functions[number].parent, 0)
    return False


def _trains_on(node: ast.expr) -> bool:
    """`accelerator.device`, `torch.device("cuda" if torch.cuda.is_available() else "cpu")`."""
    if isinstance(node, ast.Call) and chain(node.func) in ("torch.device", "device") and node.args:
        node = node.args[0]
    if isinstance(node, ast.IfExp):
        return _names_cuda(node.body) or _names_cuda(node.orelse)
    return _names_cuda(node) or (isinstance(node, ast.Attribute) and chain(node).endswith("accelerator.device"))


def _names_cuda(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call) and chain(node.func) in ("torch.device", "device") and node.args:
        node = node.args[0]
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("cuda")
