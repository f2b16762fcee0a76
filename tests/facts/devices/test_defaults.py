"""Where factories without `device=` make their tensors."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import value_of

from torchperf_lint.facts.devices.defaults import device_by_default
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, Frame

INSIDE = {
    "nothing": ("if steps:", HOST),
    "torch.device": ("with torch.device(device):", DEVICE),
    "a literal": ('with torch.device("cuda"):', DEVICE),
    "a literal with an index": ('with torch.device("cuda", 0):', DEVICE),
    "the host": ('with torch.device("cpu"):', HOST),
    "meta": ('with torch.device("meta"):', ANYWHERE),
    "a device by its name": ("with where:", DEVICE),
    "one of two": ('with torch.no_grad(), torch.device("cuda"):', DEVICE),
    "the inner one of two": ('with torch.device("cuda"), torch.device("cpu"):', HOST),
    "the current device": ("with torch.cuda.device(0):", HOST),
    "a lock": ("with lock:", HOST),
    "another context": ("with torch.autocast(device):", HOST),
}


@pytest.mark.parametrize(("head", "device"), INSIDE.values(), ids=INSIDE)
def test_a_block_decides(head, device):
    code = f"""
def f(steps, device, lock):
    where = torch.device("cuda")
    {head}
        x = torch.zeros(3)
    y = x
    z = torch.ones(3)
"""
    assert value_of(code, "torch.zeros(3)").device == device
    assert value_of(code, "x").device == device
    assert value_of(code, "torch.ones(3)").device == HOST


@pytest.mark.parametrize(
    ("line", "device"),
    [
        ("torch.set_default_device('cuda')", ANYWHERE),
        ("torch.set_default_tensor_type(torch.cuda.FloatTensor)", ANYWHERE),
        ("torch.set_default_dtype(torch.float64)", HOST),
    ],
)
def test_a_file_decides(line, device):
    code = f"{line}\n\n\ndef f():\n    return torch.zeros(3)\n"
    assert value_of(code, "torch.zeros(3)").device == device
    inside = f"def main():\n{indent(dedent(line), '    ')}\n\n\ndef f():\n    return torch.zeros(3)\n"
    assert value_of(inside, "torch.zeros(3)").device == device


@pytest.mark.parametrize(
    ("expression", "device"),
    [
        ("torch.from_numpy(a)", HOST),
        ("torch.as_tensor(a)", DEVICE),
        ("torch.tensor([1])", DEVICE),
        ("torch.zeros(3, device='cpu')", HOST),
        ("torch.zeros_like(host)", HOST),
    ],
)
def test_what_has_a_place_of_its_own_keeps_it(expression, device):
    code = f"""
        def f(a):
            host = torch.from_numpy(a)
            with torch.device("cuda"):
                x = {expression}
        """
    assert value_of(code, expression).device == device


SET_TYPE = "torch.set_default_tensor_type('torch.cuda.FloatTensor')"
SET_DEVICE = "torch.set_default_device('cuda')"


@pytest.mark.parametrize(
    ("script", "setters"),
    [
        (SET_TYPE, {"set_default_tensor_type"}),
        (f"{SET_TYPE}\n{SET_DEVICE}", {"set_default_tensor_type", "set_default_device"}),
        (f"if __name__ == '__main__':\n    {SET_DEVICE}", {"set_default_device"}),
        (f"if torch.cuda.is_available():\n    {SET_DEVICE}", set()),
        (f"def main():\n    {SET_DEVICE}", set()),
        ("torch.set_default_device('cpu')", set()),
    ],
)
def test_a_script_that_always_sets_the_device_decides_for_what_it_runs(script, setters):
    files = {"app/main.py": f"import torch\nfrom net.render import render\n{script}\n", "app/net/render.py": ""}
    values = Project.of_texts(files).values
    assert device_by_default(values, Frame("app/main.py", 0, (1, 1))) == setters
    assert device_by_default(values, Frame("app/net/render.py", 0, (1, 1))) == setters


@pytest.mark.parametrize(
    ("imports", "path", "known"),
    [
        ("", "demo.py", True),
        ("", "train.py", False),
        ("", "net/render.py", False),
        ("import net.render\nnet.render.draw()", "net/render.py", True),
        ("from net import render", "net/render.py", True),
        ("from net.render import *", "net/render.py", True),
        ("def main():\n    from net.render import Ray", "net/render.py", True),
        ("from net.shapes import Box", "net/__init__.py", True),
        ("from net.shapes import Box", "net/rays.py", True),
        ("from net.shapes import Box", "net/render.py", False),
        ("from net import shapes", "train.py", False),
    ],
)
def test_a_script_decides_for_no_file_that_it_does_not_import(imports, path, known):
    files = {
        "demo.py": f"import torch\n{imports}\n{SET_DEVICE}\n",
        "train.py": "from net import render",
        "net/__init__.py": "",
        "net/render.py": "",
        "net/rays.py": "from .shapes import Box",
        "net/shapes.py": "from .rays import Ray",
    }
    assert bool(device_by_default(Project.of_texts(files).values, Frame(path, 0, (1, 1)))) is known


@pytest.mark.parametrize(
    ("device", "set_by", "found"),
    [
        ("cuda", "", {"device"}),
        ("cpu", "", set()),
        ("cuda", SET_TYPE, {"device", "set_default_tensor_type"}),
        ("cpu", SET_TYPE, set()),
        ("cpu", SET_DEVICE, set()),
    ],
)
def test_a_block_makes_the_device_the_default(device, set_by, found):
    text = f"import torch\nwith torch.device('{device}'):\n    x = torch.tensor([1])\n{set_by}\n"
    project = Project.of_texts({"a.py": text})
    assert device_by_default(project.values, Frame("a.py", 0, (3, 9))) == found
    assert device_by_default(project.values, Frame("a.py", 0, (1, 1))) == {last_part(set_by.partition("(")[0])} - {""}
