"""What is moved and used as modules are is no tensor, nor are its attributes."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
def train(model, loader, optimizer):
    width = model.width
    print(width)
    for x, y in loader:
        {}
        optimizer.step()

def main(args, loader, optimizer):
    thing = make(args).to(torch.device("cuda"))
    train(thing, loader, optimizer)
"""


@pytest.mark.parametrize(
    ("use", "kind"),
    [
        ("F.mse_loss(model(x), y).backward()", "unknown"),
        ("model.train()", "unknown"),
        ("(model * x).backward()", "tensor"),
        ("x.sum().backward()", "tensor"),
    ],
)
def test_an_attribute_of_something_moved(use, kind):
    assert value_of(CODE.format(use), "width").kind == kind


@pytest.mark.parametrize(
    ("maker", "kind"),
    [
        ("build_model(args)", "module"),
        ("zoo.get_network(args.name)", "module"),
        ("make_text_encoder()", "module"),
        ("get_model_inputs(args)", "tensor"),
        ("encode(args)", "tensor"),
    ],
)
def test_what_a_function_makes_by_its_name(maker, kind):
    code = f"def f(args, zoo):\n    made = {maker}.to(torch.device('cuda'))\n    print(made)\n"
    assert value_of(code, "made").kind == kind
