"""Each row of the operations table, measured in one process on the simulated device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from builders import ENVIRONMENT

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from operations import SILENT, UNMEASURED, WAITS  # noqa: E402

pytest.importorskip("torch", reason="the simulated device needs torch")

EXPECTED = {**WAITS, **UNMEASURED, **dict.fromkeys(SILENT, "")}
NOT_ON_HOST = ("cuda.", "torch.accelerator", "x.type()", "repr(n)")
"""Rows that speak of the device itself."""


def parsed(text: str) -> dict[str, int]:
    return {name: int(count) for name, _, count in (token.partition("=") for token in text.split())}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    out = tmp_path_factory.mktemp("operations") / "rows.json"
    command = [sys.executable, "-W", "error", str(HERE / "measure.py"), str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(out.read_text(encoding="utf-8"))


def test_the_table_is_broad():
    assert len(EXPECTED) >= 120
    assert len(SILENT) >= 60


@pytest.mark.parametrize("expression", EXPECTED)
def test_a_row_gives_its_events_and_no_others(rows, expression):
    row = rows[expression]["cuda"]
    assert "error" not in row, row["error"]
    assert row["events"] == parsed(EXPECTED[expression])
    assert row["disorder"] == []


@pytest.mark.parametrize("expression", [e for e in EXPECTED if not any(name in e for name in NOT_ON_HOST)])
def test_a_row_has_the_value_that_the_host_computes(rows, expression):
    host = rows[expression]["cpu"]
    assert "error" not in host, host["error"]
    assert rows[expression]["cuda"]["value"] == host["value"]
