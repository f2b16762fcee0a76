"""What is computed beside a copy to the host is on the host."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

CODE = """
def f(seen, valid: torch.Tensor, net):
    far = valid.cuda()
    out = {expression}
    return out
"""


def test_what_was_copied_in_a_line_above():
    code = """
        def f(data, gamma: torch.Tensor):
            reward = data.get("reward")
            reward = reward.to("cpu")
            aim = reward + gamma
            return aim
        """
    assert value_of(code, "aim").device == HOST
    made = code.replace('data.get("reward")', "torch.ones(3)").replace('reward.to("cpu")', "reward + 1")
    assert value_of(made, "aim").device == ANYWHERE
    asked = code.replace('reward = reward.to("cpu")', 'if data.on_host:\n                reward = reward.to("cpu")')
    assert value_of(asked, "aim").device == ANYWHERE


@pytest.mark.parametrize(
    ("expression", "device"),
    [
        ("torch.logical_or(seen, ~valid.cpu())", HOST),
        ("seen.float() * valid.to('cpu')", HOST),
        ("seen.float() == valid.cpu()", HOST),
        ("torch.logical_or(seen, ~valid)", ANYWHERE),
        ("seen.float() * valid.to(net.device)", DEVICE),
        ("far * valid.cpu()", DEVICE),
    ],
)
def test_where_the_result_is(expression, device):
    value = value_of(CODE.format(expression=expression), "out")
    assert (value.kind, value.device) == ("tensor", device)
