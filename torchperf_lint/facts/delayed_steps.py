"""Blocks on a cadence that are training steps themselves: every second step trains the actor as well.

    if self.steps % self.policy_delay == 0:
        actor_loss.backward()
        self.actor_optimizer.step()
        for p, target in zip(self.actor.parameters(), self.actor_target.parameters()):
            target.data.copy_(self.tau * p.data + (1 - self.tau) * target.data)

The cadence says how often this model learns, not how often something is shown.
"""

from __future__ import annotations

from dataclasses import replace

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.hot import Hot
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.source import SourceFile

_THROUGH = frozenset(("loop", "grad-off"))


def with_a_step(file: SourceFile, position: Position) -> Hot | None:
    """Why a place is hot that a cadence decides over, where the same block steps an optimizer; None for all others."""
    regions, number = file.outline.regions, file.project.hotness.innermost(file.path, position)
    while number >= 0 and regions[number].kind in _THROUGH:
        number = regions[number].parent
    if number < 0 or regions[number].kind != "cadence":
        return None
    called = {last_part(call.callee) for call in file.outline.calls if call.region == number}
    if not {"backward", "step"} <= called:
        return None
    hot = file.project.hotness.of_region(file.path, regions[number].parent)
    if hot is None or hot.kind != "step":
        return None
    return replace(hot, when=f"{hot.when} with `{regions[number].detail}`")
