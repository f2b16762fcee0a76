"""Steps that turn out to have been none: what a run without an optimizer seemed to train, before it shows what trains.

    for x in samples:                   <- each backward pass has closed a step, as there was no optimizer
        model(x).pow(2).mean().backward()
        importance += model.weight.grad ** 2
    optimizer = SGD(model.parameters(), lr=0.1)

What was counted in them is neither training's nor evaluation's then, and the warm-up is still to come. Torch-free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.runtime.closing import Closing
from torchperf_lint.runtime.pace import Pace

if TYPE_CHECKING:
    from torchperf_lint.runtime.timeline import Timeline


def withdraw(timeline: Timeline) -> None:
    """Take back the steps that have closed so far; backward passes and batches stay counted."""
    recorder = timeline.recorder
    with recorder.lock:
        timeline.steps = timeline.left_out = timeline.stepped_on = 0
        timeline.closing = Closing()
        timeline._closed_at = None
        timeline._histogram.clear()
        timeline._undisturbed.clear()
        timeline._aside.clear()
        timeline._pace = Pace()
        timeline._sampling = timeline.sample.restart()
        timeline._shown = ()
        scopes = recorder.scopes
        given = scopes.withdraws()
        scopes.steady = timeline.warmup == 0 and not timeline.leaves_out
        recorder.deferring = False
        recorder.withdraws(given, scopes.waiting())
