"""What methods and modules of nobody knows what give, by names that nothing else has."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
class Text(nn.Module):
    def __init__(self, clip):
        super().__init__()
        self.ln_final, self.post_layernorm, self.bn1 = clip.ln_final, clip.post_layernorm, clip.bn
        self.links, self.actor = clip.links, clip.actor

    def forward(self, x: torch.Tensor, dist):
        drawn = dist.rsample()
        return {used}
"""


@pytest.mark.parametrize(
    "used",
    [
        "self.ln_final(x)",
        "self.post_layernorm(x).type(x.dtype)",
        "self.bn1(x)",
        "dist.rsample()",
        "dist.log_prob(drawn)",
    ],
)
def test_a_norm_and_a_distribution_give_tensors(used):
    assert value_of(CODE.format(used=used), used).kind == "tensor"


@pytest.mark.parametrize(
    "used", ["self.links(x)", "dist.log_prob(0.5)", "dist.log_prob(np.ones(3))", "dist.resample()"]
)
def test_others_are_not_known(used):
    assert value_of(CODE.format(used=used), used).kind != "tensor"
