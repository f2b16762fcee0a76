"""TPL255."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.constants.fallbacks import is_fallback
from torchperf_lint.facts.copies.observations import holds_observations
from torchperf_lint.facts.element_loops.told_no_tensors import told_no_tensors
from torchperf_lint.facts.files.each_update import each_update
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes import importing
from torchperf_lint.facts.fixes.edits import Editor, fix_of
from torchperf_lint.facts.reads.scalars import becomes_one_beside, holds_device_scalars
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.ndarrays import Arrays, holds_arrays
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Edit, Finding, Fix, Safety, Severity
from torchperf_lint.rule import SourceRule

_FUNCTIONS = ("tensor", "as_tensor", "asarray", *sorted(api.LEGACY_TYPES))
_METHOD = "new_tensor"
_OLD_METHOD = "new"
"""`x.new((t,))`: of a sequence it makes data, as `new_tensor` does; of numbers sizes."""


class TensorFromListOfNdarrays(SourceRule):
    """A tensor made from a list of numpy arrays, which torch reads number by number.

    ## What it does
    Flags `torch.tensor([...])`, `torch.as_tensor([...])`, `x.new_tensor([...])` and the legacy
    `torch.FloatTensor([...])` of a list whose elements are known to be numpy arrays, in code that runs for every
    sample, batch or step, or, as info, for every update of an agent from what it has gathered. Also of a list of
    tensors that are on the device, one number each, in `x.new((loss,))` too: each is read by itself, and the host waits
    for it.

    Lists of what is called `state` or `obs` are arrays in code of reinforcement learning: gathered from a replay
    buffer, `zip(*samples)`, or `torch.tensor([state])`. Where nothing in the file speaks of rewards or environments,
    these findings are only `possible`.

    ## Why it is slow
    Torch takes a list apart with Python's sequence protocol: each number of each array becomes a Python object first.
    One array is read as the block of memory that it is. Torch itself warns of it, once. `torch.stack` of tensors joins
    them where they are, without a wait.

    ## Example
    ```python
    import numpy as np
    import torch
    from torch.utils.data import Dataset

    class Frames(Dataset):
        def __init__(self, paths):
            self.paths = paths

        def __getitem__(self, index):
            frames = [np.load(path) for path in self.paths[index]]
            return torch.tensor(frames)
    ```

    ## Use instead
    ```python
    import numpy as np
    import torch
    from torch.utils.data import Dataset

    class Frames(Dataset):
        def __init__(self, paths):
            self.paths = paths

        def __getitem__(self, index):
            frames = [np.load(path) for path in self.paths[index]]
            return torch.from_numpy(np.stack(frames))
    ```

    ## When it is fine
    For lists of Python numbers, which have to be read one by one, and in code that runs once:
    ```python
    import numpy as np
    import torch
    from torch.utils.data import Dataset

    class Labels(Dataset):
        def __init__(self, rows):
            self.table = torch.tensor([np.asarray(row) for row in rows])
            self.names = [int(row[0]) for row in rows]

        def __getitem__(self, index):
            return self.table[index], torch.tensor([self.names[index], index])
    ```

    ## Fix safety
    Unsafe: the list becomes `np.array(...)`, inside the same call, so that `dtype=`, `device=` and `torch.FloatTensor`
    mean what they meant. Values, shape and dtype are the same for arrays of one dtype. Arrays of several dtypes are
    promoted by numpy's rules then, an empty list becomes float64, an array without elements keeps its shape, and what
    was too large for a small whole dtype wraps around where it raised. No fix where only their name says that the
    elements are arrays.

    ## Confirmed by
    Nothing: no probe watches how a tensor is made. Torch's own warning, "Creating a tensor from a list of
    numpy.ndarrays is extremely slow", shows it where it happens.

    ## References
    - pytorch/pytorch #13918: creating a tensor from a list of arrays.
    """

    code, name, since = "TPL255", "tensor-from-list-of-ndarrays", "0.1.0"
    triggers = ("tensor(", "Tensor(", "asarray(", ".new(")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot tensor of a list of arrays."""
        for site in file.hot_calls(*_FUNCTIONS, _METHOD, _OLD_METHOD):
            data = _data(file, site)
            if data is None or site.hot is None:
                continue
            scalar = holds_device_scalars(project.values, data, site.frame)
            scalar = scalar or (becomes_one_beside(file, site, data) if site.receiver is not None else None)
            if scalar is not None:
                if site.hot.kind != "data" and not is_fallback(site) and not told_no_tensors(site, data):
                    yield self._read_one_by_one(file, site, data, scalar)
                continue
            held = _held(file, site, data) if not _is_method(site, _OLD_METHOD) else None
            if held is None:
                continue
            yield self._of_arrays(file, site, data, held)
        for site in self._each_update(file):
            data = _data(file, site)
            held = _held(file, site, data) if data is not None else None
            if data is not None and held is not None:
                yield self._of_arrays(file, site, data, held)

    def _each_update(self, file: SourceFile) -> Iterator[Site]:
        """The calls that an agent makes once for each update, of all that it has gathered."""
        if not file.mentions(("reward", "gym")):
            return
        named = [call for call in file.outline.calls if last_part(call.callee) in _FUNCTIONS]
        yield from (site for site in file.calls_among(named) if each_update(site) is not None)

    def _of_arrays(self, file: SourceFile, site: Site, data: ast.expr, held: Arrays) -> Finding:
        hot = site.hot
        at = f" (line {held.line})" if held.line != site.record.line else ""
        mild = hot is None or hot.kind == "eval" or hot.optional
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` reads a list of arrays number by number "
            f"{hot.when if hot is not None else 'in each update'}",
            instead=f"make one array of them first: `{_of_one_array(file, site, data)}`",
            value=Value("array", because=f"the list holds numpy arrays: {held.because}{at}"),
            hot=hot,
            confidence=Confidence.POSSIBLE if hot is not None and hot.optional else held.confidence,
            severity=Severity.INFO if mild else None,
            fix=None if held.by_name else _as_one_array(site, data),
        )

    def _read_one_by_one(self, file: SourceFile, site: Site, data: ast.expr, scalar: Value) -> Finding:
        assert site.hot is not None
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` reads a list of tensors and waits for each of them {site.hot.when}",
            instead=_joined(file, data),
            value=scalar.weaker(Confidence.POSSIBLE) if site.hot.optional else scalar,
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" or site.hot.optional else None,
        )


def _held(file: SourceFile, site: Site, data: ast.expr) -> Arrays | None:
    """Why a list holds arrays: by what fills it, or as observations by their name."""
    values = file.project.values
    held = holds_arrays(values, data, site.frame)
    return held if held is not None else holds_observations(values, data, site.frame)


def _of_one_array(file: SourceFile, site: Site, data: ast.expr) -> str:
    """The call as it does with one array."""
    if _is_method(site) and site.receiver is not None:
        return f"{file.brief(site.receiver)}.{_METHOD}(np.stack({file.brief(data)}))"
    return f"torch.from_numpy(np.stack({file.brief(data)})){_as_it_was_made(file, site)}"


def _is_method(site: Site, name: str = _METHOD) -> bool:
    return last_part(site.record.callee) == name


def _as_it_was_made(file: SourceFile, site: Site) -> str:
    """What makes of numbers as numpy has them what the call makes: `.long()` for `torch.LongTensor(rows)`."""
    name = (file.denotes(site.call.func, site) or "").removeprefix("torch.")
    if last_part(name) in api.LEGACY_TYPES:
        kind = last_part(name).removesuffix("Tensor").lower()
        return f".{kind or 'float'}()" + (".cuda()" if name.startswith("cuda.") else "")
    options = (k for k in site.call.keywords if k.arg in ("dtype", "device"))
    given = ", ".join(f"{k.arg}={ast.unparse(k.value)}" for k in options)
    return f".to({given})" if given else ""


def _joined(file: SourceFile, data: ast.expr) -> str:
    """What makes one tensor of tensors without a wait."""
    if isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1:
        return f"give it a dimension on the device: `{file.brief(data.elts[0])}.reshape(1)`"
    return f"stack them on the device: `torch.stack({file.brief(data)})`"


def _data(file: SourceFile, site: Site) -> ast.expr | None:
    """The list that a call makes a tensor of; only tensors have a `new_tensor`."""
    name = file.denotes(site.call.func, site) or ""
    function = name.startswith("torch.") and name.removeprefix("torch.").removeprefix("cuda.") in _FUNCTIONS
    method = _is_method(site) or (
        _is_method(site, _OLD_METHOD) and site.receiver is not None and file.value(site.receiver, site).kind == "tensor"
    )
    if not (function or method) or len(site.call.args) != 1:
        return None
    data = site.call.args[0]
    return None if isinstance(data, ast.Starred) else data


def _as_one_array(site: Site, data: ast.expr) -> Fix | None:
    def edits(edit: Editor) -> list[Edit]:
        start, end = edit.span(data)
        written, imports = importing.require(edit, "numpy.array")
        return [*imports, Edit(start, start, f"{written}("), Edit(end, end, ")")]

    return fix_of(site, Safety.UNSAFE, edits)
