"""Records say where they are from, and none is made where there is no card."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from card import has_device

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import record_fixtures  # noqa: E402

from torchperf_lint import events  # noqa: E402

WHERE = {"device": "synthetic", "driver": None, "torch": "0", "cuda": None, "date": "2000-01-01"}


def test_a_record_says_where_it_is_from_and_reads_as_before(tmp_path):
    script, record = tmp_path / "train.py", tmp_path / "run.events.jsonl"
    script.write_text("pass\n", encoding="utf-8")
    rest = b'{"record":"state","key":"torch","value":"0"}\n'
    record.write_bytes(json.dumps({"record": "header", "version": events.VERSION, "pid": 7}).encode() + b"\n" + rest)
    record_fixtures.stamp(record, script, WHERE)
    run = events.read(str(record))
    assert run.header["recorded"]["device"] == "synthetic"
    assert run.header["recorded"]["script_sha256"] == hashlib.sha256(b"pass\n").hexdigest()
    assert run.header["recorded"]["record_sha256"] == hashlib.sha256(rest).hexdigest()
    assert (run.header["pid"], run.state, run.torn) == (7, {"torch": "0"}, False)


def test_cards_are_numbered_in_place_of_named():
    one, other = (b"GPU-b2f37a34-7067-b98b-e08e-%012x" % number for number in (7, 9))
    said = record_fixtures.tidied(b"%s %s %s" % (one, other, one), "/here", "/packages").split()
    assert said == [b"GPU-%08d-0000-0000-0000-000000000000" % number for number in (0, 1, 0)]


def test_nothing_is_recorded_without_a_card(tmp_path):
    pytest.importorskip("torch")
    if has_device():
        pytest.skip("there is a CUDA device")
    command = [sys.executable, str(HERE / "record_fixtures.py"), str(tmp_path), "train/mnist_like.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr.strip()) == (1, "needs a CUDA device")
    assert list(tmp_path.iterdir()) == []
