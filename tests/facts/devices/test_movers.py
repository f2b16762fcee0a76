"""Functions that move what they are given to a device."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.devices.movers import copied_beside, moved_by_function, movers_called

MOVER = """
    from accelerate.utils import send_to_device

    def to_device(x, like=None, device=None):
        x = x.to(device if device is not None else like.device)
        return x

    def to_gpu(x):
        return x.cuda()

    def async_copy_to(x, place):
        return x.cuda(place, non_blocking=True)

    def settings_to(x, place):
        return x, place

    def make_cuda(*parts, weight=None):
        return parts, weight.cuda()

    def move_to(x, place):
        return x + place

    class Batches:
        def to_device(self, batch, device):
            return batch.to(device)

        def f(self, x: torch.Tensor, device):
            return {}
"""


def moved(call):
    site = site_of(MOVER.format(call), call)
    found = moved_by_function(site.file.project.values, site.call, site.frame)
    return (ast.unparse(found.data), found.device) if found is not None else None


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("to_device(torch.arange(3), x)", ("torch.arange(3)", "x.device")),
        ("to_device(torch.arange(3), device=x.device)", ("torch.arange(3)", "x.device")),
        ("self.to_device(torch.ones(3), device)", ("torch.ones(3)", "device")),
        ("async_copy_to(torch.ones(3), device)", ("torch.ones(3)", "device")),
        ("settings_to(torch.ones(3), device)", None),
        ("to_gpu(torch.ones(3))", ("torch.ones(3)", '"cuda"')),
        ("send_to_device(torch.ones(3), device)", ("torch.ones(3)", "device")),
        ("to_device(torch.arange(3), 'cpu')", None),
        ("to_device(torch.arange(3), x.cpu())", None),
        ("to_device(*pair)", None),
        ("make_cuda(torch.ones(3))", None),
        ("move_to(torch.ones(3), x)", None),
        ("unknown.to_device(torch.ones(3), device)", None),
    ],
)
def test_what_a_function_moves(call, expected):
    assert moved(call) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("x.new_tensor(torch.rand(3))", ("torch.rand(3)", "x.device")),
        ("x.new_tensor(torch.rand(3), dtype=x.dtype)", ("torch.rand(3)", "x.device")),
        ("x.new_tensor(torch.rand(3), device='cpu')", None),
        ("x.cpu().new_tensor(torch.rand(3))", None),
        ("thing.new_tensor()", None),
    ],
)
def test_what_a_tensor_copies_beside_itself(call, expected):
    site = site_of(MOVER.format(call), call)
    found = copied_beside(site.file.project.values, site.call, site.frame)
    assert ((ast.unparse(found.data), found.device) if found is not None else None) == expected


def test_functions_that_are_called_as_such_are():
    file = site_of(MOVER.format("async_copy_to(x, device)"), "async_copy_to(x, device)").file
    assert movers_called(file.called_names) == ("async_copy_to",)
