"""Blocks on a cadence that are training steps themselves: every second step trains the actor as well.

    if self.steps % self.policy_delay == 0:
        actor_loss.backward()
        self.actor_optimizer.step()
        for p, target in zip(self.actor.parameters(), self.actor_target.parameters()):
            target.data.copy_(self.tau * p.data + (1 - self.tau) * target.data)
        print(actor_loss.item())

The cadence says how often this model learns, not how often something is shown. The step may be that of a function that
the block calls, as of a GAN's generator: `if step % critic_steps == 0: trainer.train_generator(z)`.

Where gradients add up over several batches, the block only steps the optimizer, or the rest of the turn does, past
`if (i + 1) % args.update_freq != 0: continue`. That is one step of the training as its author counts them, and most
often, with a count of one, each batch is. Beside another step in each turn of the loop, such a block is a rare one.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.hotness.training_actions import TrainingActions
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, WHOLE_RUN_NAME
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_A_STEP = frozenset({"backward", "step"})
_NO_STEP = pattern(
    r"(?:^|[_\W])(?:log(?:ging)?|print|save|eval|val|test|vis|plot|display|report|summary|ckpt|checkpoint)(?:_|\b)"
    r"|^\(?epochs?\b",
    re.IGNORECASE,
)
"""What a cadence is for that is no step by the names in its test, whatever else stands there."""
_REGULARIZES = pattern(r"(?:^|[_\W])reg(?:ulari[sz]e)?(?:_|\b)")
"""A penalty now and then beside the steps, which takes one of its own: `if step % args.d_reg_every == 0:`."""


class DelayedSteps:
    """Answers for one project; they are kept."""

    def __init__(self, index: Index, training: TrainingActions) -> None:
        self.index = index
        self.training = training
        self._of_file: dict[str, frozenset[int]] = {}
        self._around: dict[str, list[int]] = {}

    def holds_one(self, path: str, region: int) -> bool:
        """Whether a block on a cadence steps an optimizer, of gradients computed there or in the turns before."""
        if path not in self._of_file:
            cadences = any(one.kind == "cadence" for one in self.index.outlines[path].regions)
            self._of_file[path] = frozenset(self._found_in(path) if cadences else ())
        return region in self._of_file[path]

    def _found_in(self, path: str) -> list[int]:
        done: dict[int, set[str]] = {}
        updating: dict[int, set[int]] = {}
        around = self._cadences(path)
        for call in self.index.outlines[path].calls:
            number = around[call.region]
            if number >= 0 and (name := last_part(call.callee)) in _A_STEP:
                done.setdefault(number, set()).add(name)
            elif number >= 0 and self._calls_a_step(path, call):
                done[number] = set(_A_STEP)
            if last_part(call.callee) == "step" and self.training.is_action(path, call):
                updating.setdefault(self._turn_around(path, call.region), set()).add(number)
        alone = {number for blocks in updating.values() if self._are_one_cadence(path, blocks) for number in blocks}
        steps = [number for number, names in done.items() if names >= _A_STEP or number in alone]
        regions = self.index.outlines[path].regions
        return [number for number in steps if not _REGULARIZES.search(regions[number].detail)]

    def _are_one_cadence(self, path: str, blocks: set[int]) -> bool:
        """Whether blocks that step the optimizers of a loop run in the same turns, which are told for nothing else."""
        if -1 in blocks:
            return False
        tests = {self.index.outlines[path].regions[number].detail for number in blocks}
        return len(tests) == 1 and not any(map(_NO_STEP.search, tests))

    def _turn_around(self, path: str, region: int) -> int:
        """The loop around the cadence around a region, or around the region itself; its function where no loop is."""
        regions = self.index.outlines[path].regions
        cadence = self._cadences(path)[region]
        region = cadence if cadence >= 0 else region
        while regions[region].kind not in ("loop", "function", "class") and regions[region].parent >= 0:
            region = regions[region].parent
        return region

    def _cadences(self, path: str) -> list[int]:
        """For each region, the innermost block on a cadence around it, inside its function; -1 where there is none."""
        if path not in self._around:
            around: list[int] = []
            for number, region in enumerate(self.index.outlines[path].regions):
                ends = region.kind in ("function", "class") or region.parent < 0
                around.append(number if region.kind == "cadence" else -1 if ends else around[region.parent])
            self._around[path] = around
        return self._around[path]

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
