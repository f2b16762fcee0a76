"""What the generators of programs share: a training script around the lines a rule finds fault with.

A generator is a module `tests/fixes/<code>.py` with

- `programs()`: a hypothesis strategy of texts, each a script that defines `run()`, which trains and returns numbers;
- `UNSAFE` (optional): True where the rule's unsafe fixes are tried; results are then compared as floats are;
- `FEWER` (optional): the kind of event that the fix saves on a device: "sync", "h2d", "h2d-blocking" or "d2h";
- `MORE` (optional): the kinds of event that there may be more of: one copy for some reads, a wait that was missing;
- `check(before, after)` (optional): what else must hold of the two texts.

Scripts choose their device themselves, so that they run on the host and on the simulated device: `HEAD` has it.
"""

from __future__ import annotations

from textwrap import indent

from hypothesis import strategies as st

HEAD = """\
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
WIDTH = 4
torch.manual_seed(1)
DATA = TensorDataset(torch.randn(12, WIDTH), torch.randint(0, 3, (12,)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(WIDTH, WIDTH)
        self.outer = nn.Linear(WIDTH, 3)

    def forward(self, x):
        out = self.inner(x)
{forward}
        return self.outer(out)


def run():
    torch.manual_seed(0)
    model = Net().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
{body}
"""


def program(body: str, forward: str = "") -> str:
    """A script with a function body, and lines of the model's `forward`, that uses and changes `out`."""
    return HEAD.format(body=indent(body, "    "), forward=indent(forward, "        ")).replace(
        "\n\n        return", "\n        return"
    )


STEP = """\
optimizer.zero_grad()
loss.backward()
optimizer.step()
"""


def comments() -> st.SearchStrategy[str]:
    """What may stand at the end of a line."""
    return st.sampled_from(["", "", "  # why", "  # é (1, 2), 'x'"])
