"""Loops that gather experience, then learn from all of it: what stands between the two runs once a rollout.

    for update in range(updates):
        for _ in range(horizon):
            observation, reward, *_ = envs.step(act(observation))
        agent.learn(buffer)

The turns of such a loop take as long as the environment does; steps are counted in the loops inside. So they are where
a turn learns from what it has for several epochs, in itself or in what it calls:

    for data in dataloader:
        learner.learn(data)         # for _ in range(args.ppo_epochs): for start in range(0, len(data), n): ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.hotness.training_actions import TrainingActions
from torchperf_lint.facts.outlines.records import Call, Region
from torchperf_lint.facts.roles.agents import ENV_STEP
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_SAMPLES = pattern(r"^_?generate_(?:\w+_)?samples$")
"""What a loss may be computed of at once: where the same turn goes back through that, it is a step."""
_GATHERS = pattern(
    r"^_?(?:perform_|do_|run_)?roll_?outs?$|^_?(?:collect|gather|generate|obtain|run|play)_"
    r"(?:\w+_)?(?:roll_?outs?|trajector(?:y|ies)|episodes?|experiences?|transitions|samples)$"
)


_EPOCHS = pattern(r"^(?:async )?for (?:\w*epochs? in |.* in .*\brange\(.*epochs?\b)", re.IGNORECASE)
"""Loops over epochs: `for _ in range(args.ppo_epochs)`."""


def learns_in_epochs(training: TrainingActions, path: str, region: int) -> bool:
    """Whether each turn of a loop goes through its data for several epochs, with steps of their own."""
    regions = training.index.outlines[path].regions
    inside = (number for number in range(region + 1, len(regions)) if _holds(regions, region, number))
    if any(_is_of_epochs(training, path, number) for number in inside):
        return True
    for call in training.calls.directly_in(path, region):
        for key in training.types.targets(path, call.function, call.callee):
            if any(_is_of_epochs(training, key.path, number) for number in _loops_of(training.index, key)):
                return True
    return False


def _is_of_epochs(training: TrainingActions, path: str, number: int) -> bool:
    regions = training.index.outlines[path].regions
    if regions[number].kind != "loop" or not _EPOCHS.search(regions[number].detail):
        return False
    steps = (n for n in range(number, len(regions)) if regions[n].kind == "loop" and _holds(regions, number, n))
    return any(training.of_loop(path, n) for n in steps)


def _loops_of(index: Index, key: FunctionKey) -> Iterator[int]:
    for number, region in enumerate(index.outlines[key.path].regions):
        if region.kind == "loop" and region.function == key.index:
            yield number


def _holds(regions: Sequence[Region], outer: int, inside: int) -> bool:
    while inside > outer:
        inside = regions[inside].parent
    return inside == outer


def gathers_first(index: Index, calls: DirectCalls, path: str, region: int) -> bool:
    """Whether the loop that a region is plays an environment in a loop inside, or calls what does by its name."""
    regions = index.outlines[path].regions
    direct = calls.directly_in(path, region)
    trains = any(last_part(call.callee) == "backward" for call in direct)
    gathering = (call for call in direct if _GATHERS.search(last_part(call.callee)))
    if trains:
        kept = {(bound.line, bound.value) for bound in index.outlines[path].bindings}
        gathering = (call for call in gathering if not _is_of_the_step(call, kept))
    if any(not _is_rare(regions, call.region, region) for call in gathering):
        return True
    for call in index.outlines[path].calls:
        if call.function != regions[region].function or not ENV_STEP.search(call.callee):
            continue
        inside, inner = call.region, False
        while inside >= 0 and inside != region:
            inner = inner or regions[inside].kind == "loop"
            inside = regions[inside].parent
        if inside == region and inner:
            return True
    return False


def _is_of_the_step(call: Call, kept: set[tuple[int, str]]) -> bool:
    """`images = self.generate_samples(n)`, of which the same turn computes its loss."""
    return _SAMPLES.search(last_part(call.callee)) is not None and (call.line, f"{call.callee}()") in kept


def _is_rare(regions: Sequence[Region], inside: int, loop: int) -> bool:
    """Whether a region within a loop runs in few of its turns: `if step % n == 0: generate_samples(model)`."""
    while inside not in (loop, -1):
        if regions[inside].kind == "cadence":
            return True
        inside = regions[inside].parent
    return False
