"""TPL308."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.confirming import by_the_data_set
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.decoded_rows import Refetched, rows_fetched_again
from torchperf_lint.facts.loaders.per_item import ItemCall, called, item_calls, same_for_every_item, seeks, stream_of
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_TABLE = "parse it once, in `__init__`, and keep plain arrays: `self.rows = ....to_numpy()`"
_WHOLE = "read it once, in `__init__`, or on first use in each worker, and keep what it holds in an attribute"
_ARRAY = 'map it once, on first use in each worker: `self.array = np.load(path, mmap_mode="r")`, and index that'
_LIST = "list it once, in `__init__`, and keep the sorted names in an attribute"
_MODEL = "load it once, in `__init__`, and keep it in an attribute"
_IMAGE = "decode it once, in `__init__`, and keep the array in an attribute"
_PATHS = {
    **dict.fromkeys(
        (f"pandas.read_{kind}" for kind in "csv table json parquet pickle excel feather hdf".split()), _TABLE
    ),
    **dict.fromkeys(("geopandas.read_file", "geopandas.read_parquet", "pyarrow.parquet.read_table"), _TABLE),
    **dict.fromkeys(("polars.read_csv", "polars.read_parquet", "numpy.loadtxt", "numpy.genfromtxt"), _TABLE),
    **dict.fromkeys(("torch.load", "joblib.load", "safetensors.torch.load_file", "scipy.io.loadmat"), _WHOLE),
    **dict.fromkeys(("xml.etree.ElementTree.parse", "lxml.etree.parse"), _WHOLE),
    **dict.fromkeys(("os.listdir", "os.walk", "os.scandir", "glob.glob", "glob.iglob"), _LIST),
    **dict.fromkeys(("cv2.imread", "tifffile.imread", "imageio.imread", "skimage.io.imread"), _IMAGE),
    "spacy.load": _MODEL,
    "numpy.load": _ARRAY,
}
"""What is given a path, and what to do instead."""
_STREAMS = dict.fromkeys(
    ("json.load", "pickle.load", "yaml.load", "yaml.safe_load", "yaml.full_load", "csv.reader", "csv.DictReader"),
    _WHOLE,
)
"""What is given an open file: one that was opened for it, or else each call reads the next record."""
_KNOWN = {**_PATHS, **_STREAMS}
_NAMES = tuple(sorted({name.rpartition(".")[2] for name in _KNOWN}))
_PARTS = frozenset({"skiprows", "nrows", "usecols", "columns", "filters", "chunksize", "bbox", "where", "mmap_mode"})
"""Arguments that make a part of a file of the whole; what they leave out is not parsed."""


class HeavyParseInGetitem(SourceRule):
    """A data set parses the same whole file again for each item, or fetches the same row for each of its columns.

    ## What it does
    Flags `pd.read_csv`, `json.load`, `pickle.load`, `np.load`, `torch.load`, `os.listdir` and their
    like in `__getitem__`, or in a helper that it calls, where the file is the same whatever item is asked for. And rows
    of a Hugging Face data set that one item fetches more than once: `self.data[i]["text"], self.data[i]["audio"]`. That
    is info where no column that is read is audio or images by its name.

    ## Why it is slow
    The work for one sample grows with the whole data set: all of it is read and parsed, one row is used, the rest is
    thrown away. An epoch then costs the square of what it should. A data set of `datasets` keeps no row: whenever one
    is asked for, it is read from Arrow, and all its columns are decoded, audio and images too.

    ## Example
    ```python
    import pandas as pd
    import torch
    from torch.utils.data import Dataset

    class Table(Dataset):
        def __init__(self, path, length):
            self.path, self.length = path, length

        def __len__(self):
            return self.length

        def __getitem__(self, index):
            frame = pd.read_csv(self.path)
            return torch.tensor(frame.iloc[index].to_numpy())
    ```

    ## Use instead
    ```python
    import pandas as pd
    import torch
    from torch.utils.data import Dataset

    class Table(Dataset):
        def __init__(self, path):
            self.rows = torch.from_numpy(pd.read_csv(path).to_numpy())

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return self.rows[index]
    ```
    What does not fit into memory is converted once, to an array that `np.load(path, mmap_mode="r")` maps, to Parquet or
    to LMDB.

    ## When it is fine
    One file for each sample, and what a decorator keeps:
    ```python
    import json
    from functools import lru_cache

    import torch
    from torch.utils.data import Dataset

    @lru_cache
    def labels_of(path):
        with open(path) as file:
            return json.load(file)

    class Records(Dataset):
        def __init__(self, paths, labels):
            self.paths, self.labels = paths, labels

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, index):
            with open(self.paths[index]) as file:
                record = json.load(file)
            return torch.tensor(record["x"]), labels_of(self.labels)[record["class"]]
    ```

    ## Fix safety
    There is no automatic fix: what is kept takes memory in every worker; arrays share it where lists of objects do not.

    ## Confirmed by
    The loader of such a data set: that it read batches, and how long the loop waited for each.

    ## References
    - PyTorch documentation of torch.utils.data, "Multi-process data loading": keep arrays, not Python objects.
    - pytorch/pytorch #13246: the memory of lists in workers.
    - Documentation of `datasets`, "Load audio data": a file is decoded when its row, or its column, is accessed.
    """

    code, name, since = "TPL308", "heavy-parse-in-getitem", "0.1.0"
    triggers = ("load", "read_", "parse(", "reader(", "Reader(", "listdir", "glob", "imread", "genfromtxt", "datasets")
    probes = ("loader",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each file that is read whole for each item, and each row that is fetched again."""
        del project
        for row in rows_fetched_again(file):
            yield self._fetched(file, row)
        for item in item_calls(file, *_NAMES):
            name = called(item.site)
            advice = _KNOWN.get(name)
            if advice is not None and _reads_the_same(item, name):
                yield self._finding(file, item, advice)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By the loaders of the data set, whose items parse it."""
        rows = "is fetched" in finding.message
        said = "fetches a row more than once for each sample" if rows else "reads the whole of a file for each sample"
        return by_the_data_set(finding, run, said)

    def _fetched(self, file: SourceFile, row: Refetched) -> Finding:
        hot, written, at = row.spot.hot, file.brief(row.first), file.span(row.first)[0]
        decoded = "decodes all its columns, audio and images too" if row.decodes else "decodes all its columns"
        return self.found(
            row.spot,
            message=f"`{written}` is fetched {row.times} times {hot.when}, and each time `datasets` reads the row and "
            f"{decoded}",
            instead=f"fetch it once, `row = {written}`, and take the columns of that",
            hot=hot,
            severity=None if row.decodes else Severity.INFO,
            confidence=max(Confidence.LIKELY, hot.confidence, key=lambda c: c.rank),
            related=[file.related(file.path, *at, "fetches it before")] if at[0] < row.spot.location.line else [],
        )

    def _finding(self, file: SourceFile, item: ItemCall, advice: str) -> Finding:
        assert item.site.hot is not None
        return self.found(
            item.site,
            message=f"`{file.brief(item.site.call)}` reads all of it again for every sample of `{item.name}`",
            instead=advice,
            hot=item.site.hot,
            confidence=max(Confidence.LIKELY, item.site.hot.confidence, key=lambda c: c.rank),
        )


def _reads_the_same(item: ItemCall, name: str) -> bool:
    """Whether all that a call is given is the same for every item, and it is not asked for a part."""
    call = item.site.call
    given = arguments(call)
    if not call.args or any(k.arg is None or k.arg in _PARTS for k in call.keywords):
        return False
    if name in _STREAMS:
        opened = stream_of(item, call.args[0])
        if opened is None:
            return False
        given[0] = opened
    return not seeks(item, call.args[0]) and all(same_for_every_item(item, node) for node in given)
