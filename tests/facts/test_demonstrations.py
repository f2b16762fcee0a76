"""What only tests and trials call is as good as not called."""

from __future__ import annotations

import pytest
from snippets import hot_at

LOSS = """
    def get_loss(points, labels):
        mask = torch.zeros(8).cuda()  # <-
        return (points - labels).mean() * mask.mean()
    """


@pytest.mark.parametrize(
    ("path", "caller", "hot"),
    [
        ("tests/test_losses.py", "def test_loss():\n    assert get_loss(1, 2) > 0\n", True),
        ("net.py", "class Net(nn.Module):\n    pass\n\nif __name__ == '__main__':\n    print(get_loss(1, 2))\n", True),
        ("tool.py", "def main():\n    print(get_loss(1, 2))\n", False),
        ("tool.py", "print(get_loss(1, 2))\n", False),
    ],
)
def test_a_loss_that_is_only_tried_computes_a_loss_elsewhere(path, caller, hot):
    files = {"losses.py": LOSS, path: f"from losses import get_loss\n\n{caller}"}
    assert (hot_at(files) is not None) is hot
