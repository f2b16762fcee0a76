"""TPL201."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import all_copies, by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.modules_given import takes_modules
from torchperf_lint.facts.devices.blocking import is_blocking
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.devices.step_batches import is_from_a_loader
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.copy_fixes import without_blocking
from torchperf_lint.facts.loaders.batch_parts import is_part
from torchperf_lint.facts.loaders.computed_from_batch import FromBatch, computed_from_batch
from torchperf_lint.facts.loaders.converted_first import Conversion, converted_before, converted_first, in_one_call
from torchperf_lint.facts.loaders.copied_into import batch_copied_into
from torchperf_lint.facts.loaders.cut_on_host import CutOnHost, cuts_on_host
from torchperf_lint.facts.loaders.handed_over import handed_over
from torchperf_lint.facts.loaders.joined_on_host import JOIN_THERE, joined_on_host, origins_of_parts
from torchperf_lint.facts.loaders.loaders import batch_copy, loaders_of
from torchperf_lint.facts.loaders.own_batches import own_move, waits_for_nothing
from torchperf_lint.facts.loaders.pinned_beside import PinnedBeside, pinned_beside
from torchperf_lint.facts.loaders.pinning import Pinning, pinning_of
from torchperf_lint.facts.loaders.sent_by_function import sent_by_function
from torchperf_lint.facts.loaders.uploads_in_turns import UploadInTurns, uploads_in_turns
from torchperf_lint.facts.roles.fed import is_fed
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST, Value, tensor
from torchperf_lint.model import Confidence, Finding, Related, Severity, Verdict
from torchperf_lint.pinned_in_run import with_advice
from torchperf_lint.rule import SourceRule

_GRAPHS = ("torch_geometric", "dgl")
_OWN_CONTAINERS = ("transformers", "tensordict", "ignite", "monai")


_NOT_PINNED = "in one call the device converts, and what a conversion makes on the host is not pinned"
_FOR_BOTH = (
    "write `{}.to({}, non_blocking=True)`{}: modules are moved here too, and their `cuda` takes no `non_blocking`"
)
_OF_AN_ITERATOR = (
    "pin what is copied, `.pin_memory()`, and pass `non_blocking=True`; or hand over what is on the host, from a "
    "DataLoader with workers and `pin_memory=True`, and copy that"
)


_MAKE_THERE = (
    "make the tensors where the batch is put together, and pin them there (`pin_memory=True` of a DataLoader, else "
    "`.pin_memory()`); then pass `non_blocking=True` here"
)
"""Of `torch.Tensor(x).to(device)`: what is made of an array at the copy itself, nobody can have pinned."""


_COMPUTE_THERE = (
    "copy the batch first, pinned (`pin_memory=True` of the DataLoader) and with `non_blocking=True`, and compute this "
    "from it on the device: of what torch makes on the host nothing is pinned but pieces of a pinned batch"
)
_COMPUTE_BEFORE = (
    "do it where the batch is put together, in the data set or the `collate_fn`, for the loader's workers to run and "
    "`pin_memory=True` to pin; then pass `non_blocking=True` here. Or copy the batch and compute on the device"
)
"""Of what numpy, or code of the project, works out after the loader."""


_METHODS = ("to", "cuda", "type", "copy_")
_KINDS = frozenset({"step", "eval", "rollout", "forward"})
"""A module's pass may be given anything: only where a loader is known to make it."""


class BlockingBatchTransfer(SourceRule):
    """A batch copied to the device without `non_blocking`, every step.

    ## What it does
    Flags `.to(device)`, `.cuda()` and `.type(torch.cuda.FloatTensor)` on what a DataLoader yields, or accelerate's
    `send_to_device(batch, device)`, in a loop that runs every step, and on what a step is given or takes in under any
    other name; also on parts of a batch that are joined on the host first, `torch.cat([views[0], views[1]])`, and on
    pieces that the loop cuts out of a tensor or array that stays on the host, `data[i : i + 64]`, `images[number]`; and
    on what the step computes on the host from a batch, with torch, with numpy or in a helper, before it copies that.
    Where the loader is known and not pinned, the finding says so and points at it: the two belong together. And batches
    that a loop inside the step copies sample by sample, `clips.append(torch.from_numpy(clip).to(device))`, to stack
    them on the device; `buffer.copy_(batch)`, where the buffer lies on the device; and batches that a generator or a
    `__next__` of the project copies before it hands them to such a loop; and what a step makes on the host, beside
    another tensor that it pins and copies with `non_blocking=True`. Where the `collate_fn` returns objects of a class
    of the project, whose own `to` takes no `non_blocking`, the advice is for that method.

    ## Why it is slow
    A blocking copy makes the host wait until the copy, and everything queued before it, is done. From pinned memory
    and with `non_blocking=True` the host goes on and queues the step's kernels meanwhile.

    ## Example
    ```python
    from torch import nn
    from torch.utils.data import DataLoader

    def train(model: nn.Module, dataset, optimizer, criterion, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4)
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
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
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    ```

    `x.half().cuda()` converts on the host, into a tensor that is not pinned: `x.to("cuda", torch.half,
    non_blocking=True)` copies what the loader pinned, and converts it on the device.

    ## When it is fine
    For a batch of a few hundred numbers nobody will measure a difference. Copies to the host must stay blocking,
    and batches that a framework has moved already need no copy:
    ```python
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    @torch.no_grad()
    def predict(model: nn.Module, dataset, device):
        loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
        return torch.cat([model(x.to(device, non_blocking=True)).to("cpu") for x in loader])
    ```

    ## Fix safety
    `non_blocking=True` on a copy from the host to a CUDA device changes no values: kernels on the same stream wait for
    the copy. Safe where the device is known to be CUDA (or the host), the loader is torch's own without a
    `collate_fn`, has workers and is pinned, and the function writes nothing into the batch. Unsafe otherwise: other
    backends copy in other ways, and what else a batch may be need not know the argument. Where the loader has workers
    and is not pinned, `pin_memory=True` is passed to it as well, which takes page-locked memory and is unsafe; where it
    is made in another file, there is no fix; nor where it is not known which loader it is, and none of the file pins.

    ## Confirmed by
    A blocking copy to the device at the line in at least half of the recorded steps.

    ## References
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch".
    - PyTorch CUDA semantics, "Use pinned memory buffers".
    """

    code, name, since = "TPL201", "blocking-batch-transfer", "0.1.0"
    triggers = (".to(", ".cuda(", ".type(", ".copy_(", "device=", "send_to_device(")
    probes = ("transfers",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot blocking copy of a batch."""
        for site in file.hot_calls("to", "cuda", "type"):
            if site.hot is None or site.hot.kind not in _KINDS or not is_blocking(site.call):
                continue
            batch = batch_copy(project.values, site.call, site.frame)
            if site.hot.kind == "forward" and (batch is None or not is_from_a_loader(batch)):
                continue
            own = own_move(site, batch) if batch is not None else None
            if own is not None and waits_for_nothing(project, own):
                continue
            joined = _joined(project, site) if batch is None else None
            if batch is not None and not _may_be_a_container(file, site):
                yield self._copy(file, project, site, batch)
            elif joined is not None:
                yield self._copy_of_joined(file, project, site, joined)
        for site in file.hot_calls("copy_"):
            copied = batch_copied_into(project.values, site.call, site.frame) if is_blocking(site.call) else None
            if copied is not None and site.hot is not None and site.hot.kind in _KINDS:
                yield self._copy(file, project, site, copied)
        for site, batch in sent_by_function(file) if file.mentions(("send_to_device",)) else ():
            if site.hot is not None and site.hot.kind in _KINDS:
                yield self._copy(file, project, site, batch)
        yield from self._of_pieces(file, project)

    def _of_pieces(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot blocking copy of what a loop or an iterator cuts or makes itself."""
        told: list[ast.Call] = []
        for cut in cuts_on_host(file):
            told.append(cut.site.call)
            if batch_copy(project.values, cut.site.call, cut.site.frame) is None:
                yield self._copy_of_cut(file, cut)
        for upload in uploads_in_turns(file):
            told.append(upload.site.call)
            yield self._copy_of_one(file, upload)
        for site in file.hot_calls("to", "cuda"):
            own = handed_over(site) if is_blocking(site.call) and site.call not in told else None
            known = own is None or batch_copy(project.values, site.call, site.frame) is not None
            if own is not None and not known and not _may_be_a_container(file, site):
                yield self._copy_handed_over(file, site, own)
                told.append(site.call)
        for site in file.hot_calls("to", "cuda"):
            asked = site.hot is not None and site.hot.kind in ("step", "eval") and is_blocking(site.call)
            computed = computed_from_batch(site) if asked and site.call not in told else None
            if computed is None or batch_copy(project.values, site.call, site.frame) is not None:
                continue
            if _joined(project, site) is None:
                yield self._copy_of_computed(file, site, computed)
                told.append(site.call)
        for beside in pinned_beside(file):
            if beside.site.call not in told and batch_copy(project.values, beside.site.call, beside.site.frame) is None:
                yield self._copy_beside(file, beside)

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By blocking copies to the device at the line."""
        seen = all_copies(run, finding, "h2d", lambda copy: copy.attributes.get("blocking") is not False)
        verdict = by_events(finding, run, seen, "blocking copy to the device", probes=("transfers",))
        return with_advice(verdict, finding, run, seen)

    def _copy(self, file: SourceFile, project: Project, site: Site, batch: Value) -> Finding:
        assert site.hot is not None
        pinning = pinning_of(project, batch.origins)
        by_function = last_part(site.record.callee) not in _METHODS
        told = by_function or _follows_a_tensor(file, site)
        first = None if told else converted_first(site.call) or converted_before(site)
        instead = _MAKE_THERE if _made_here(file, site) else _instead(site.call, first, pinning)
        as_well, own = _takes_modules_as_well(file, site), own_move(site, batch)
        plain = not as_well and own is None and not by_function
        if own is not None:
            instead = own.advice + pinning.advice.removeprefix(" here")
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies the batch and waits for it {site.hot.when}{pinning.clause}",
            instead=_FOR_BOTH.format(as_well, _device(site.call), pinning.advice) if as_well else instead,
            value=batch,
            hot=site.hot,
            severity=Severity.INFO if own is not None or site.hot.kind == "eval" else Severity.WARNING,
            confidence=Confidence.POSSIBLE if own is not None and site.hot.kind == "eval" else None,
            related=[*_loaders(file, pinning), *_in_vain(file, project, pinning)],
            fix=without_blocking(site, batch) if plain and (first is None or not first.made) else None,
            root_cause=f"batches of {batch.origins} copied in {site.hot.loop or site.function}",
        )

    def _copy_of_joined(self, file: SourceFile, project: Project, site: Site, join: ast.Call) -> Finding:
        assert site.hot is not None
        name = last_part(chain(join.func))
        because = f"joined on the host by `{chain(join.func)}` (line {join.lineno}) from a batch"
        pinning = pinning_of(project, origins_of_parts(project.values, join, site.frame))
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies what was joined on the host, and waits for it {site.hot.when}"
            f"{pinning.clause}",
            instead=JOIN_THERE.format(join=name),
            value=tensor(HOST, because, Confidence.LIKELY),
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" else Severity.WARNING,
            related=_loaders(file, pinning),
        )

    def _copy_of_cut(self, file: SourceFile, cut: CutOnHost) -> Finding:
        site, name = cut.site, ast.unparse(cut.whole)
        assert site.hot is not None
        once = f"make a tensor of `{name}` on the device once" if cut.array else f"move `{name}` to the device once"
        pinned = f"; else pin it once, `{name} = {name}.pin_memory()`, and pass `non_blocking=True` here"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies a piece of `{name}`, which stays on the host, and waits for it "
            f"{site.hot.when}",
            instead=f"{once}, before the loop, if there is room{pinned if cut.rows and not cut.array else ''}",
            value=cut.value,
            hot=site.hot,
            root_cause=f"{self.code} pieces of {name} in {site.hot.loop or site.function}",
        )

    def _copy_handed_over(self, file: SourceFile, site: Site, batch: Value) -> Finding:
        assert site.hot is not None
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies a batch that it hands over, and waits for it {site.hot.when}",
            instead=_OF_AN_ITERATOR,
            value=batch,
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" else Severity.WARNING,
            root_cause=f"{self.code} batches handed over by function {site.function}",
        )

    def _copy_beside(self, file: SourceFile, beside: PinnedBeside) -> Finding:
        site, made = beside.site, beside.made
        assert site.hot is not None
        because = f"made on the host by `torch.{made.factory}` (line {made.call.lineno}), and not pinned"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies what is not pinned, and waits for all that was queued before, "
            f"{site.hot.when}; `{beside.name}` beside it is pinned, and its copy asked not to wait",
            instead="pin this as well, `torch.tensor(..., pin_memory=True)`, and pass `non_blocking=True`",
            value=tensor(HOST, because, Confidence.LIKELY),
            hot=site.hot,
            severity=Severity.INFO if site.hot.kind == "eval" else Severity.WARNING,
            related=[file.related(file.path, beside.line, 1, f"copies `{beside.name}` without waiting")],
        )

    def _copy_of_computed(self, file: SourceFile, site: Site, computed: FromBatch) -> Finding:
        assert site.hot is not None and site.receiver is not None
        value, batch = file.value(site.receiver, site), computed.batch.because
        from_it = value.because if batch in value.because else f"{value.because}, from the batch: {batch}"
        mild = site.hot.optional or site.hot.kind == "eval"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` copies what was computed on the host from the batch, and waits for it "
            f"{site.hot.when}",
            instead=_COMPUTE_THERE if computed.by_torch else _MAKE_THERE if _made_here(file, site) else _COMPUTE_BEFORE,
            value=value.with_reason(from_it).weaker(Confidence.LIKELY),
            hot=site.hot,
            severity=Severity.INFO if mild else Severity.WARNING,
            confidence=Confidence.POSSIBLE if site.hot.optional else None,
            root_cause=f"{self.code} computed from batches {computed.by_torch} in {site.hot.loop or site.function}",
        )

    def _copy_of_one(self, file: SourceFile, upload: UploadInTurns) -> Finding:
        site = upload.site
        assert site.hot is not None
        mild = site.hot.optional or site.hot.kind == "eval"
        because = f"made on the host by `{upload.factory}`, from what each turn of the loop takes (line {upload.line})"
        return self.found(
            site,
            message=f"`{file.brief(site.call)}` makes a copy of its own in each turn of the loop on line {upload.line} "
            f"and waits for each, {site.hot.when}",
            instead="put the pieces together on the host and copy them once: "
            "`torch.from_numpy(np.stack(pieces)).to(device)`; what differs in length, padded or with `np.concatenate`",
            value=tensor(HOST, because, Confidence.LIKELY),
            hot=site.hot,
            severity=Severity.INFO if mild else Severity.WARNING,
            confidence=Confidence.POSSIBLE if site.hot.optional else None,
            root_cause=f"{self.code} pieces copied in the loop on line {upload.line} of function {site.function}",
        )


def _takes_modules_as_well(file: SourceFile, site: Site) -> str:
    """The name in a `x.cuda()` to which modules come too, whose `cuda` takes no `non_blocking`; empty for others."""
    if last_part(site.record.callee) != "cuda" or not isinstance(site.receiver, ast.Name):
        return ""
    name = site.receiver.id
    return name if takes_modules(file.project, FunctionKey(file.path, site.function), name) else ""


def _device(call: ast.Call) -> str:
    """What `to` is told in place of `cuda`'s own argument: `x.cuda(gpu)`, `x.cuda(device=gpu)`."""
    given = next((k.value for k in call.keywords if k.arg == "device"), call.args[0] if call.args else None)
    return ast.unparse(given) if given is not None else '"cuda"'


def _made_here(file: SourceFile, site: Site) -> bool:
    """Whether the tensor that is copied is made of something else in the same expression."""
    made = site.receiver
    dotted = (file.denotes(made.func, site) or "") if isinstance(made, ast.Call) else ""
    return dotted.startswith("torch.") and dotted.removeprefix("torch.") in api.HOST_DATA | api.LEGACY_TYPES


def _instead(call: ast.Call, first: Conversion | None, pinning: Pinning) -> str:
    """What to write; `first` is converted on the host before it is copied."""
    if first is None:
        return f"pass `non_blocking=True`{pinning.advice}"
    joined = ", and pass" if first.line else " here and pass"
    pinned = pinning.advice.replace(" here and `pin_memory", f"{joined} `pin_memory")
    instead = f" without the conversion on line {first.line}" if first.line else ""
    return f"write `{in_one_call(call, first)}`{instead}{pinned}: {_NOT_PINNED}"


def _joined(project: Project, site: Site) -> ast.Call | None:
    """What joins parts of a batch on the host, where the call moves it to the device."""
    join = joined_on_host(project.values, site.receiver, site.frame) if site.receiver is not None else None
    return join if join is not None and moves_to_device(project.values, site.call, site.frame) else None


def _loaders(file: SourceFile, pinning: Pinning) -> list[Related]:
    message = "the loader that makes the batch is not pinned: pass `pin_memory=True`"
    return [file.related(path, line, column, message, len("DataLoader")) for path, line, column in pinning.unpinned]


def _in_vain(file: SourceFile, project: Project, pinning: Pinning) -> list[Related]:
    """The copies of the same loaders' batches that ask not to wait, in the same file: they lack pinning, too."""
    copies = loaders_of(project).copies_in(file.path)
    of_these = (copy for origin in pinning.unpinned for copy in copies.get(origin, ()) if not copy.blocking)
    places = sorted({(copy.line, copy.column) for copy in of_these})
    message = "`non_blocking=True` is in vain here, as the batch is not pinned"
    return [file.related(file.path, line, column, message) for line, column in places[:5]]


def _follows_a_tensor(file: SourceFile, site: Site) -> bool:
    """`x.half().to(y)`: such a call takes no dtype."""
    return any(file.value(argument, site).kind == "tensor" for argument in site.call.args)


def _may_be_a_container(file: SourceFile, site: Site) -> bool:
    """A whole batch of a library whose batches are objects with a `to` of their own, or of which only that is known.

    What is unpacked from a batch is a tensor, but where a graph may be one of the parts.
    """
    if not isinstance(site.receiver, ast.Name):
        return False
    if is_fed(file.project.index, FunctionKey(file.path, site.function), site.receiver.id):
        return True
    if file.outline.imports_from(*_GRAPHS):
        return True
    held = file.outline.imports_from(*_OWN_CONTAINERS)
    return held and not is_part(file.project.values, site.receiver.id, site.frame)
