"""TPL307."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_the_data_set
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.per_item import ItemCall, called, item_calls, same_for_every_item
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_OPENS = {
    "h5py.File": "file",
    "h5py._hl.files.File": "file",
    "tables.open_file": "file",
    "netCDF4.Dataset": "file",
    "xarray.open_dataset": "file",
    "lmdb.open": "env",
    "lmdb.Environment": "env",
    "zipfile.ZipFile": "archive",
    "tarfile.open": "archive",
    "tarfile.TarFile.open": "archive",
    "sqlite3.connect": "connection",
    "rasterio.open": "raster",
    "zarr.open": "store",
    "zarr.open_group": "store",
    "pyarrow.parquet.ParquetFile": "table",
    "openslide.OpenSlide": "slide",
    "openslide.open_slide": "slide",
    "decord.VideoReader": "video",
    "cv2.VideoCapture": "video",
    "torchvision.io.VideoReader": "video",
    "safetensors.safe_open": "tensors",
    "numpy.load": "arrays",
}
"""Canonical name -> what the attribute that keeps it may be called."""
_MAPS = "numpy.load"
"""It only reads a short header and maps the rest: to do that for each item costs little."""
_NAMES = tuple(sorted({name.rpartition(".")[2] for name in _OPENS}))
_WRITES = ("w", "a", "x", "r+")


class OpenFilePerItem(SourceRule):
    """A data set opens the same container file for each item.

    ## What it does
    Flags `h5py.File`, `lmdb.open`, `zipfile.ZipFile`, `tarfile.open`, `sqlite3.connect`, `np.load(mmap_mode=...)` and
    their like in `__getitem__`, or in a helper that it calls, where the path is the same whatever item is asked for.
    To map an array anew is cheap next to opening a container: that is info.

    ## Why it is slow
    To open a container is to read its tables and indices before the one sample, and to throw both them and the cache of
    chunks away after it. On network storage each opening is several round trips. It happens for every sample, while the
    device waits for the batch.

    ## Example
    ```python
    import h5py
    import torch
    from torch.utils.data import Dataset

    class Volumes(Dataset):
        def __init__(self, path, length):
            self.path, self.length = path, length

        def __len__(self):
            return self.length

        def __getitem__(self, index):
            with h5py.File(self.path, "r") as file:
                return torch.from_numpy(file["volumes"][index])
    ```

    ## Use instead
    Open on first use, so that each worker process has a handle of its own:
    ```python
    import h5py
    import torch
    from torch.utils.data import Dataset

    class Volumes(Dataset):
        def __init__(self, path, length):
            self.path, self.length = path, length
            self.file = None

        def __len__(self):
            return self.length

        def __getitem__(self, index):
            if self.file is None:
                self.file = h5py.File(self.path, "r")
            return torch.from_numpy(self.file["volumes"][index])
    ```
    Not in `__init__`: workers that are forked share the position in an open file, and LMDB and HDF5 forbid it. For
    arrays of one shape, `np.load(path, mmap_mode="r")`, opened the same way, costs least.

    ## When it is fine
    One file for each sample:
    ```python
    import h5py
    import torch
    from torch.utils.data import Dataset

    class Scans(Dataset):
        def __init__(self, paths):
            self.paths = paths

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, index):
            with h5py.File(self.paths[index], "r") as file:
                return torch.from_numpy(file["scan"][()])
    ```

    ## Fix safety
    There is no automatic fix: a handle must be opened after the worker has started and must not be pickled.

    ## Confirmed by
    The loader of such a data set: that it read batches, and how long the loop waited for each.

    ## References
    - h5py documentation, "Multiprocessing"; h5py #994: opened in each worker.
    - LMDB documentation: an environment is not to be used after fork.
    """

    code, name, since = "TPL307", "open-file-per-item", "0.1.0"
    triggers = ("File(", "open", "ZipFile", "connect(", "VideoReader", "VideoCapture", "OpenSlide", "np.load", "numpy")
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each container that is opened anew for each item."""
        del project
        for item in item_calls(file, *_NAMES):
            opened = called(item.site)
            path = _path(item, opened)
            if path is not None and same_for_every_item(item, path):
                yield self._finding(file, item, opened)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the loaders of the data set, whose items open it."""
        return by_the_data_set(finding, run, "opens its file for each sample")

    def _finding(self, file: SourceFile, item: ItemCall, opened: str) -> Finding:
        assert item.site.hot is not None
        kept = _OPENS[opened]
        written = file.brief(item.site.call)
        return self.found(
            item.site,
            message=f"`{written}` opens the same file again for every sample that `{item.name}` reads",
            instead=f"open it once in each worker, on first use: `self.{kept} = None` in `__init__`, and here "
            f"`if self.{kept} is None: self.{kept} = {file.brief(item.site.call.func)}(...)`",
            hot=item.site.hot,
            severity=Severity.INFO if opened == _MAPS else None,
            confidence=max(Confidence.LIKELY, item.site.hot.confidence, key=lambda c: c.rank),
        )


def _path(item: ItemCall, opened: str) -> ast.expr | None:
    """The path that a container is opened at for reading; None where it is none, or is written."""
    call = item.site.call
    if opened not in _OPENS or unpacks_keywords(call):
        return None
    mode = item.site.keyword("mode") or (call.args[1] if len(call.args) > 1 else None)
    if isinstance(mode, ast.Constant) and str(mode.value).startswith(_WRITES):
        return None
    if opened == _MAPS and not _is_mapped(item, call):
        return None
    named = next((k.value for k in call.keywords if k.arg in ("name", "path", "file", "filename", "fp", "uri")), None)
    path = call.args[0] if call.args else named
    return path if isinstance(path, ast.expr) and not isinstance(path, ast.Starred) else None


def _is_mapped(item: ItemCall, call: ast.Call) -> bool:
    """Whether `np.load` maps an array, which is all that is done then; what it reads whole is TPL308's."""
    mode = item.site.keyword("mmap_mode") or (call.args[1] if len(call.args) > 1 else None)
    return mode is not None and not is_none(mode)
