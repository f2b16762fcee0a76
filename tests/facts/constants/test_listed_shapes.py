"""Lists of the sides of several tensors, as detection heads hand them on."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.configured import SHAPE
from torchperf_lint.facts.constants.constants import constancy


def kind(lines, answer="sides"):
    site = site_of(
        f"""
        class Head(nn.Module):
            def forward(self, features, strides: list[int], x: torch.Tensor):
                sides = []
                {lines}
                return torch.tensor({answer}, device=x.device)
        """,
        f"torch.tensor({answer}, device=x.device)",
    )
    return constancy(site.file.project.values, site.call.args[0], site.frame)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "[f.shape[-2:] for f in features]",
            "[f.size(2) for f in features]",
            "[(f.shape[2], f.shape[3]) for f in features]",
        ),
        *("[list(f.shape[2:]) for f in features]", "[f.shape[-1] * 8 for f in features]"),
        "[[int(f.shape[-1]), 1] for i, f in enumerate(features)]",
    ],
)
def test_of_a_comprehension(answer):
    assert kind("pass", answer) == SHAPE


@pytest.mark.parametrize(
    "answer",
    [
        *("[len(f) for f in features]", "[f.shape[0] for f in features]", "[f.size(0) for f in features]"),
        *("[f.shape for f in features]", "[f.sum() for f in features]", "[f.shape[1] for f in features if f.any()]"),
        "[(f.shape[0], f.shape[1]) for f in features]",
    ],
)
def test_lengths_of_samples_are_data(answer):
    assert kind("pass", answer) is None


@pytest.mark.parametrize(
    ("loop", "known"),
    [
        ("for f in features: sides.append(f.shape[-2:])", True),
        ("for i in range(len(features)): sides.append(features[i].shape[-1])", True),
        ("for i, f in enumerate(features): b, c, h, w = f.shape; sides.append((h, w))", True),
        ("for f, s in zip(features, strides): h, w = f.shape[-2:]; sides.append([h * 8, w * 8])", True),
        ("for f in features: b, c, h, w = f.shape; side = (h, w); sides.append(side)", True),
        ("for f in features: b, c, h, w = f.shape; side = (b, w); sides.append(side)", False),
        ("for f in features: h, w = f.size(2), f.size(3); sides += [h]", False),
        ("for f in features: b, c, h, w = f.shape; sides.append(b)", False),
        ("for f in features: sides.append(len(f))", False),
        ("for f in features: sides.append(f.item())", False),
    ],
)
def test_filled_by_a_loop(loop, known):
    assert (kind(loop) == SHAPE) is known
