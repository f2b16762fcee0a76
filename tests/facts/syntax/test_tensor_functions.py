"""Functions of libraries that give tensors where they are given one, and those that only measure."""

from __future__ import annotations

import pytest
from snippets import value_of

PICTURE = "import torch\nimport torchvision.transforms.functional as F\npicture = torch.rand(3, 8, 8, device='cuda')\n"


@pytest.mark.parametrize("function", ["hflip", "center_crop", "gaussian_blur"])
def test_what_is_computed_of_a_picture_is_where_it_is(function):
    value = value_of(PICTURE + f"x = F.{function}(picture, 3)\n", f"F.{function}(picture, 3)")
    assert (value.kind, value.device) == ("tensor", "device")


@pytest.mark.parametrize("function", ["get_dimensions", "get_image_size", "get_image_num_channels", "to_pil_image"])
def test_sizes_and_pictures_of_the_host_are_no_tensors(function):
    assert value_of(PICTURE + f"x = F.{function}(picture)\n", f"F.{function}(picture)").kind != "tensor"


@pytest.mark.parametrize(
    ("name", "known"), [("nanmax", True), ("selective_log_softmax", True), ("disable_dropout", False)]
)
def test_what_trl_computes_its_numbers_with(name, known):
    code = f"from trl.trainer.utils import {name}\n\ndef told(values):\n    return {name}(values)\n"
    assert (value_of(code, f"{name}(values)").kind == "tensor") is known


RENDERED = "import nvdiffrast.torch as dr\n\ndef render(context, v, f, uv, texture):\n    {made}\n    return x\n"


@pytest.mark.parametrize(
    ("made", "kind", "device"),
    [
        ("x = dr.texture(texture, uv)", "tensor", "device"),
        ("x = dr.antialias(texture, uv, v, f)", "tensor", "device"),
        ("x, rest = dr.rasterize(context, v, f, (8, 8))", "tensor", "device"),
        ("x = dr.interpolate(uv, texture, f)[0]", "tensor", "device"),
        ("x = dr.RasterizeCudaContext()", "object", "host"),
    ],
)
def test_what_is_rendered_is_on_the_device(made, kind, device):
    value = value_of(RENDERED.format(made=made), "x")
    assert (value.kind, value.device) == (kind, device)
