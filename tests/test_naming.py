"""What is read beside the code: how programs are started, where an option decides about workers, or is off."""

from __future__ import annotations

import pytest

from torchperf_lint.naming import commands_of
from torchperf_lint.settings import Settings

OPTION = 'parser.add_argument("--loader_workers", type=int, default={0}, help="(how many)")\n'
SCRIPT = "python train.py --loader_workers=8\n"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (OPTION.format(0), True),
        (OPTION.format("'0'"), True),
        (OPTION.format(4), False),
        (OPTION.format(0).replace("workers", "size"), False),
        ('parser.add_argument("--log-all", action="store_true")', True),
    ],
)
def test_scripts_are_read_where_an_option_asks_for_no_workers_or_is_off(tmp_path, text, read):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/train.sh").write_text(SCRIPT)
    (tmp_path / "notes.txt").write_text("nothing of a command")
    assert commands_of(tmp_path, Settings(), [text]) == (SCRIPT if read else "")
