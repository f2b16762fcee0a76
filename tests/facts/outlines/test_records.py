"""What moves as a whole and is no tensor, what says no more than that it can be looped over, and numbers of tensors."""

from __future__ import annotations

import ast

import pytest
from snippets import hot_at, value_of

from torchperf_lint.facts.values.made_numbers import made_a_number


@pytest.mark.parametrize(
    ("read", "kind"),
    [
        ("record.image_size", "plain"),
        ("record.num_atoms", "tensor"),
        ("record.boxes", "tensor"),
        ("record.logits", "tensor"),
    ],
)
def test_parts_of_what_was_moved(read, kind):
    code = f"""
        def f(record, device):
            record = record.to(device)
            use({read})
    """
    assert value_of(code, read).kind == kind


@pytest.mark.parametrize(("name", "kind"), [("size", "unknown"), ("shape", "unknown"), ("edges", "tensor")])
def test_sizes_among_what_is_unpacked(name, kind):
    code = f"""
        def f(parts, device):
            parts = [part.to(device) for part in parts]
            for _, {name} in parts:
                use({name})
    """
    assert value_of(code, name).kind == kind


@pytest.mark.parametrize(
    ("annotation", "kind"), [("Iterable", "loader"), ("Iterable[torch.Tensor]", "loader"), ("int", "plain")]
)
def test_a_loader_is_an_iterable(annotation, kind):
    code = f"""
        from typing import Iterable

        def train(batches: {annotation}):
            use(batches)

        def main(data):
            train(DataLoader(data))
    """
    assert value_of(code, "batches").kind == kind


@pytest.mark.parametrize(
    ("choice", "number"),
    [
        ("x.item() if isinstance(x, torch.Tensor) else x", True),
        ("x if not torch.is_tensor(x) else x.item()", True),
        ("float(x) if hasattr(x, 'item') else x", True),
        ("x.item() if isinstance(x, torch.Tensor) else y", False),
        ("x.mean() if isinstance(x, torch.Tensor) else x", False),
        ("x.item() if ready else x", False),
        ("x if isinstance(x, torch.Tensor) else x.item()", False),
    ],
)
def test_what_a_choice_leaves(choice, number):
    node = ast.parse(choice, mode="eval").body
    assert isinstance(node, ast.IfExp)
    assert made_a_number(node) is number


JUDGED = """
    def main(model, optimizer, x, y):
        for epoch in range(200):
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            test(model, x, y)

    {0}
    def test(model, x, y):
        {1}
        return (model(x).argmax(1) == y).sum()  # <-
"""


@pytest.mark.parametrize(
    ("decorator", "mode", "evaluates"),
    [
        ("@torch.no_grad()", "model.eval()", True),
        ("@torch.inference_mode()", "model.eval()", True),
        ("@torch.no_grad()", "model.train()", False),
        ("", "model.eval()", False),
    ],
)
def test_a_step_that_judges_its_model(decorator, mode, evaluates):
    hot = hot_at(JUDGED.format(decorator, mode))
    assert hot is not None
    assert hot.evaluates is evaluates


EPOCHS = """
    def run(model, optimizer, loader):
        for epoch in range(10):
            fit(model, optimizer, loader)
            barrier()

    def fit(model, optimizer, loader):
        {0}(model, optimizer)
        for x in loader:
            {0}(model, optimizer, x)

    def {0}(model, optimizer, x=None):
        model(x).mean().backward()
        optimizer.step()

    def barrier():
        torch.cuda.synchronize()  # <-
"""


@pytest.mark.parametrize(("name", "hot"), [("preallocate", False), ("iterate", True)])
def test_a_step_for_the_allocator_makes_no_training_loop(name, hot):
    assert (hot_at(EPOCHS.format(name)) is not None) is hot
