"""TPL911."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, often, percent
from torchperf_lint.bounds import DATA, DEFAULT, Bound, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event
from torchperf_lint.rule import RunRule
from torchperf_lint.window import Kernels, kernels_of

_WAYS = {"h2d": "to the device", "d2h": "to the host"}


class TransferBound(RunRule):
    """The device copies from or to the host while it could compute.

    ## What it does
    Says that a share of the step worth naming went into copies between host and device during which no kernel ran,
    how many of them went through memory that is not pinned, and which lines copy longest. Needs a profiler's window
    (`--window`); a record without one has none, and the rule is silent on it.

    ## Why it is slow
    Kernels that need a batch start when its copy has ended. A copy from pageable memory goes through a buffer of the
    driver's, piece by piece, while the host waits; and where each copy is queued behind the step before, none of it is
    hidden behind the kernels.

    ## Example
    ```python
    loader = DataLoader(dataset, batch_size=256, num_workers=4)
    for images, labels in loader:
        images, labels = images.to("cuda"), labels.to("cuda")
        criterion(model(images), labels).backward()
    ```

    ## Use instead
    ```python
    loader = DataLoader(dataset, batch_size=256, num_workers=4, pin_memory=True)
    for images, labels in loader:
        images, labels = images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
        criterion(model(images), labels).backward()
    ```
    To hide the copy as well, queue that of the next batch on a stream of its own while this one is computed, move
    smaller types (uint8 images, converted on the device), or keep what is used again on the device.

    ## When it is fine
    Where the kernels of a step are few by nature: then there is nothing to hide a copy behind.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The device's own times of copies and kernels in a few steps under a profiler: an upper bound of what hiding the
    copies saves.

    ## References
    - PyTorch tutorial, "A guide on good usage of non_blocking and pin_memory() in PyTorch".
    - NVIDIA, "How to Overlap Data Transfers in CUDA C/C++".
    """

    code, name, since = "TPL911", "transfer-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where copies keep kernels from running for long enough."""
        loop, kernels = loop_of(run), kernels_of(run.state)
        if loop is None or run.device is None or kernels is None or kernels.copying is None:
            return
        if kernels.copying < DEFAULT.named or loop.share(DATA) >= kernels.copying:
            return
        longest = _longest(run)
        yield Bound(
            self.code,
            self.name,
            f"the device copies from or to the host {percent(kernels.copying)} of the time while no kernel runs",
            f"in {kernels.steps} profiled steps (upper bound of what hiding the copies saves)"
            f"{_pageable(kernels)}{_lines(longest, kernels.steps)}",
            f"pin the loader's memory, copy with `non_blocking=True`, and queue the next batch's copy early"
            f"{_first(longest)}",
            kernels.copying,
        )


def _pageable(kernels: Kernels) -> str:
    if not kernels.pageable or kernels.pageable_ms is None:
        return ""
    each = ms(kernels.pageable_ms / kernels.steps)
    return f"; {often(kernels.pageable / kernels.steps)} copies a step, {each}, use memory that is not pinned"


def _longest(run: Evidence) -> list[Event]:
    """The lines whose copies take longest on the device; at most three."""
    copies = [e for e in run.events if e.kind == "copy" and e.what in _WAYS and e.copy_ms]
    return sorted(copies, key=lambda e: (-(e.copy_ms or 0.0), e.path, e.line))[:3]


def _lines(longest: list[Event], steps: int) -> str:
    parts = [f"{line(e.path, e.line)} ({_WAYS[e.what]}) {ms((e.copy_ms or 0.0) / steps)}" for e in longest]
    return f"; longest a step: {', '.join(parts)}" if parts else "; which lines copy longest was not seen"


def _first(longest: list[Event]) -> str:
    return f"; begin with {line(longest[0].path, longest[0].line)}" if longest else ""
