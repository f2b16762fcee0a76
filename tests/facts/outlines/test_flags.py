"""Names that hold whether a cadence is due."""

from __future__ import annotations

import pytest
from snippets import hot_at


@pytest.mark.parametrize(
    ("bound", "test", "hot"),
    [
        ("save = step % 100 == 0", "save", False),
        ("save = step % 100 == 0", "save and rank == 0", False),
        ("save = step % 100 == 0", "save or step % 7 == 0", False),
        ("save = step % 100 == 0", "save or rank == 0", True),
        ("save = rank == 0", "save", True),
        ("save = not (step % rank)", "save", False),
        ("save = not step % 100 == 0", "save", True),
        ("save = bool(step % 100 == 0)", "save", False),
        ("save = (step % rank == 0) if rank else False", "save", False),
        ("save = (step % rank == 0) if rank else True", "save", True),
        ("loader.save = step % 100 == 0", "loader.save", False),
        ("loader.save = step % 100 == 0", "model.save", True),
        ("save = not rank", "save", True),
        ("save = step % 100 == 0\n            save = rank == 0", "save", True),
    ],
)
def test_flags(bound, test, hot):
    code = f"""
        def train(model, loader, optimizer, rank):
            save = False
            for step, x in enumerate(loader):
                {bound.replace(chr(10) + " " * 12, chr(10) + " " * 16)}
                loss = model(x)
                loss.backward()
                optimizer.step()
                if {test}:
                    print(loss)  # <-
        """
    assert (hot_at(code) is not None) is hot
