"""TPL252."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events, copies
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.constants.changed_in_place import changed_in_place
from torchperf_lint.facts.constants.configured import CONFIGURED, GIVEN, LITERAL, SHAPE
from torchperf_lint.facts.constants.drawn_arrays import drawn_array
from torchperf_lint.facts.constants.fallbacks import is_fallback
from torchperf_lint.facts.constants.generated_numbers import counted_there
from torchperf_lint.facts.constants.multiplied_lists import repeated
from torchperf_lint.facts.copies.computed import computed_upload
from torchperf_lint.facts.copies.double_arrays import DOUBLES_MEANT, TAKERS, double_on_device
from torchperf_lint.facts.copies.host_data import (
    COUNTED,
    DRAWN,
    ENTRY,
    NUMBER,
    READ_BACK,
    REPEATED,
    TRIANGLE,
    Upload,
    upload_at,
)
from torchperf_lint.facts.copies.written_from_host import written_from_host
from torchperf_lint.facts.files.made_anew import made_anew
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes import filled
from torchperf_lint.facts.fixes.moved_if_asked import device_by_test
from torchperf_lint.facts.indexing.element_stores import ElementStore, element_stores
from torchperf_lint.facts.loaders.uploads_in_turns import uploads_in_turns
from torchperf_lint.facts.reads.normalised import MENTIONED as NORMALISES
from torchperf_lint.facts.reads.normalised import normalised
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import HOST, Value, tensor
from torchperf_lint.model import Confidence, Finding, Related, Severity, Verdict
from torchperf_lint.rule import SourceRule

_WHAT = {
    LITERAL: ("the same numbers", "literals"),
    CONFIGURED: ("numbers that no step changes", "what was set before the first step"),
    SHAPE: ("numbers that follow from shapes", "the shapes of tensors"),
    GIVEN: ("numbers that its callers give it", "an argument"),
    COUNTED: ("numbers that a factory counts out", "a range"),
    DRAWN: ("random numbers that numpy draws", "numpy's random numbers"),
    NUMBER: ("one number", "a number of the host"),
    REPEATED: ("one number, many times over,", "one number, repeated"),
    TRIANGLE: ("a triangle of ones", "numpy's ones"),
    ENTRY: ("an entry of a table", "a table that the module keeps on the host"),
    READ_BACK: ("what it first reads from the device, element by element,", "a tensor of the device, repeated"),
}
"""What is uploaded, for the message, and what it is made from."""


_MADE = ("tensor(", "Tensor(", "asarray(", "from_numpy(", ".new(")
"""How what makes a tensor of numbers is written."""


class HostLiteralToDeviceInHotCode(SourceRule):
    """Numbers that the host has anyway, uploaded to the device again at every step.

    ## What it does
    Flags `torch.tensor(numbers, device=...)`, `torch.tensor(numbers).to(device)`, `x.new_tensor(numbers)` and the
    legacy `torch.FloatTensor([...]).cuda()` in code that runs every training step or forward pass, where the numbers
    are literals, were set before the first step, or follow from the shapes of tensors, also with pieces and
    added dimensions in between, `torch.tensor(numbers)[None].to(device)`; entries of a table that a module
    keeps as an array of numpy's, `torch.tensor([self.levels[t]]).to(x.device)`; and any single number
    (`torch.tensor(i, device=...)`), or one number repeated, in a list or by numpy
    (`torch.from_numpy(np.ones(n)).cuda()`), or a triangle of them (`np.triu(np.ones((n, n)))`), which the device can
    fill in by itself; and random numbers that numpy
    draws, `torch.FloatTensor(np.random.normal(0, 1, (n, 100))).cuda()`. Also
    `torch.tensor([t] * n, device=...)` of a tensor `t` that is on the device: each element is read from there first;
    and a tensor of such numbers that is written into one on the device, `gain[2:6] = torch.tensor(shape)`; and
    torchvision's `Normalize(mean, std)`, given an image on the device, which does the same within. Where a block or the
    script makes the device the default (`torch.set_default_device("cuda")`), `torch.tensor(numbers)` does it as well;
    `torch.Tensor([number])` does where it was `torch.set_default_tensor_type("torch.cuda.FloatTensor")`. And numbers
    that are put into single elements of a tensor on the device, `wh[0] = width`: torch makes a tensor of the number in
    host memory and copies that; into rows and slices it fills the number, without a wait (`possible` only, as no card
    was asked yet).

    ## Why it is slow
    `torch.tensor` builds the values on the host, copies them from pageable memory and waits for the copy; there is no
    `non_blocking` for it. Where the numbers are the same every time, one upload does; a single number is an argument
    of a factory that fills on the device, without a wait.

    ## Example
    ```python
    import torch
    from torch import nn

    class Normalise(nn.Module):
        def forward(self, x: torch.Tensor):
            mean = torch.tensor([0.485, 0.456, 0.406], device=x.device).view(1, 3, 1, 1)
            std = torch.tensor([0.229, 0.224, 0.225], device=x.device).view(1, 3, 1, 1)
            return (x - mean) / std
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    class Normalise(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1), persistent=False)
            self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1), persistent=False)

        def forward(self, x: torch.Tensor):
            return (x - self.mean) / self.std
    ```
    A single number needs no tensor in arithmetic, `torch.where` or `clamp`; where one is needed,
    `torch.full((), 0.5, device=x.device)` fills it on the device.

    ## When it is fine
    In set-up code, for lists of numbers that come from the host and differ at every step, and in what stands in for a
    result where there is nothing to compute:
    ```python
    import torch
    from torch import nn

    class Count(nn.Module):
        def forward(self, x: torch.Tensor, lengths: list[int]):
            if x.numel() == 0:
                return torch.tensor(0.0, device=x.device)
            return x.sum(dim=-1) / torch.tensor(lengths, device=x.device)
    ```

    ## Fix safety
    Safe, for one number that is written out: `torch.tensor(0.5, device=d)` becomes `torch.full((), 0.5, device=d)`,
    and a move behind it goes. Both infer the same dtype from the number and convert it in the same way to one that is
    given. For several numbers, or computed ones, there is none: a buffer adds a name to the module, and a number of
    numpy's would bring its dtype along.

    ## Confirmed by
    A synchronisation, or a copy to the device, at the line in at least half of the recorded steps.

    ## References
    - NVIDIA, "Writing sync-free code": constants.
    - pytorch/vision #9576: a synchronisation for each call of a normalisation.
    """

    code, name, since = "TPL252", "host-literal-to-device-in-hot-code", "0.1.0"
    triggers = (*_MADE, "] = ", *NORMALISES)
    probes = ("host-sync", "transfers")

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot upload of numbers that no step changes."""
        for site in file.hot_calls(*_CALLS) if file.mentions(_MADE) else ():
            if site.hot is None or site.hot.kind == "data":
                continue
            values = project.values
            upload = upload_at(values, site.call, site.frame) or computed_upload(values, site.call, site.frame)
            written = written_from_host(site) if upload is None else None
            upload = written.upload if written is not None else upload
            if upload is None or is_fallback(site) or _is_told_otherwise(file, site, upload):
                continue
            upload = upload._replace(kind=NUMBER) if _is_chosen(upload) else upload
            asked = device_by_test(site, upload.made) if not upload.path else None
            upload = upload._replace(device=asked) if asked is not None else upload
            yield self._finding(file, site, upload, written.into if written is not None else None)
        for store in element_stores(file):
            yield self._stored(file, store)
        for site, image in normalised(file) if file.mentions(NORMALISES) else ():
            yield self._normalised(file, site, image)

    def _normalised(self, file: SourceFile, site: Site, image: Value) -> Finding:
        assert site.hot is not None
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` uploads the mean and the standard deviation, and asks whether one is "
            f"zero, {site.hot.when}: three waits",
            instead="hold both as buffers of shape (1, 3, 1, 1) and write `(x - self.mean) / self.std`",
            value=image.weaker(Confidence.LIKELY),
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" or site.hot.optional else None,
            root_cause=f"{self.code} on line {site.record.line} of function {site.function}",
        )

    def _stored(self, file: SourceFile, store: ElementStore) -> Finding:
        spot = store.spot
        written = ast.unparse(spot.expression)
        base = written.partition("[")[0]
        return self.found(
            spot,
            message=f"`{written} = ...` copies a number of the host to one element and waits {spot.hot.when}",
            instead="write to a slice, `x[i : i + 1] = number`, which fills it in on the device without a wait; "
            f"or compute with the numbers themselves instead of `{base}`",
            value=store.base,
            hot=spot.hot,
            confidence=Confidence.POSSIBLE,  # torch's source says so; no card was asked yet
            severity=Severity.INFO,
            root_cause=f"{self.code} stores into {base} in function {spot.function}",
        )

    def _finding(self, file: SourceFile, site: Site, upload: Upload, into: ast.expr | None) -> Finding:
        assert site.hot is not None
        what, source = _WHAT[upload.kind]
        known = Confidence.CERTAIN if upload.kind == LITERAL else Confidence.LIKELY
        place = f"{upload.path}:{upload.made.lineno}" if upload.path else f"line {upload.made.lineno}"
        because = f"made on the host by `{upload.factory}` ({place}) from {source}"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` uploads {what} and waits for the copy {site.hot.when}",
            instead=_number_itself(site, upload) or _instead(file, site, upload) + _copied(site, upload),
            value=tensor(HOST, because, known),
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" or site.hot.optional else None,
            root_cause=f"{self.code} on line {site.record.line} of function {site.function}",
            related=[*made_anew(site), *_made_before(file, site, upload)],
            fix=filled.on_the_device(site, upload.made) if upload.scalar else None,
            happens=into,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By waits and copies to the device at the line; `torch.tensor(..., device=...)` shows as a wait only."""
        seen = run.at(finding, "sync") or copies(run, finding, "h2d", lambda copy: True)
        return by_events(finding, run, seen, "upload", probes=self.probes)


_CALLS = (
    *("tensor", "as_tensor", "asarray", "new_tensor", "new", "to", "cuda", "type_as"),
    *sorted(api.LEGACY_TYPES),
)


def _is_told_otherwise(file: SourceFile, site: Site, upload: Upload) -> bool:
    """Random numbers that are float64 on the device, where TPL504 says to draw them there, too; or that turns of an
    inner loop copy one after another, which TPL201 says."""
    if upload.kind != DRAWN:
        return False
    made = next((one for one in file.calls_of(*TAKERS) if one.call is upload.made), None)
    if made is not None and not file.mentions(DOUBLES_MEANT) and double_on_device(file, made) is not None:
        return True
    return any(one.site.call is site.call for one in uploads_in_turns(file))


def _made_before(file: SourceFile, site: Site, upload: Upload) -> list[Related]:
    """Where the tensor is made of the numbers, when that is not where it is moved."""
    path, line = upload.path or file.path, upload.made.lineno
    if path == file.path and site.call.lineno <= line <= (site.call.end_lineno or line):
        return []
    body = file.project.body(path)
    assert body is not None
    return [file.related(path, *body.at(upload.made), f"`{upload.factory}` makes it of the numbers")]


def _copied(site: Site, upload: Upload) -> str:
    """What to add to the advice where what is to be kept is changed afterwards."""
    kept = not upload.scalar and upload.kind in (LITERAL, CONFIGURED)  # what is computed of it is another tensor
    return "; use a `.clone()` of it here, which is changed in place" if kept and changed_in_place(site) else ""


_BY_KIND = {
    REPEATED: "{filled}",
    TRIANGLE: "make it on the device: `torch.ones(n, n, device={device}).tril()`, or `.triu(1)`",
    ENTRY: "hold the table as a buffer, `self.register_buffer(...)`, and index that: its entries are on the device",
}
"""What to write for those of which no more needs to be known."""


def _instead(file: SourceFile, site: Site, upload: Upload) -> str:
    filled = f"`torch.full({'()' if upload.scalar else '(n,)'}, number, device={upload.device})`, filled on the device"
    if upload.kind == NUMBER and not upload.scalar:
        return f"`torch.full(({_ones(upload)}), number, device={upload.device})`, filled on the device"
    if counted := _counted(upload):
        return f"count on the device: {counted}"
    if upload.kind == DRAWN:
        return f"draw them on the device: {_drawn_there(file, site, upload)} (its generator gives other numbers)"
    if upload.scalar:
        return f"use the number itself where arithmetic or `torch.where` takes one, or {filled}"
    if upload.kind in _BY_KIND:
        return _BY_KIND[upload.kind].format(filled=filled, device=upload.device)
    if upload.kind == READ_BACK:
        parts = repeated(upload.made.args[0]) if upload.made.args else None
        return f"repeat it on the device: `{ast.unparse(parts[0]) if parts else 't'}.expand(n)`"
    if upload.kind == SHAPE and _is_short(upload):
        return f"make it on the device: stack `torch.full((), n, device={upload.device})`, or keep one for each shape"
    if upload.kind == SHAPE:
        return "keep one for each shape and device: a function of the sizes under `functools.cache`"
    if upload.kind == GIVEN:
        return (
            "compute with the numbers themselves where arithmetic takes them, or have the caller hand over a tensor "
            "that is on the device already"
        )
    index = file.project.index
    own = index.class_of(file.path, site.record.function)
    if own is not None and file.project.types.is_module_class(own):
        return 'make it once: `self.register_buffer("name", torch.tensor(...), persistent=False)` in `__init__`'
    if site.hot is not None and site.hot.loop is not None and not site.hot.depth:
        return f"make it once, before the loop: `torch.tensor(..., device={upload.device})`"
    made = "make it once for each device: a buffer of the module that calls this"
    data = _data(upload)
    array = data is not None and file.value(data, site).kind in ("array", "unknown")
    return made if array else f"{made}, or a function under `functools.cache`"  # which takes no arrays and lists


def _drawn_there(file: SourceFile, site: Site, upload: Upload) -> str:
    data = _data(upload)
    drawn = drawn_array(file.project.values, data, site.frame) if data is not None else None
    return f"`{drawn}(..., device={upload.device})`" if drawn else f"torch's factories take `device={upload.device}`"


def _counted(upload: Upload) -> str:
    """How the device counts by itself; empty where nothing is counted, or where one tensor does for all steps."""
    there = counted_there(upload.made, upload.device) if upload.kind in (COUNTED, SHAPE, GIVEN) else None
    if there is not None:
        return f"`{there}`"
    anyhow = f"`torch.arange(..., device={upload.device})`, `torch.eye` or `torch.linspace`"
    return anyhow if upload.kind == COUNTED else ""


def _data(upload: Upload) -> ast.expr | None:
    """The numbers that the tensor is made of."""
    return upload.made.args[0] if upload.made.args else None


def _is_chosen(upload: Upload) -> bool:
    """`[1 if ready else 0]`: one number, which may be another one in the next step."""
    data = _data(upload)
    while isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1:
        data = data.elts[0]
    if not isinstance(data, ast.IfExp) or data is _data(upload) or upload.kind not in (LITERAL, CONFIGURED):
        return False
    return not any(isinstance(either, ast.List | ast.Tuple | ast.Call) for either in (data.body, data.orelse))


def _number_itself(site: Site, upload: Upload) -> str | None:
    """What to write for one literal that is a factor or term: `2.0` of `x * torch.Tensor([2.0]).cuda()`."""
    node: ast.expr = site.call
    while node is not upload.made and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if upload.kind != LITERAL or upload.scalar or node is not upload.made or not _multiplies(site):
        return None  # what a function gives of such a tensor is another number
    data = _data(upload)
    while isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1:
        data = data.elts[0]
    number = isinstance(data, ast.Constant) and isinstance(data.value, int | float)
    return f"compute with the number itself, `{ast.unparse(data)}`, which fits any shape" if number and data else None


def _multiplies(site: Site) -> bool:
    """Whether an upload, its shape changed at most, is a factor or term beside what has a shape of its own."""
    parents = site.file.enclosing(site.function).parents
    node: ast.AST = site.call
    while isinstance(parent := parents.get(node), ast.Attribute | ast.Call):
        if isinstance(parent, ast.Attribute) and parent.attr not in ("to", "cuda", "detach", "reshape", "view"):
            return False
        if isinstance(parent, ast.Call) and parent.func is not node:
            return False
        node = parent
    other = parent.left if isinstance(parent, ast.BinOp) and parent.right is node else getattr(parent, "right", None)
    return isinstance(parent, ast.BinOp) and other is not None and site.file.value(other, site).kind == "tensor"


def _ones(upload: Upload) -> str:
    """The shape of one number in as many lists as are written: `1,` of `[n]`, `1, 1` of `[[n]]`."""
    data, depth = _data(upload), 0
    while isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1:
        data, depth = data.elts[0], depth + 1
    return "1, " * (depth - 1) + "1" if depth > 1 else "1,"


def _is_short(upload: Upload) -> bool:
    """Whether what is uploaded is written out where it is made, or is one number."""
    data = _data(upload)
    return not upload.path and isinstance(data, ast.List | ast.Tuple | ast.Attribute | ast.Subscript | ast.Call)
