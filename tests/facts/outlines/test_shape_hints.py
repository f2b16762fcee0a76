"""Annotations that say a tensor's shape, and unions of one class with None."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines.signatures import annotation_chain


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('Float[Tensor, "*batch 3"]', "Tensor"),
        ('Bool[torch.Tensor, "1 32 mult"]', "torch.Tensor"),
        ('jaxtyping.Int64[Tensor, "b"]', "Tensor"),
        ('Annotated[Tensor, Shape("b")]', "Tensor"),
        ('int["b"]', "torch.Tensor"),
        ('float["b n d"] | None', "torch.Tensor"),
        ('Optional[Float[Tensor, "b"]]', "Tensor"),
        ("Union[torch.Tensor, None]", "torch.Tensor"),
        ("typing.Union[None, Config]", "Config"),
        ('Float[ndarray, "b"]', "Float[]"),
        ("Union[Tensor, Pointclouds]", "Union[]"),
        ('Tuple[Tensor, "Other"]', "Tuple[Tensor, 'Other']"),
        ('Dict[Tensor, "Other"]', "Dict[]"),
        ("Literal['a']", "Literal[a]"),
        ("list['Config']", "list[Config]"),
    ],
)
def test_what_an_annotation_is_kept_as(written, expected):
    assert annotation_chain(ast.parse(written, mode="eval").body) == expected
