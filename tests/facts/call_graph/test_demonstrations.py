"""What only tests and trials call is as good as not called."""

from __future__ import annotations

from textwrap import dedent

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


SHOW = """
    class Photos(torch.utils.data.Dataset):
        def __getitem__(self, i):
            return Image.open(self.names[i])

    if __name__ == "__main__":
        for images in DataLoader(Photos(), 4):
            show(images)  # <-
    """
TRIAL = """
    class Loss(nn.Module):
        def forward(self, x):
            return x.sum()

    if __name__ == "__main__":
        criterion, net = Loss(), nn.Linear(3, 3).cuda()
        for _ in range(1000):
            x = torch.randn(4, 3)
            loss = criterion(net(x.cuda()))
            loss.backward()
            print(loss)  # <-
    """


@pytest.mark.parametrize(
    ("path", "text", "hot"),
    [
        ("data/photos.py", SHOW, False),
        ("losses.py", TRIAL, False),
        # a program, by its name, by its options, by what it loads
        ("train.py", TRIAL, True),
        ("losses.py", "import argparse\nargparse.ArgumentParser().add_argument('-n')\n" + dedent(TRIAL), True),
        ("losses.py", TRIAL.replace("criterion, net =", "data = torch.load('x.pt')\n        criterion, net ="), True),
        ("losses.py", TRIAL.replace("torch.randn(4, 3)", "data[0]"), True),
        # and what defines nothing for others
        ("losses.py", TRIAL.replace("class Loss(nn.Module)", "class Loss"), True),
    ],
)
def test_what_a_file_tries_below_its_definitions_nobody_waits_for(path, text, hot):
    assert (hot_at({path: text}) is not None) is hot
