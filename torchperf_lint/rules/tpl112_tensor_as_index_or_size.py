"""TPL112."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.confirming import by_events
from torchperf_lint.evidence import Evidence
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.copies.uploaded import below_reductions, uploaded_on
from torchperf_lint.facts.element_loops.found_in_turn import BEFORE, IN_TURN, found_in_turn
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.picked_together import picked_together
from torchperf_lint.facts.indexing.sizing import Sized, sized
from torchperf_lint.facts.reads.drawn import HOST_DRAWS, is_drawn
from torchperf_lint.facts.reads.reads import cause
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.values.value import Value
from torchperf_lint.model import Confidence, Finding, Severity, Verdict
from torchperf_lint.rule import SourceRule


class TensorAsIndexOrSize(SourceRule):
    """`x[:length]`, `range(n)`, `x.view(b, n)` with a device tensor for `n`, in a loop inside a step.

    ## What it does
    Flags device tensors that Python turns into an integer: bounds of slices, indices that are one number, sizes of
    factories and views, counts of `range`, what picks from lists and lists of modules; where that happens several
    times a training step, forward pass or evaluation batch (the last is reported as info): in a loop, for one
    tensor in several places (`x[:, :end]` and `mask[:, : end - 1]`), or for three tensors or more in one statement;
    where only a slice of a known length begins there, `x[i : i + 1]`, or a tensor without dimensions picks from one on
    the device, `x[scores.argmax()]`, which can be done there; where it picks from a list of settings that the module
    was built with, `self.rates[rate_id]`; entries of a buffer that the constructor made of numbers,
    `x[: self.sizes[0]]`; random numbers that are drawn on the device only to be read; and what the host had before it
    copied, or filled it in, there.

    ## Why it is slow
    An integer is needed on the host, so each bound is read from the device on its own (a slice with two bounds reads
    twice), and each read waits until everything queued on the device before it has run.

    ## Example
    ```python
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, lengths: torch.Tensor):
            x = self.proj(x.to("cuda"))
            return torch.stack([x[i, : lengths[i]].mean(0) for i in range(len(x))])
    ```

    ## Use instead
    A mask, which needs no integer; or one read of all lengths, where the batch is made or before the loop:
    ```python
    import torch
    from torch import nn

    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, lengths: torch.Tensor):
            x = self.proj(x.to("cuda"))
            mask = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
            return (x * mask[..., None]).sum(1) / lengths[:, None]
    ```

    ## When it is fine
    Integers of the host, shapes, and tensors of indices, which stay on the device:
    ```python
    import torch
    from torch import nn

    class Gather(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(64, 64)

        def forward(self, x: torch.Tensor, order: torch.Tensor):
            x = self.proj(x.to("cuda"))[order]
            for i in range(x.shape[0]):
                x[i, : i + 1].mul_(2)
            return x
    ```
    So does an index with a dimension, of one number too: `x[i.view(1)]`. One such read a step, for a size that
    everything after it needs, is only `possible`: shown with `--confidence possible`.

    ## Fix safety
    There is no automatic fix: where the lengths come from only the author knows.

    ## Confirmed by
    A synchronisation at the index or size in at least half of the recorded steps or evaluation batches; or several in
    a row, in a loop of its own.

    ## References
    - PyTorch issues 105641 and 108968: indexing with a 0-dim tensor synchronises.
    - NVIDIA, "Writing sync-free code".
    """

    code, name, since = "TPL112", "tensor-as-index-or-size", "0.1.0"
    triggers = ("[", "range(")
    probes = ("host-sync",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        """Yield a finding for each hot index, bound or size that is read from the device."""
        del project
        read = [(found, value) for found in sized(file) if (value := _read(file, found)) is not None]
        names: dict[str, set[str]] = {}
        for found, _ in read:
            names.setdefault(cause(found.place), set()).add(words(found.operand))
        for found, value in read:
            together = len(names[cause(found.place)]) >= _TOGETHER
            yield self._judged(file, found, value, together)

    def _judged(self, file: SourceFile, found: Sized, value: Value, together: bool) -> Finding:
        place, hot = found.place, found.place.hot
        assert hot is not None
        drawn = is_drawn(file, place, found.operand)
        had = uploaded_on(file, place, below_reductions(found.operand)) if not found.several else None
        shown = found.several or found.again or found.window or found.alone or found.setting or found.kept
        told = shown or together or drawn or had is not None
        disputable = hot.optional or not told
        written = short(words(found.operand))
        turned = found_in_turn(file, place, found.operand) if found.several else None
        at_once = picked_together(place, found.operand) if found.several else None
        return self.found(
            place,
            message=f"`{written}` has to be {_needed(found.operand)}, so the host waits for the device "
            f"{'in each turn of a loop inside the step, ' if found.several else ''}{hot.when}",
            instead=HOST_DRAWS
            if drawn
            else _HAD.format(had)
            if had is not None
            else _KEPT
            if found.kept
            else _PICKED.format(at_once)
            if at_once is not None
            else _TEXTS
            if found.text
            else _ALONE
            if found.alone
            else _FOUND[turned]
            if turned is not None
            else _SEVERAL
            if found.several
            else _SETTING
            if found.setting
            else _AGAIN
            if found.again
            else _AT_ONCE
            if together
            else _WINDOW
            if found.window
            else _ONCE,
            value=value,
            hot=hot,
            severity=Severity.INFO if disputable or hot.kind == "eval" else None,
            confidence=Confidence.POSSIBLE if disputable else None,
            root_cause=f"{self.code} of what line {found.again} binds" if found.again else cause(place),
            leads=False,
        )

    def confirm(self, finding: Finding, run: Evidence) -> Verdict:
        """By synchronisations at the index or size."""
        return by_events(finding, run, run.at(finding, "sync"), "synchronisation", probes=self.probes)


def _read(file: SourceFile, found: Sized) -> Value | None:
    """What is read from the device to be an integer; None where nothing is, or in code that is not hot."""
    hot = found.place.hot
    if hot is None or hot.kind == "data":
        return None
    value = on_device(file, found.place, found.operand)
    return value if value is not None and value.kind == "tensor" else None


_TOGETHER = 3
"""Tensors in one statement from which on to read them one by one is a waste: a box has four bounds."""
_AT_ONCE = (
    "compute them as Python integers from the start, or read all of them in one copy: "
    "`top, bottom, left, right = torch.stack((top, bottom, left, right)).tolist()`"
)
_SEVERAL = (
    "read all of them in one copy before the loop (`lengths = lengths.tolist()`), keep them as Python integers from "
    "where the batch is made, or use a mask: `torch.arange(n, device=x.device) < lengths[:, None]`"
)
_FOUND = {
    IN_TURN: "let the turns gather what they find on the device, and read all of it in one copy after the loop, "
    "`torch.stack(found).tolist()`, for a loop of its own that takes by it; or pick on the device: "
    "`x.index_select(0, i.view(1))`",
    BEFORE: "read it once before the loop, `n = int(n)`, or pick on the device: `x.index_select(0, i.view(1))`",
}
_TEXTS = "read all of them in one copy before the loop, `x.tolist()`, and go through that"
_PICKED = "pick all of them at once, by the index as it is on the device: `{}`"
_WINDOW = (
    "gather what has a known length on the device: `x.index_select(0, i.view(1))` for `x[i : i + 1]`, "
    "`x.index_select(0, i + torch.arange(n, device=x.device))` for `x[i : i + n]`"
)
_ALONE = (
    "give the index a dimension, and it stays on the device: `x[i.view(1)].squeeze(0)` for `x[i]`, `x[i.view(1)] = y` "
    "to store; where a loop goes over the indices, index by all of them at once, or read them in one copy before it, "
    "`indices.tolist()`"
)
_HAD = "the host has it: line {} makes what it is read from of the host's own numbers; take it from those"
_SETTING = (
    "hand a Python integer over, where the caller has one, and a list takes it without a wait; or keep the list as a "
    "tensor in a buffer, where the number is only computed with"
)
_KEPT = "the constructor had it as a Python number: keep that on the module as well, beside the buffer, and use it"
_AGAIN = "read it once, `n = int(n)`, before its first use; each use as an integer reads it again"
_ONCE = "keep it as a Python integer from where the batch is made, or use a mask or `index_select`, which need none"


def _needed(operand: ast.expr) -> str:
    """What an operand has to become; `torch.linspace(0.5, h - 0.5, h)` takes more than integers."""
    floats = any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in ast.walk(operand))
    return "a Python number" if floats else "an integer"
