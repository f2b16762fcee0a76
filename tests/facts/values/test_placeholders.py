"""Lists of placeholders hold what is put in their place."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE, HOST

CODE = """
class Cell(nn.Module):
    def forward(self, x: torch.Tensor, n: int):
        x = x.to("cuda")
        {made}
        for t in range(n):
            {stored}
        return {joined}
"""


@pytest.mark.parametrize(
    ("made", "stored", "joined"),
    [
        ("states = [None] * n", "states[t] = x[t]", "torch.stack(states)"),
        ("states = [torch.empty(0)] * n", "states[t] = x[t]", "torch.stack(states)"),
        ("states, others = [torch.empty(0)] * n, [torch.empty(0)] * n", "states[t] = x[t]", "torch.stack(states[1:])"),
        ("states, others = [torch.tensor([])] * n, [None] * n", "states[t], _ = x.chunk(2)", "torch.stack(states)"),
        ("states, others = [None] * n, []", "states[t], others[t] = x[t], 0", "torch.stack(states)"),
    ],
)
def test_what_is_put_in_their_place_is_what_they_hold(made, stored, joined):
    value = value_of(CODE.format(made=made, stored=stored, joined=joined), joined)
    assert (value.kind, value.device) == ("tensor", DEVICE)


def test_a_part_is_what_was_put_there():
    code = CODE.format(made="kept = [None] * n", stored="kept[t] = x[t]", joined="kept[0]")
    assert value_of(code, "kept[0]").on_device


@pytest.mark.parametrize("made", ["states = [torch.zeros(3)] * n", "states = [0] * n"])
def test_what_has_elements_is_no_placeholder(made):
    value = value_of(CODE.format(made=made, stored="states[t] = x[t]", joined="states[0]"), "states[0]")
    assert value.device == HOST
