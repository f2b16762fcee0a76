"""Blocks on a cadence that are training steps themselves: every second step trains the actor as well.

    if self.steps % self.policy_delay == 0:
        actor_loss.backward()
        self.actor_optimizer.step()
        for p, target in zip(self.actor.parameters(), self.actor_target.parameters()):
            target.data.copy_(self.tau * p.data + (1 - self.tau) * target.data)
        print(actor_loss.item())

The cadence says how often this model learns, not how often something is shown. A block that only steps an optimizer is
another matter: gradients add up until then, and what stands there runs once for several batches.
"""

from __future__ import annotations

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index import Index

_A_STEP = frozenset({"backward", "step"})


class DelayedSteps:
    """Answers for one project; they are kept."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._of_file: dict[str, frozenset[int]] = {}

    def holds_one(self, path: str, region: int) -> bool:
        """Whether a block on a cadence computes gradients and steps an optimizer, in a loop of its own or in none."""
        if path not in self._of_file:
            self._of_file[path] = frozenset(self._found_in(path))
        return region in self._of_file[path]

    def _found_in(self, path: str) -> list[int]:
        outline = self.index.outlines[path]
        called: dict[int, set[str]] = {}
        for call in outline.calls:
            name = last_part(call.callee)
            number = call.region if name in _A_STEP else -1
            while number >= 0 and outline.regions[number].kind not in ("function", "class"):
                called.setdefault(number, set()).add(name)
                number = -1 if outline.regions[number].kind == "cadence" else outline.regions[number].parent
        return [n for n, names in called.items() if outline.regions[n].kind == "cadence" and names >= _A_STEP]
