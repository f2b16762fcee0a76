"""What `nn.DataParallel` and its like wrap."""

from __future__ import annotations

import pytest
from snippets import value_of

PROGRAM = """
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.alpha = nn.Parameter(torch.ones(1))
            self.steps = 3

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = Encoder()

        def forward(self, x):
            return x * self.encoder.alpha

    def main(net):
        model = {made}
        print({read})
"""


@pytest.mark.parametrize(
    ("made", "read", "kind"),
    [
        ("nn.DataParallel(Net().cuda())", "model.module.encoder.alpha.data", "tensor"),
        ("nn.parallel.DistributedDataParallel(module=Net(), device_ids=[0])", "model.module.encoder.alpha", "tensor"),
        ("nn.DataParallel(Net().cuda())", "model.module.encoder.steps", "plain"),
        ("nn.DataParallel(Net().cuda())", "model.module", "module"),
        ("nn.DataParallel(Net().cuda())", "model.encoder", "unknown"),
        ("nn.DataParallel(net)", "model.module.encoder.alpha", "unknown"),
        ("nn.Sequential(Net())", "model.module.encoder.alpha", "unknown"),
    ],
)
def test_the_model_in_a_wrapper_is_the_one_that_it_was_given(made, read, kind):
    assert value_of(PROGRAM.format(made=made, read=read), read).kind == kind
