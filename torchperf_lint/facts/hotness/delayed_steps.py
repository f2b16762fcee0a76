"""Blocks on a cadence that are training steps themselves: every second step trains the actor as well.

    if self.steps % self.policy_delay == 0:
        actor_loss.backward()
        self.actor_optimizer.step()
        for p, target in zip(self.actor.parameters(), self.actor_target.parameters()):
            target.data.copy_(self.tau * p.data + (1 - self.tau) * target.data)
        print(actor_loss.item())

The cadence says how often this model learns, not how often something is shown. A block that only steps an optimizer is
another matter: gradients add up until then, and what stands there runs once for several batches. The step may be that
of a function that the block calls, as of a GAN's generator: `if step % critic_steps == 0: trainer.train_generator(z)`.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.hotness.training_actions import TrainingActions
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, WHOLE_RUN_NAME
from torchperf_lint.facts.syntax.chains import last_part

_A_STEP = frozenset({"backward", "step"})


class DelayedSteps:
    """Answers for one project; they are kept."""

    def __init__(self, index: Index, training: TrainingActions) -> None:
        self.index = index
        self.training = training
        self._of_file: dict[str, frozenset[int]] = {}

    def holds_one(self, path: str, region: int) -> bool:
        """Whether a block on a cadence computes gradients and steps an optimizer, in a loop of its own or in none."""
        if path not in self._of_file:
            self._of_file[path] = frozenset(self._found_in(path))
        return region in self._of_file[path]

    def _found_in(self, path: str) -> list[int]:
        done: dict[int, set[str]] = {}
        for call in self.index.outlines[path].calls:
            number = self._cadence_around(path, call.region)
            if number >= 0 and (name := last_part(call.callee)) in _A_STEP:
                done.setdefault(number, set()).add(name)
            elif number >= 0 and self._calls_a_step(path, call):
                done[number] = set(_A_STEP)
        return [number for number, names in done.items() if names >= _A_STEP]

    def _cadence_around(self, path: str, region: int) -> int:
        """The innermost block on a cadence around a region, inside its function; -1 where there is none."""
        regions = self.index.outlines[path].regions
        while region >= 0 and regions[region].kind not in ("function", "class"):
            if regions[region].kind == "cadence":
                return region
            region = regions[region].parent
        return -1

    def _calls_a_step(self, path: str, call: Call) -> bool:
        """Whether a call runs a function that takes one step of training, in no loop of its own."""
        name = last_part(call.callee)
        if NOT_TRAINING_NAME.search(name) or WHOLE_RUN_NAME.search(name):
            return False
        targets = self.training.types.targets(path, call.function, call.callee)
        return any(self._is_a_step(target) for target in targets)

    def _is_a_step(self, key: FunctionKey) -> bool:
        region = self.index.function(key).region
        names = {last_part(call.callee) for call in self.training.calls.directly_in(key.path, region)}
        return names >= _A_STEP and self.training.trains(key, 1) is not None
