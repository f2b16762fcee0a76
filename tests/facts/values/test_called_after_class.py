"""Objects called after one class of the project, of which nothing else is known."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.model import Confidence

CODE = """
class {cls}:
    def sample(self, count, device="cuda"):
        rows = np.random.randint(0, self.size, count)
        return torch.as_tensor(self.rows[rows], device="cuda"), torch.as_tensor(self.rewards[rows], device="cuda")

{more}

class Agent:
    def update(self, {name}, optimizer):
        obs, reward = {receiver}.sample(64)
        return reward
"""


def drawn(cls="ReplayBuffer", name="replay_buffer", receiver=None, more=""):
    return value_of(CODE.format(cls=cls, name=name, receiver=receiver or name, more=more), "reward")


@pytest.mark.parametrize(
    ("cls", "receiver"),
    [("ReplayBuffer", None), ("_ReplayBuffer", None), ("ReplayBuffer", "self.replay_buffer"), ("Replay_Buffer", None)],
)
def test_it_is_likely_one_of_that_class(cls, receiver):
    value = drawn(cls, receiver=receiver)
    assert (value.kind, value.device, value.confidence) == ("tensor", DEVICE, Confidence.LIKELY)


@pytest.mark.parametrize(
    "given",
    [
        {"cls": "Buffer", "name": "buffer"},
        {"cls": "ReplayBuffers"},
        {"more": "class ReplayBuffer:\n    def other(self):\n        pass\n"},
        {"receiver": "replay_buffer[0]"},
        {"receiver": "replay_buffer.inner"},
    ],
)
def test_others_are_not_known(given):
    assert drawn(**given).kind == "unknown"
