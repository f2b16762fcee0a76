"""TPL102."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.reads.branches_that_act import acts_on_host
from torchperf_lint.facts.reads.consequences import DECIDES, EXCUSED, INSTEAD, KEEPS, REPLACES, consequence
from torchperf_lint.facts.reads.drawn import HOST_DRAWS, is_drawn
from torchperf_lint.facts.reads.extremes import extremes
from torchperf_lint.facts.reads.memberships import memberships
from torchperf_lint.facts.reads.reads import cause, hot_read, one_copy, repeated_read
from torchperf_lint.facts.reads.skipped_steps import is_zero, skips_a_step
from torchperf_lint.facts.reads.taken_apart import TakenApart, taken_apart
from torchperf_lint.facts.reads.truths import truths, truths_in_loops
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule

_ALWAYS_ASK = ("equal", "allclose", "is_nonzero")
_ZERO_STEP = (
    "leave the test out: the gradients of a loss that is zero are zero; where there is nothing to train on, the host "
    "can tell from the batch before it is copied"
)


class TensorTruthiness(SourceRule):
    """`if (mask == 0).all():`, `while err > tol:`, `assert t.any()` on a device tensor in code that runs every step.

    ## What it does
    Flags device tensors that Python asks for their truth (tests of `if`, `while`, `assert` and `a if t else b`,
    operands of `not`, `and`, `or`, and `torch.equal`, `torch.allclose`, which answer on the host; `max(a, b)`,
    `min(losses)` and `sorted(norms)`, where Python asks which of two tensors is the larger; `max(lengths)` and
    `all(reached)`, where it asks each element of one; `token in ends`, where it compares a tensor with each entry)
    where the line runs every training step, forward pass or evaluation batch (the last is reported as info). A
    function of the project that answers with a tensor's truth is asked as the tensor itself is:
    `if contains_unknown(labels):`. A test that decides what runs next is only `possible`; one that asks again what the
    host has asked before is shown in any case.

    ## Why it is slow
    A branch on the host needs the number on the host: `bool(t)` copies it there and waits until everything queued on
    the device before it has run. Under `torch.compile` it also breaks the graph.

    ## Example
    ```python
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            if (x < 0).any():
                raise ValueError("negative input")
            assert torch.isfinite(x).all()
            return self.layer(x.to("cuda")) * mask
    ```

    ## Use instead
    Let the device choose (`torch.where`, `masked_fill`, `clamp`), and check inputs once, where they are made:
    ```python
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, mask: torch.Tensor):
            return self.layer(x.clamp(min=0).to("cuda")) * mask
    ```

    ## When it is fine
    On shapes, configuration and what is on the host anyway, and once every n steps:
    ```python
    import torch
    from torch import nn

    def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device, clip: float):
        for step, (x, y) in enumerate(loader):
            if x.shape[0] < 2 or y is None:
                continue
            loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
            optimizer.zero_grad()
            loss.backward()
            if clip > 0:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if step % 100 == 0 and loss > 10:
                print("the loss is large")
    ```
    An algorithm that goes on until it has converged needs the answer. Tests that decide what runs next are only
    `possible`: shown with `--confidence possible`. Shown in any case is what spares nothing: to ask whether a mask is
    empty before a write through it (`if mask.any(): x[mask] = 0`), or before it selects, which waits again
    (`if mask.any(): y = net(x[mask])`: rows that are found once have a length that the host knows); to ask for a
    counter, flag or setting in a buffer that only the host writes; to choose between two computations of a few
    element-wise operations that give tensors of one shape (`if norm > limit: x = x / norm`), which `torch.where` takes
    as they are, or to keep the best that a search has found, `if loss < best: best, kept = loss, x.clone()`; to ask for
    the side that a batch is padded on (`mask[:, -1].sum() == len(mask)`); to go on, row by row, to where padding begins
    (`while x[k].sum() == 0: k -= 1`), which one count tells; to leave out a training step whose loss is zero; to ask
    for a number that the host has laid out itself, at a place that it knows (`steps[i] == 0` of a `torch.linspace`), or
    has just uploaded (`t = torch.tensor([i], device=device)`, then `if t != 0`); and to ask a tensor for one element
    after the other (`if scores[i] > 0.5:` in a loop over `i`), or in each turn for the number that it compares with its
    own (`if i != best:`), where one copy before the loop answers all.

    ## Fix safety
    There is no automatic fix: which values to choose between only the author knows.

    ## Confirmed by
    A synchronisation at the test in at least half of the recorded steps or evaluation batches; or several in a row,
    in a loop of its own.

    ## References
    - PyTorch performance tuning guide, "Avoid unnecessary CPU-GPU synchronization".
    - NVIDIA, "Writing sync-free code", list of synchronising calls.
    """

    code, name, since = "TPL102", "tensor-truthiness", "0.1.0"
    triggers = (
        "if ",
        "if(",
        "while ",
        "while(",
        "assert ",
        "assert(",
        "not ",
        ".equal(",
        ".allclose(",
        ".is_nonzero(",
        "max(",
        "min(",
        "sorted(",
        "any(",
        "all(",
    )
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot test of a device tensor."""
        del project
        for spot in truths(file):
            assert isinstance(spot.expression, ast.expr)
            if not isinstance(spot.expression, ast.Call) or not _asked(file, spot.expression, spot):
                yield from self._judged(file, spot, spot.expression)
        for site in file.hot_calls(*_ALWAYS_ASK):
            operand = _asked(file, site.call, site)
            if operand is not None:
                yield from self._judged(file, site, operand)
        for site, operand, value in extremes(file):
            yield from self._judged(file, site, operand, value)
        for walk in taken_apart(file):
            if walk.reads:
                yield self._of_each_element(file, walk)
        for asked, tensor in memberships(file) if file.mentions((" in ",)) else ():
            yield from self._judged(file, asked, tensor)
        for spot in truths_in_loops(file):
            assert isinstance(spot.expression, ast.expr)
            yield from self._in_a_loop(file, spot, spot.expression)

    def _of_each_element(self, file: SourceFile, walk: TakenApart) -> Finding:
        hot = walk.site.hot
        assert hot is not None
        return self.found(
            walk.site,
            message=f"`{file.brief(walk.site.call)}` takes the tensor apart and {_READS} {hot.when}",
            instead=walk.instead,
            value=walk.value,
            hot=hot,
            severity=Severity.INFO if hot.optional or hot.kind == "eval" else None,
            confidence=Confidence.POSSIBLE if hot.optional else None,
        )

    def _in_a_loop(self, file: SourceFile, spot: Spot, asked: ast.expr) -> Iterator[Finding]:
        """One copy before a loop answers what each of its turns asks, whatever calls the function."""
        read = repeated_read(file, spot, asked)
        if read is None:
            return
        yield self.found(
            spot,
            message=f"`{file.brief(asked)}` is decided on the host, which waits for the device {read.hot.when}",
            instead=one_copy(file, read) or _instead(DECIDES),
            value=read.value,
            hot=read.hot,
            severity=read.severity,
            root_cause=cause(spot),
            leads=False,
        )

    def _judged(
        self, file: SourceFile, place: Place, operand: ast.expr, shown: Value | None = None
    ) -> Iterator[Finding]:
        read = hot_read(file, place, operand, shown)
        if read is None:
            return
        statement = file.enclosing(place.function).statement(place.expression)
        # What `return not t.any()` hands back decides elsewhere; of two tensors the larger one is but a value.
        then = DECIDES if isinstance(statement, ast.Return) and shown is None else consequence(place)
        assert isinstance(place.expression, ast.expr)
        drawn = then in EXCUSED and is_drawn(file, place, operand)
        of_zero = then == DECIDES and is_zero(operand) and skips_a_step(place, operand)
        excused = then in EXCUSED and read.repeated is None and read.had is None and not drawn and not of_zero
        yield self.found(
            place,
            message=f"`{file.brief(place.expression)}` is decided on the host, which waits for the device "
            f"{read.hot.when}",
            instead=one_copy(file, read)
            or (HOST_DRAWS if drawn else None)
            or (_ZERO_STEP if of_zero else None)
            or (_ACTS if then == DECIDES and acts_on_host(place) else None)
            or _instead(KEEPS if shown is not None and then not in INSTEAD else then),
            value=(on_device(file, place, operand) if drawn or of_zero else None) or read.value,
            hot=read.hot,
            severity=Severity.INFO if excused or of_zero else read.severity,
            confidence=Confidence.POSSIBLE if excused else None,
            root_cause=cause(place),
            leads=False,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the test."""
        seen = run.at(finding, "sync")
        if _READS in finding.message:
            at = finding.location
            span = (at.line, at.column, at.end_line, at.end_column)  # its argument may wait, too: `any(t[mask])`
            seen = tuple(e for e in seen if e.column is None or (e.line, e.column, e.end_line, e.end_column) == span)
        return by_events(finding, run, seen, "synchronisation", probes=self.probes)


_READS = "reads each element on the host"
_ACTS = (
    "what runs next depends on it, which no `torch.where` holds: ask once every n steps, where the algorithm takes that"
)


def _asked(file: SourceFile, call: ast.Call, place: Place) -> ast.expr | None:
    """What `torch.equal(a, b)` and `a.equal(b)` compare on the host: the side that is known to be on the device."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in _ALWAYS_ASK:
        return None
    known = file.denotes(call.func, place)
    if known is not None and "()" not in known:
        sides = call.args[:2] if known.startswith("torch.") else []
    else:
        sides = [call.func.value, *call.args[:1]] if isinstance(call.func, ast.Attribute) else []
    tensors = [side for side in sides if file.value(side, place).kind == "tensor"]
    return next((side for side in tensors if file.value(side, place).on_device), None) if tensors else None


def _instead(then: str) -> str:
    if then in INSTEAD:
        return INSTEAD[then]
    if then == REPLACES:
        return "let the device choose: `torch.where(test, a, b)`, `x.masked_fill(mask, value)`, `x.clamp(...)`"
    return "keep the answer as a tensor and choose with `torch.where`, or ask once every n steps"
