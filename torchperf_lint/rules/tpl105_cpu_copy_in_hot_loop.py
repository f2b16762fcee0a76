"""TPL105."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.environments import chooses_an_action
from torchperf_lint.facts.copies.host_choices import chosen_on_host
from torchperf_lint.facts.copies.reading_helpers import hot_callers, where_copied
from torchperf_lint.facts.copies.reduced_on_host import reduced_on_host
from torchperf_lint.facts.copies.saved_at_once import saved_at_once
from torchperf_lint.facts.copies.uploaded_by_iterators import uploaded_by_iterator
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.fixes.computed_beside import computed_beside
from torchperf_lint.facts.fixes.read_later import later
from torchperf_lint.facts.reads.consequences import DECIDES, INSTEAD, READ, consequence
from torchperf_lint.facts.reads.copied_for_nothing import UNREAD, copied_before, is_never_read, reads_one_number
from torchperf_lint.facts.reads.host_copies import copy_severity, host_copies
from torchperf_lint.facts.reads.kept_by_metrics import by_default
from torchperf_lint.facts.reads.reads import Read, cause, one_copy, uploaded_before
from torchperf_lint.facts.reads.stored_on_host import HostStore, host_stores
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.model import Finding, Related, Severity, Verdict
from torchperf_lint.rule import SourceRule

_OF_A_METRIC = (
    "whoever makes this metric without a device keeps its sums on the host, and waits for each batch: add up where the "
    "batch is (`self.total = self.total + x.detach()`), and copy once in `compute`; or make it with `device=`"
)
_DECISIVE = (
    "what runs next depends on it, so it can be no later: copy once and take all that decides from that copy, or "
    "decide by what the host had before it was uploaded"
)


class CpuCopyInHotLoop(SourceRule):
    """`.cpu()` or `.to("cpu")` on a device tensor in every training step or forward pass.

    ## What it does
    Flags copies of a device tensor to the host (`.cpu()`, `.to("cpu")`, `.numpy(force=True)`, most often on the way to
    numpy) where the line runs every training step or forward pass. One copy of the result a batch in an evaluation or
    prediction loop, or where a module is not in training mode, is what it is for, and is not reported, unless the same
    function has uploaded it itself, as labels are that go to a metric, or an iterator of the project's own has that
    handed it over, or a line before has copied it, or nothing reads the copy, or it is made one number at once
    (`pred.eq(y).cpu().sum()`), or read for the largest of each row alone (`np.argmax(out.cpu().numpy(), axis=1)`): the
    device does that by itself. Loops that copy a tensor element by element, or the same tensor each turn, are
    information wherever they stand (one copy before the loop does it), and only `possible` where an annotation
    alone says that the value is a tensor and nothing shows how often they run.

    A function of the project that only brings tensors to the host, `to_numpy(x)`, is told of at its copy, with its hot
    calls, or at a hot call where only that shows how often it runs, or what it is given.

    A device tensor that each turn puts into a part of a tensor on the host, `chain[i] = x`, is the same copy; buffers
    that were made with `device="cpu"` or `pin_memory=True` are left alone.

    Where the same function uploads what it made of the copy, the finding is TPL106.

    ## Why it is slow
    The copy waits until everything queued on the device has run, then crosses the bus into pageable memory, and
    what follows (numpy, scikit-learn) runs on one core while the device idles.

    ## Example
    ```python
    import numpy as np
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        hits = 0
        for x, y in loader:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            predicted = out.argmax(1).cpu().numpy()
            hits += np.sum(predicted == y.cpu().numpy())
    ```

    ## Use instead
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
        hits = torch.zeros((), device=device, dtype=torch.long)
        for x, y in loader:
            x = x.to(device, non_blocking=True)
            y = y.to(device, non_blocking=True)
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (out.argmax(1) == y).sum()
        return hits.cpu()
    ```

    ## When it is fine
    Under a cadence, after the loop, on tensors that are on the host, and once a batch where predictions are collected:
    ```python
    import torch
    from torch import nn

    @torch.no_grad()
    def predict(model: nn.Module, loader, device):
        found = []
        for x in loader:
            found.append(model(x.to(device, non_blocking=True)).argmax(1).cpu())
        return torch.cat(found)
    ```
    An agent that hands its action to an environment needs it on the host, and so do a replay memory that is given
    priorities for the samples that it has drawn (`memory.update_priorities(rows, errors.cpu().numpy())`), an algorithm
    that runs there only, as `scipy.optimize.linear_sum_assignment`, a library that knows no device, a plot
    (`plt.imshow(x.cpu())`), a file that every turn writes (`np.save(path, features)`), another object's store
    (`self.saver.store[rows] = x.cpu()`), and who asks a public method, or a helper that runs without gradients, for an
    array (`return out.cpu().numpy()`): such a copy is only `possible`. So is one in an operation that nothing in the
    project calls, in a hook or an autograd function, and where the step that calls it stands in another file, in a
    class that is no kin: what is copied may be what it has asked for.
    An attribute that is put to the host where it stays (`self.table = self.table.cpu()`) is copied once, and silent.
    What numpy sorts out and hands back as the indices of a device tensor need never leave the device: it is reported.

    ## Fix safety
    There is no automatic fix: the computation on the host has to be written with torch.

    ## Confirmed by
    A synchronisation at the line, which a blocking copy to the host makes, in at least half of the recorded steps.

    ## References
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    - PyTorch Lightning, "Speed up model training": no `.item()`, `.numpy()`, `.cpu()` in the step.
    """

    code, name, since = "TPL105", "cpu-copy-in-hot-loop", "0.1.0"
    triggers = ("cpu(", "numpy(", ".to(", "_np(", "array(", "zeros(", "ones(", "empty(", "full(")
    probes = ("host-sync", "transfers")
    of_gradients = True

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot copy of a device tensor to the host."""
        del project
        for (site, receiver, read), trip in host_copies(file):
            if trip is not None:
                continue  # TPL106 says it
            yield self.found(
                site,
                message=f"`{file.brief(site.call)}` copies to the host and waits for the device "
                f"{_each(file, read)}{read.hot.when}",
                instead=(UNREAD if is_never_read(file, site) else None)
                or one_copy(file, read)
                or (_OF_A_METRIC if by_default(site) else None)
                or _kept_here(file, site, receiver)
                or _had_before(file, site)
                or _reduced_there(file, site, receiver)
                or _later(file, site, receiver),
                value=read.value,
                hot=read.hot,
                severity=Severity.INFO if by_default(site) else copy_severity(file, read),
                root_cause=cause(site),
                leads=False,
                related=_elsewhere(file, site),
            )
        yield from (self._stored(file, store) for store in host_stores(file))

    def _stored(self, file: SourceFile, store: HostStore) -> Finding:
        written, base = file.brief(store.spot.expression), store.base.id
        return self.found(
            store.spot,
            message=f"`{written} = ...` copies to the host, where `{base}` lies (line {store.made}), and waits for the "
            f"device {store.spot.hot.when}",
            instead=f"make `{base}` on the device on line {store.made}, and copy it once behind the loop: "
            f"`{base} = {base}.cpu()`",
            value=store.value,
            hot=store.spot.hot,
            root_cause=cause(store.spot),
            leads=False,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the line, which a blocking copy to the host makes."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _each(file: SourceFile, read: Read) -> str:
    """How often in each turn of the loop over batches."""
    found = read.repeated
    return f"for each element of `{file.brief(found.whole)}`, " if found is not None and found.output else ""


def _had_before(file: SourceFile, site: Site) -> str | None:
    line = copied_before(file, site)
    if line:
        return f"line {line} has copied it already: bind that copy to a name, and use it here too"
    return INSTEAD[READ] if consequence(site) == READ else None


def _reduced_there(file: SourceFile, site: Site, receiver: ast.expr) -> str | None:
    call = reduced_on_host(file, site)
    if call is None:
        return None
    written, way = file.brief(receiver), f"{last_part(chain(call.func))}(...)"
    there = f"`{written}.{way}`" if not written.endswith("…") else f"its `.{way}`"
    return f"let the device do what line {call.lineno} does, and copy that: {there} is one number in place of each row"


def _later(file: SourceFile, site: Site, receiver: ast.expr) -> str:
    if reads_one_number(file, site):
        return later(site, file.brief(receiver))
    if consequence(site) == DECIDES:
        return _DECISIVE
    if saved_at_once(file, site):
        return "write the file under `if step % n == 0:`, or copy several turns' at once and let a thread write them"
    if chooses_an_action(site):
        chosen = "choose it on the device (`argmax`, `torch.multinomial`), and " if chosen_on_host(site) else ""
        return (
            f"the environment needs the action now: {chosen}copy that alone, with what else is read in this step, in "
            "one copy"
        )
    functions = " (torch has the numpy functions)" if _goes_to_numpy(file, site) else ""
    beside = computed_beside(file, site)
    also = f", {beside}," if beside is not None else ""
    return (
        f"compute with `{file.brief(receiver)}` on the device{functions}{also} and copy once after the loop or under "
        "`if step % n == 0:`"
    )


def _goes_to_numpy(file: SourceFile, site: Site) -> bool:
    """Whether the statement makes an array of what is copied, or gives it a name, as the file uses numpy."""
    statement = file.enclosing(site.function).statement(site.call)
    names = {part.attr for part in ast.walk(statement) if isinstance(part, ast.Attribute)} if statement else set()
    named = {part.id for part in ast.walk(statement) if isinstance(part, ast.Name)} if statement else set()
    return "numpy" in names or bool(named & {"np", "numpy"})


def _elsewhere(file: SourceFile, site: Site) -> list[Related]:
    """Of a copy that a helper makes: the copy, for a call of the helper; its hot calls, for the copy itself."""
    copied = where_copied(file, site)
    if copied is not None:
        return [file.related(*copied, 1, "copies it to the host here")]
    callers = list(hot_callers(file, site))[:5]
    return [file.related(c.path, c.call.line, c.call.column, "asks for the copy here") for c in callers]


def _kept_here(file: SourceFile, site: Site, receiver: ast.expr) -> str | None:
    line = uploaded_before(file, site)
    if line is None:
        upload = uploaded_by_iterator(file, site, receiver)
        if upload is None:
            return None
        where = f"`{upload.by}` ({upload.path}:{upload.line})"
        return f"{where} has uploaded it from the host: let it hand over what was there as well, and take that here"
    return (
        f"line {line} has uploaded it from the host: keep what was there under another name, and take "
        f"`{file.brief(receiver)}` from that"
    )
