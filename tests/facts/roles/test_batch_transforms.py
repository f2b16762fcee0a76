"""Transforms that run on each batch by what they are part of, and functions that are patched onto tensors."""

from __future__ import annotations

import pytest
from calls_in import site_of
from snippets import hot_at

HEAD = "from fastai.vision.all import *\n"
HOT = {
    "encodes of a tensor": """
class Warp(RandTransform):
    def encodes(self, x: TensorImage):
        return x * 2  # <-
""",
    "of several classes of tensors": """
class Warp(Transform):
    def encodes(self, x: TensorImage | TensorMask):
        return x * 2  # <-
""",
    "what is drawn before": """
class Warp(DisplayedTransform):
    def before_call(self, b, split_idx):
        self.change = b.new_zeros(3)  # <-

    def encodes(self, x: torch.Tensor):
        return x * self.change
""",
    "a part of a transform": """
class _Logit:
    def before_call(self, x):
        self.change = x.new_zeros(3)

    def __call__(self, x):
        return grey(x)


def grey(x):
    return x.sum(1)  # <-
""",
    "patched onto tensors": """
@patch
def flip_batch(x: TensorImage | TensorPoint, p=0.5):
    return x.flip(-1)  # <-
""",
}


@pytest.mark.parametrize("snippet", HOT.values(), ids=HOT)
def test_what_works_on_tensors_runs_every_batch(snippet):
    assert hot_at(HEAD + snippet) is not None


COLD = {
    "encodes of an image of PIL": """
class Crop(RandTransform):
    def encodes(self, x: PILImage):
        return x.crop()  # <-
""",
    "of an image or a tensor": """
class Crop(RandTransform):
    def encodes(self, x: Image.Image | TensorBBox):
        return x.crop()  # <-
""",
    "decoding for people": """
class Crop(RandTransform):
    def decodes(self, x: TensorImage):
        return x * 2  # <-
""",
    "called only": """
class Scale:
    def __call__(self, x):
        return x * 2  # <-
""",
    "patched onto something else": """
@patch
def show_all(self: Learner):
    return self.dls  # <-
""",
    "patched, for people": """
@patch
def save_jpg(x: TensorImage, path):
    return x.numpy()  # <-
""",
}


@pytest.mark.parametrize("snippet", COLD.values(), ids=COLD)
def test_what_works_on_items_or_is_asked_by_people_does_not(snippet):
    assert hot_at(HEAD + snippet) is None


def test_a_factory_of_the_project_by_the_name_of_torchs_hands_on_to_it():
    from torchperf_lint.facts.copies.host_data import upload_at

    files = {
        "core.py": "def tensor(x, *rest, **kwargs):\n    return torch.tensor(x, **kwargs)\n",
        "aug.py": "from core import tensor\n\ndef mat(x):\n    return tensor([1, -1], device=x.device)\n",
    }
    site = site_of(files, "tensor([1, -1], device=x.device)")
    assert upload_at(site.file.project.values, site.call, site.frame) is not None
    files["core.py"] = "def tensor(x, **kwargs):\n    return KEPT[tuple(x), str(kwargs)]\n"
    site = site_of(files, "tensor([1, -1], device=x.device)")
    assert upload_at(site.file.project.values, site.call, site.frame) is None
