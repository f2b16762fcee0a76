"""The simulated device waits and copies where a card does: the table of operations, and whole scripts, line by line."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import against_simulated  # noqa: E402

from torchperf_lint import events  # noqa: E402

NEEDS = {"hf_trainer": "transformers", "accelerate_loop": "accelerate", "lightning_trainer": "lightning"}


@pytest.mark.gpu
@pytest.mark.parametrize("expression", against_simulated.table())
def test_an_operation_costs_the_same_on_a_card(facts, expression):
    differing = {row[0]: row[1:] for row in against_simulated.of_operations(facts)}
    assert expression not in differing, differing.get(expression)


@pytest.mark.gpu
@pytest.mark.parametrize("script", against_simulated.SCRIPTS, ids=lambda script: script.stem)
def test_a_script_waits_at_the_same_lines_on_a_card(script, tmp_path):
    if script.stem in NEEDS:
        pytest.importorskip(NEEDS[script.stem])
    command = [sys.executable, str(HERE / "record_fixtures.py"), str(tmp_path), f"simulate/{script.name}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    record = tmp_path / f"simulate-{script.stem}{events.SUFFIX}"
    assert list(against_simulated.of_script(script, record)) == []


def test_waits_are_counted_as_a_card_shows_them():
    assert against_simulated.waits(against_simulated.parsed("item=2 h2d=3 h2d-async=5 d2h-pinned=1")) == 6


def test_a_row_that_differs_is_named():
    rows = {expression: {"syncs": [], "copies": {}} for expression in against_simulated.table()}
    rows["x + x"] = {"syncs": ["stream"], "copies": {}}
    rows["h.to(d)"] = {"syncs": ["stream"], "copies": {"h2d": 1}}
    rows["x.cpu()"] = {"syncs": ["stream"], "copies": {"d2h-pinned": 1}}
    rows["s.item()"] = {"error": "no"}
    differing = {row[0] for row in against_simulated.of_operations({"operations": rows})}
    assert {"x + x", "x.cpu()", "s.item()", "bool(s > 0)"} <= differing
    assert not {"h.to(d)", "x * 2.5"} & differing
