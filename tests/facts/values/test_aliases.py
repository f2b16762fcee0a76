"""Functions under other names: right, or unknown, never wrong."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

IN_FUNCTION = [
    ("f = torch.zeros", "f(3)", "tensor", HOST),
    ("f = torch.zeros", "f(3, device='cuda')", "tensor", DEVICE),
    ("f = torch.zeros; f = torch.nn.functional.relu", "f(gpu)", "tensor", ANYWHERE),
    ("f = torch.zeros if flag else torch.ones", "f(3)", "tensor", HOST),
    ("f = torch.zeros if flag else mine", "f(3)", None, None),
    ("T = torch.cuda.FloatTensor if flag else torch.FloatTensor", "T(3).fill_(1.0)", "tensor", ANYWHERE),
    ("T = torch.cuda.FloatTensor", "T(3).fill_(1.0)", "tensor", DEVICE),
    ("T = torch.FloatTensor", "T(3)", "tensor", HOST),
    ("make = partial(torch.zeros, device='cuda')", "make(3)", "tensor", DEVICE),
    ("make = partial(torch.zeros, device='cuda')", "make(3, device='cpu')", "tensor", HOST),
    ("make = partial(torch.zeros, device='cpu')", "make(3)", "tensor", HOST),
    ("make = functools.partial(torch.zeros, dtype=torch.long)", "make(3)", "tensor", HOST),
    ("make = partial(torch.full, (2, 3))", "make(0.0)", "tensor", HOST),
    ("make = partial(mine, 3)", "make()", None, None),
    ("make = lambda n: torch.zeros(n, device='cuda')", "make(3)", "tensor", DEVICE),
    ("make = lambda n: mine(n)", "make(3)", None, None),
    ("make = {'a': torch.zeros}", "make['a'](3)", "unknown", None),
    ("make = getattr(torch, flag)", "make(3)", "unknown", None),
    ("loader = partial(DataLoader, pin_memory=True)", "loader([1])", "loader", HOST),
]

TYPES = [
    ("host.type(torch.cuda.FloatTensor)", DEVICE),
    ("host.type('torch.cuda.FloatTensor')", DEVICE),
    ("gpu.type(torch.FloatTensor)", HOST),
    ("gpu.type('torch.LongTensor')", HOST),
    ("gpu.type(torch.float16)", DEVICE),
    ("host.type(torch.float16)", HOST),
    ("gpu.type(host.dtype)", DEVICE),
    ("host.type_as(gpu)", DEVICE),
    ("gpu.type_as(host)", HOST),
    ("host.type(gpu.type())", DEVICE),
    ("host.type_as(given)", ANYWHERE),
    ("host.type(T)", ANYWHERE),
    ("gpu.new_zeros(3)", DEVICE),
    ("gpu.new_zeros(3, device='cpu')", HOST),
    ("host.new_zeros(3, device='cuda')", DEVICE),
]

CODE = """
import functools
from functools import partial

from there import mine


def work(flag, given):
    host = torch.zeros(3)
    gpu = host.cuda()
    T = torch.cuda.FloatTensor if flag else torch.FloatTensor
    {}
    return {}
"""


@pytest.mark.parametrize(("line", "call", "kind", "device"), IN_FUNCTION)
def test_names_for_functions(line, call, kind, device):
    found = value_of(CODE.format(line, call), call)
    assert found.kind == kind if kind else found.kind in ("unknown", "object")
    assert device is None or found.device == device
    at_top = f"import functools\nfrom functools import partial\nfrom there import mine, flag\n{line}\n\n\n"
    at_top += f"def g(gpu):\n    gpu = gpu.cuda()\n    return {call}\n"
    found = value_of(at_top, call)
    assert found.kind == kind if kind else found.kind in ("unknown", "object")
    assert device is None or found.device == device


@pytest.mark.parametrize(("expression", "device"), TYPES)
def test_types_name_their_device(expression, device):
    assert value_of(CODE.format("pass", expression), expression).device == device


def test_the_name_of_a_type_is_no_tensor():
    assert value_of(CODE.format("pass", "gpu.type()"), "gpu.type()").kind == "plain"


def test_two_branches_that_bind_other_types():
    code = """
        def f(flag, n):
            if flag:
                T = torch.cuda.FloatTensor
            else:
                T = torch.FloatTensor
            return T(n)
        """
    assert value_of(code, "T(n)").device == ANYWHERE


def test_attributes_for_functions():
    code = """
        class Trainer:
            def __init__(self, cuda):
                self.Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor
                self.make = torch.zeros

            def step(self):
                return self.Tensor(3), self.make(3), self.other(3)
        """
    assert value_of(code, "self.Tensor(3)").device == ANYWHERE
    assert value_of(code, "self.make(3)").device == HOST
    assert value_of(code, "self.other(3)").kind == "unknown"


def test_a_partial_of_a_loader_does_not_say_where_its_options_stand():
    code = """
        from functools import partial

        make = partial(DataLoader, pin_memory=True)
        loader = make([1])
        print(loader)
        """
    found = value_of(code, "loader")
    assert found.kind == "loader"
    assert found.origins == ()


@pytest.mark.parametrize(
    ("call", "kind"), [("self.loss(x, x)", "tensor"), ("fn(x)", "tensor"), ("other(x)", "unknown")]
)
def test_parameters_with_a_function_for_a_default(call, kind):
    code = f"""
        class Trainer:
            def __init__(self, loss=torch.nn.functional.l1_loss):
                self.loss = loss

            def step(self, x: torch.Tensor, fn=torch.norm, other=None):
                return {call}
        """
    assert value_of(code, call).kind == kind
