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
        ("valid * torch.ones(len(valid))", HOST),
        ("~torch.zeros((4, 4), dtype=torch.bool) & valid", HOST),
        ("valid > torch.arange(4)", HOST),
        ("valid * torch.ones(())", ANYWHERE),
        ("valid * torch.ones(4, device=net.device)", DEVICE),
        ("valid * torch.tensor(2.0)", ANYWHERE),
        ("far * torch.ones(4)", DEVICE),
    ],
)
def test_where_the_result_is(expression, device):
    value = value_of(CODE.format(expression=expression), "out")
    assert (value.kind, value.device) == ("tensor", device)


def test_what_was_filled_before_a_loop_and_is_changed_in_place():
    code = """
        def f(x: torch.Tensor, y: torch.Tensor):
            pending = torch.ones(len(x), dtype=torch.bool)
            for _ in range(25):
                better = pending & (x < y)
                pending &= ~better
            return better
        """
    assert value_of(code, "better").device == HOST
    moved = code.replace("for _ in", "if x.is_cuda:\n                pending = pending.cuda()\n            for _ in")
    assert value_of(moved, "better").device != HOST
