"""Loaders that a function hands out for training, and lists of numbers that are on the device."""

from __future__ import annotations

import ast

import pytest
from snippets import IMPORTS, value_of

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.loaders.handed_out import handed_out
from torchperf_lint.facts.values.value import DEVICE


@pytest.mark.parametrize(
    ("name", "body", "handed"),
    [
        ("loaders", "train_loader = DataLoader(rows)\n    return train_loader, rows", True),
        ("loaders", "training_loader = DataLoader(rows)\n    return training_loader", True),
        ("get_train_loader", "return DataLoader(rows)", True),
        ("train_loaders", "loader = DataLoader(rows)\n    return loader", False),
        ("loaders", "return DataLoader(rows)", False),
        ("loaders", "train_loader = DataLoader(rows)\n    return len(train_loader)", False),
        ("loaders", "val_loader = DataLoader(rows)\n    return val_loader", False),
        ("loaders", "constrained = DataLoader(rows)\n    return constrained", False),
    ],
)
def test_a_factory_hands_out_its_training_loader(name, body, handed):
    text = IMPORTS + f"def {name}(rows):\n    {body}\n"
    project = Project.of_texts({"a.py": text})
    made = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call) and ast.unparse(n.func) == "DataLoader")
    found = handed_out(project.values, "a.py", made.lineno, made.col_offset + 1)
    assert (found is not None) is handed
    assert found is None or found.kind == "step"


def test_is_tensor_narrows_what_a_name_may_be():
    code = """
    def f(x):
        x = torch.zeros(3).cuda()
        if torch.is_tensor(x):
            print(x)
        if not torch.is_tensor(x):
            return [x]
    """
    assert value_of(code, "[x]").item.kind == "unknown"
    assert value_of(code.replace("return [x]", "pass"), "x").device == DEVICE
