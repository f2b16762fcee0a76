"""Names that a module gives to types."""

from __future__ import annotations

import ast

import pytest
from snippets import value_of

from torchperf_lint.facts.outlines.type_aliases import aliased_class
from torchperf_lint.facts.values.value import ANYWHERE


@pytest.mark.parametrize(
    ("written", "stands_for"),
    [
        ("Optional[torch.Tensor]", "torch.Tensor"),
        ("torch.Tensor | None", "torch.Tensor"),
        ("Annotated[Tensor, 'rows']", "Tensor"),
        ("TypeVar('T', bound=torch.Tensor)", "torch.Tensor"),
        ("TypeVar('T', bound='Tensor')", "Tensor"),
        ("TypeVar('T', torch.Tensor, float)", "torch.Tensor"),
        ("NewType('Rows', torch.Tensor)", "torch.Tensor"),
        ("TypeVar('T')", ""),
        ("tuple[torch.Tensor, torch.Tensor]", ""),
        ("flags.A | flags.B", ""),
        ("table['Optional']", ""),
        ("make('T', torch.Tensor)", ""),
    ],
)
def test_what_an_alias_stands_for(written, stands_for):
    assert aliased_class(ast.parse(written, mode="eval").body) == stands_for


@pytest.mark.parametrize(
    "alias",
    ["Rows = Optional[torch.Tensor]", "Rows = TypeVar('Rows', bound=torch.Tensor)", "Rows = torch.Tensor | None"],
)
@pytest.mark.parametrize("default", ["", " = None"])
def test_a_parameter_of_an_alias_is_a_tensor(alias, default):
    code = f"import torch\nfrom typing import Optional, TypeVar\n{alias}\ndef f(x: Rows{default}):\n    return x"
    found = value_of(code, "x")
    assert (found.kind, found.device) == ("tensor", ANYWHERE)


@pytest.mark.parametrize(
    "annotation", ["Any", "object", "T", "Dict[str, Any]", "Tuple[Any, ...]", "Mapping", "List[Dict[str, Any]]"]
)
def test_parts_of_what_may_be_anything_are_unknown_and_no_numbers(annotation):
    code = f"""
        from typing import Any, Dict, List, Mapping, Tuple, TypeVar
        T = TypeVar("T")
        def f(out: {annotation}):
            kept = out.kept
            return out.logits, out["x"], kept
    """
    assert value_of(code, "out.logits").kind == "unknown"
    assert value_of(code, "out['x']").kind == "unknown"
    assert value_of(code, "kept").kind == "unknown"


def test_a_variable_that_is_annotated_as_anything_is_what_it_is_used_as():
    code = """
        from typing import Any
        def f(self):
            out: Any = self.result
            return out.logits.softmax(-1)
    """
    assert value_of(code, "out.logits.softmax(-1)").kind == "tensor"
