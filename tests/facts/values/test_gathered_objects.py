"""What collectives of Python objects put into a list is not what it began with."""

from __future__ import annotations

import pytest
from snippets import value_of


@pytest.mark.parametrize(
    ("filled", "kind"),
    [
        ("torch.distributed.all_gather_object(sizes, [3])", "unknown"),
        ("torch.distributed.gather_object([3], sizes)", "unknown"),
        ("torch.distributed.all_gather(sizes, x)", "tensor"),
        ("torch.distributed.all_gather_object(others, sizes)", "tensor"),
        ("pass", "tensor"),
    ],
)
def test_a_list_that_a_collective_of_objects_fills(filled, kind):
    code = f"""
        def step(x, others, n):
            sizes = [torch.empty(1, device="cuda") for _ in range(n)]
            {filled}
            for one in sizes:
                print(one)
    """
    assert value_of(code, "one").kind == kind
