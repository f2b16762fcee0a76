"""Functions of tensors that nothing in the project calls."""

from __future__ import annotations

import pytest
from snippets import hot_at

OPERATIONS = {
    "something is moved to where a parameter is": """
        def points_of(rots, depth):
            return torch.arange(depth).to(rots) @ rots  # <-
        """,
    "by type_as": """
        def points_of(rots, depth):
            return torch.arange(depth).type_as(rots) @ rots  # <-
        """,
    "a method of a module of another library": """
        from mmcv.runner import BaseModule
        class View(BaseModule):
            def points(self, rots):
                return torch.zeros(3).to(rots)  # <-
        """,
    "an annotation that names axes": """
        def masked(t: float["b n"], fill: float = 0.0):
            return t + torch.tensor(fill, device=t.device)  # <-
        """,
    "an alias of a library for its tensors": """
        def variance(y: TensorType, pred: TensorType):
            return torch.max(torch.tensor([-1.0]).to(pred.device), y - pred)  # <-
        """,
    "a parameter is asked for its device": """
        def rotate(points, angle):
            m = torch.zeros(3, 3).to(points.device)  # <-
            return points @ m
        """,
    "a tensor is made beside a parameter": """
        def overlap(signal, step):
            out = signal.new_zeros(step)
            return out.index_add_(-1, torch.arange(step), signal)  # <-
        """,
    "by new_tensor": """
        def noise(real, n):
            return real.new_tensor(torch.rand(n)) * real  # <-
        """,
    "what is taken of a parameter is": """
        def suppress(prediction, threshold=0.5):
            for x in prediction:
                box = x[:, :4]
                m = torch.zeros(3).to(box.device)  # <-
        """,
    "the work is left to a helper of the file": """
        def distance(x, y, weights=None, reduction="mean"):
            d = _one_way(x, y) + _one_way(y, x)
            if weights is not None:
                d = d * weights  # <-
            return d

        def _one_way(x, y):
            near = torch.arange(x.shape[1], device=x.device)
            return (x[:, near] - y).norm()
        """,
    "what such a function calls": """
        def rotate(points, angle):
            return points.to(points.device) @ matrix(angle)

        def matrix(angle):
            return torch.zeros(3, 3).cuda()  # <-
        """,
    "a method of a plain class": """
        class Coder:
            def decode(self, boxes):
                return boxes * torch.ones(4).to(boxes.device)  # <-
        """,
}

COMPUTED = {
    "an operation takes a parameter first": """
        def negated(q, mask):
            s = torch.sin(q)
            s[mask] = -s[mask]  # <-
            return s * q
        """,
    "a method of tensors is called of a parameter": """
        def paired(x, y):
            x = x.unsqueeze(0)  # <-
            return torch.cat([x, y])
        """,
    "of the functional interface": """
        def scaled(logits, t):
            return F.softmax(logits / t, -1) * F.relu(logits)  # <-
        """,
}

OTHERS = {
    "what operations compute is a number for the caller": """
        def accuracy(logits, target):
            hit = torch.eq(logits, target)  # <-
            return hit.sum().item()
        """,
    "an annotation says that it gives a number": """
        def distance(a, b) -> float:
            d = torch.cdist(a, b)  # <-
            return d.max() + 0
        """,
    "what is computed is handed to the host": """
        def shown(x):
            x = torch.clamp(x, 0, 1)  # <-
            return x.cpu() * 255
        """,
    "operations take lists and numbers": """
        def table(rows, n):
            return torch.tensor(rows) + torch.zeros(n)  # <-
        """,
    "a method computes with what its object knows": """
        class Chain:
            def clamp(self, th):
                th = self.checked(th)
                return torch.clamp(th, self.low, self.high)  # <-
        """,
    "a layer of a network is given, to be changed once": """
        def patch_layer(linear_layer, width):
            u = torch.zeros(width).to(linear_layer.device)  # <-
            return linear_layer.merged(u)
        """,
    "weights are quantized once": """
        def pseudo_quantize(w, bits):
            scale = torch.abs(w).amax()  # <-
            return w / scale
        """,
    "it is registered for a dispatcher": """
        @quantile.register(torch.Tensor)
        def _(x, q):
            return torch.quantile(x, torch.zeros(1).to(x.device))  # <-
        """,
    "a plain version that a kernel is compared with": """
        def _reference_linear(x, w):
            return x @ w + torch.zeros(1).to(x.device)  # <-
        """,
    "several samples": """
        def samples_of_prior(x, n):
            return x + torch.zeros(n).to(x.device)  # <-
        """,
    "a tensor is made beside what is copied to the host": """
        def blur(x, s):
            return F.conv2d(x, x.new_ones(1, 1, s, s)).cpu()  # <-
        """,
    "what goes through a whole set": """
        def communities(embeddings, threshold=0.5, batch_size: int = 64):
            threshold = torch.tensor(threshold, device=embeddings.device)  # <-
        """,
    "what something is moved to may be a device or a dtype": """
        def place(x, torch_dtype, dev):
            return x.to(torch_dtype), torch.zeros(3).to(dev)  # <-
        """,
    "the project calls it, where it is cold": """
        def rotate(points, angle):
            return points @ torch.zeros(3, 3).to(points.device)  # <-

        def main(points):
            rotate(points, 1)
        """,
    "a network is handed in": """
        def slide(inputs, network):
            count = torch.zeros(9).to(inputs.device)  # <-
        """,
    "nothing but a device is made": """
        def usable(number):
            return torch.zeros(1).to(torch.device("cuda"))  # <-
        """,
    "it sets something": """
        def set_timesteps(self, sigmas):
            self.sigmas = torch.zeros(9).to(sigmas.device)  # <-
        """,
    "the object itself is asked": """
        class Table:
            def take(self, n):
                return torch.zeros(n).to(self.device)  # <-
        """,
    "an inner function": """
        def outer():
            def inner(x):
                return torch.zeros(3).to(x.device)  # <-
            return inner
        """,
    "an annotation says what is handed in": """
        def place(batch: Batch):
            return torch.zeros(3).to(batch.device)  # <-
        """,
}


@pytest.mark.parametrize("code", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_is_hot(code):
    hot = hot_at(code)
    assert hot is not None
    assert "device" in hot.because


@pytest.mark.parametrize("code", COMPUTED.values(), ids=COMPUTED)
def test_what_computes_with_its_parameters_is_an_operation(code):
    hot = hot_at(code)
    assert hot is not None
    assert "computes with tensors" in hot.because


@pytest.mark.parametrize("code", OTHERS.values(), ids=OTHERS)
def test_other_functions_are_not(code):
    assert hot_at(code) is None


ANSWERS = """
from typing import List, Optional

class Tagger({base}):
    def {name}(self, scores: torch.Tensor, {more}) -> {gives}:
        best = scores.max(-1).indices
        return [int(b) for b in best]  # <-
"""
ANSWER = {
    "base": "nn.Module",
    "name": "decode",
    "more": "mask: Optional[torch.Tensor] = None",
    "gives": "List[List[int]]",
}


def test_a_method_of_a_module_that_makes_a_list_of_tensors_is_hot():
    hot = hot_at(ANSWERS.format(**ANSWER))
    assert hot is not None
    assert "gives a list" in hot.because
    assert hot_at(ANSWERS.format(**{**ANSWER, "more": "top: int = 1"})) is not None


@pytest.mark.parametrize(
    "other",
    [
        {"base": "object"},
        {"name": "_decode"},
        {"name": "predict_all"},
        {"name": "save"},
        {"gives": "None"},
        {"gives": "int"},
        {"more": "words: List[str]"},
        {"more": "n: int"},
    ],
)
def test_other_methods_that_give_lists_are_not(other):
    assert hot_at(ANSWERS.format(**{**ANSWER, **other})) is None


def test_such_a_method_that_the_project_calls_is_as_hot_as_its_calls():
    assert hot_at(ANSWERS.format(**ANSWER) + "\n\ndef main():\n    print(Tagger().decode(torch.ones(3)))\n") is None


@pytest.mark.parametrize(("path", "hot"), [("ops.py", True), ("layers/augmentation.py", False)])
def test_augmentations_of_samples_make_tensors_beside_them_too(path, hot):
    code = """
        def clipped(wave, low, high):
            q = wave.new_tensor([low, high])  # <-
            return torch.quantile(wave, q)
        """
    assert (hot_at({path: code}) is not None) is hot
