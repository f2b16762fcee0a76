"""Agents of reinforcement learning: what they do for each step of an environment, by the names of their methods.

    class TD3(Agent):
        def act(self, states, timestep):                 def record_transition(self, states, rewards):
            actions = self.policy(states)                    ...

The loop over the environment stands in a trainer, or in the script of whoever uses the library.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.roles.role import EACH_STEP, Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_AGENT = pattern(r"Agent$")
_STORES = pattern(r"^(?:record|store|add)_(?:transitions?|experience|episodes?)$|^remember$")
_LEARNS = frozenset({"learn", "update", "replay", "train", "train_step", "optimize", "optimize_model"})
_EACH_STEP = pattern(
    r"^_?(?:batch_)?(?:act|observe)(?:_(?:train|eval|discrete|continuous))?(?:_with_noise)?$"
    r"|^(?:actor_)?(?:select|choose|get|sample|compute|pick)_actions?$|^(?:record|store|add|process)_transitions?$|^remember$"
)
_CHOOSES = pattern(r"^(?:select|choose)_action$")
ENV_STEP = pattern(r"(?:^|[._])(?:env|envs|environment)\.step$")
"""Calls that step an environment: `envs.step`, `self.train_env.step`."""
_ROLE = Role(
    "rollout",
    "is what an agent does for each step of its environment",
    EACH_STEP,
    Confidence.LIKELY,
)


def acting_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a method of an agent that runs in each step of an environment, or None."""
    function = index.function(key)
    if function.class_index < 0 or not _EACH_STEP.search(function.name) or len(function.parameters) <= function.bound:
        return None
    cls = Thing("class", key.path, function.class_index)
    chooses = _CHOOSES.search(function.name) is not None
    return _ROLE if _is_agent(index, cls, chooses) and index.outlines[key.path].imports_from("torch") else None


def _is_agent(index: Index, cls: Thing, chooses: bool) -> bool:
    """Whether a class is called an agent, or learns, where it stores transitions or chooses actions as well."""
    own = [c for c in index.ancestry(cls) if c.kind == "class"]
    names = [index.record(c).name for c in own] + [last_part(base) for c in own for base in index.record(c).bases]
    methods = {name for c in own for name in index.record(c).methods}
    stores = chooses or any(map(_STORES.search, methods))
    return any(map(_AGENT.search, names)) or (stores and not methods.isdisjoint(_LEARNS))
