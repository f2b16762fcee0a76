"""Values through functions, models and containers that are not the project's own."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

HEAD = """
import functools
import lpips, timm, torchmetrics
import torchvision.models as models
from collections import namedtuple
from einops import einsum, rearrange
from functools import partial
from typing import NamedTuple
from torch.distributions import Normal, kl_divergence
from torch.utils.checkpoint import checkpoint
from torch_scatter import scatter
from torchmetrics.functional import accuracy
from mmdet.core import anchor_inside_flags, bbox_overlaps, multi_apply, reduce_mean

Pair = namedtuple("Pair", ["a", "b"])

class Out(NamedTuple):
    x: torch.Tensor
    n: int

class Rows:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        return self.x[i]

def total(x):
    return x.sum()

def f(text, count):
    x = torch.zeros(3).cuda()
    net = timm.create_model("resnet18").cuda()
    moved = something().to("cuda")
    ddp = nn.parallel.DistributedDataParallel(net)
    lp = lpips.LPIPS(net="alex").cuda()
    rows = Rows(x)
    double = lambda t: t.sum() * 2
    summed = partial(total, x)
    first, second = map(lambda t: t.sum(), (x, x))
    kept = list(map(total, (x, x)))
    pair = Pair(x, 3)
    out = Out(x, 3)
    left, number = out
    table = {**{"a": x.sum()}, "b": x.mean()}
"""


def found(expression):
    return value_of(HEAD + f"    return {expression}\n", expression)


@pytest.mark.parametrize(
    "expression",
    [
        "net(x)",
        "net.forward_features(x)",
        "bbox_overlaps(x, x)",
        "moved(x)",
        "moved(x).mean()",
        "ddp(x)",
        "lp(x, x)",
        "clip.encode_image(x)",
        "torch.jit.script(net)(x)",
        "accuracy(x, x)",
        "scatter(x, x, dim=0)",
        "einsum(x, x, 'a b, b c -> a c')",
        "checkpoint(net, x)",
        "rows[0]",
        "double(x)",
        "first",
        "pair.a",
        "pair[0]",
        "table['a']",
        "getattr(torch, 'sum')(x)",
        "torch.max(x, x)",
        "x.max(x)",
    ],
)
def test_what_comes_of_a_tensor_on_the_device(expression):
    value = found(expression)
    assert (value.kind, value.device) == ("tensor", DEVICE)


@pytest.mark.parametrize(
    "expression",
    [
        "kl_divergence(Normal(x, x), Normal(x, x))",
        "torch.autograd.grad(x.sum(), [x])[0]",
        "torch.Tensor.sum(x)",
        "out.x",
        "out[0]",
        "left",
    ],
)
def test_what_is_a_tensor_somewhere(expression):
    assert found(expression).kind == "tensor"


@pytest.mark.parametrize(
    "expression",
    ["clip.show_image(x)", "net.load_weights(x)", "clip.encode_image(text)", "something()(text)"],
)
def test_what_is_not_known(expression):
    assert found(expression).kind == "unknown"


@pytest.mark.parametrize("expression", ["pair.b", "pair[1]"])
def test_numbers_beside_tensors(expression):
    assert found(expression).kind == "plain"


def test_the_extremes_along_an_axis_are_two_tensors():
    assert found("x.max(0)").kind == "sequence"
    assert found("torch.min(x, 1)").kind == "sequence"


@pytest.mark.parametrize(("default", "device"), [("", ANYWHERE), (" = None", ANYWHERE)])
def test_what_the_pass_of_a_librarys_module_gives(default, device):
    code = f"""
        class Own(nn.Linear):
            def forward(self, x{default}):
                return super().forward(x)
    """
    value = value_of(code, "super().forward(x)")
    assert (value.kind, value.device) == ("tensor", device)


def test_a_tensor_on_the_host_stays_there():
    code = "import lpips\ndef f():\n    x = torch.zeros(3)\n    y = torch.ones(3)\n    return torch.max(x, y)"
    assert value_of(code, "torch.max(x, y)").device == HOST


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("reduce_mean(count)", "tensor"),
        ("anchor_inside_flags(count, count, (1, 1))", "tensor"),
        ("bbox_overlaps(count, count)", "object"),
        ("multi_apply(total, x)", "object"),
    ],
)
def test_functions_of_a_detection_library(expression, kind):
    assert found(expression).kind == kind


@pytest.mark.parametrize(
    ("expression", "device"),
    [
        ("torch.clamp(torch.randint(0, 9, (count,)) - 3, 0, width)", HOST),
        ("torch.clip(torch.zeros(3), width, text.size)", HOST),
        ("torch.clamp(x, 0, width)", DEVICE),
        ("torch.clamp(width, 0, 3)", ANYWHERE),
        ("torch.maximum(torch.zeros(3), width)", ANYWHERE),
    ],
)
def test_bounds_leave_a_tensor_where_it_is(expression, device):
    assert found(expression).device == device


def test_a_list_of_tensors_rearranged_is_one_tensor():
    value = found('rearrange([x, x], "l n -> n l")')
    assert (value.kind, value.device) == ("tensor", DEVICE)
