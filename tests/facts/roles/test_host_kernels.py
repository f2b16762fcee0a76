"""What a custom operator does on the CPU is not hot: no device is read in it."""

from __future__ import annotations

import pytest
from snippets import hot_at

OPERATOR = """
    library = torch.library.Library("mine", "IMPL")

    {decorator}
    def frame_sum(x: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        return torch.stack([x[: counts[i]].sum() for i in range(len(counts))])  # <-

    {registered}

    class Net(nn.Module):
        def forward(self, x, counts):
            return torch.ops.mine.frame_sum(x, counts) + frame_sum(x, counts)
"""


@pytest.mark.parametrize(
    ("decorator", "registered", "hot"),
    [
        ("# one", 'library.impl("frame_sum", frame_sum, "CPU")', False),
        ('@torch.library.impl(library, "frame_sum", "CPU")', "", False),
        ('@torch.library.register_kernel("mine::frame_sum", "cpu")', "", False),
        ('@torch.library.register_kernel("mine::frame_sum", device_types="cpu")', "", False),
        ("# one", 'library.impl("frame_sum", frame_sum, "CUDA")', True),
        ("# one", 'library.impl("frame_sum", frame_sum, "CompositeExplicitAutograd")', True),
        ('@torch.library.register_kernel("mine::frame_sum", ("cpu", "cuda"))', "", True),
        ("# one", "", True),
    ],
)
def test_a_kernel_for_the_host(decorator, registered, hot):
    found = hot_at(OPERATOR.replace("{decorator}", decorator).replace("{registered}", registered))
    assert (found is not None) is hot
