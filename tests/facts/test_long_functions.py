"""Long functions and files cost about in proportion to their length: work is counted, in calls, not timed."""

import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path

import pytest

from torchperf_lint.__main__ import main

HEAD = "import torch\nimport torch.nn.functional as F\n\ndef f(loader, model, optimizer):\n"


def _groups(count: int) -> str:
    rows = (f"    y = torch.relu(y) + a[{n}]\n    if y.max() > {n}:\n        y = y * 2\n" for n in range(count))
    return f"{HEAD}  for a, b in loader:\n    y = model(a.cuda())\n{''.join(rows)}    y.backward()\n"


def _reads(count: int) -> str:
    rows = (f"    v{n} = torch.relu(y) + y[{n}]\n    w = v{n}.sum().item()\n    print(w)\n" for n in range(count))
    return f"{HEAD}  for a, b in loader:\n    y = model(a.cuda())\n{''.join(rows)}    y.backward()\n"


def _withs(count: int) -> str:
    block = "    with torch.no_grad():\n        for a in loader:\n            model(a.cuda()).cpu().numpy()\n"
    return HEAD + block * count


def _comments(count: int) -> str:
    return "".join(f"x = {n}  # noqa: TPL101\n" for n in range(count))


def _calls(folder: Path, text: str) -> int:
    folder.mkdir()
    (folder / "long.py").write_text(text)
    profile = cProfile.Profile()
    asked = ["--isolated", "--no-cache", "--jobs", "1", "--exit-zero", "--output-format", "concise", str(folder)]
    profile.runcall(main, asked)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("made", [_groups, _reads, _withs, _comments])
def test_what_is_twice_as_long_is_about_twice_the_work(made: Callable[[int], str], tmp_path: Path) -> None:
    """What grows with the square of the length grows threefold from the one step to the next, and more."""
    _calls(tmp_path / "first", made(2))  # imports the rules
    short, middle, long = (_calls(tmp_path / str(count), made(count)) for count in (24, 48, 96))
    assert long - middle < 2.6 * (middle - short), (short, middle, long)
