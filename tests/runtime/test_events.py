"""The events file: what is written is read, torn files are used as far as they go, others are refused with a reason."""

import json
import os
import random
from pathlib import Path

import pytest
from builders import HEADER, write_run

from torchperf_lint import events
from torchperf_lint.events import HIDDEN, UnreadableRecordError, Writer, read, redacted

RECORDS = [
    {"record": "header", **HEADER},
    {"record": "source", "path": "train.py", "sha256": "ab"},
    {"record": "site", "id": 1, "path": "train.py", "line": 3},
    {"record": "event", "id": 1, "kind": "sync", "what": "item", "site": 1},
    {"record": "count", "id": 1, "n": 1},
    {"record": "loader", "id": 1, "class": "DataLoader", "batches": 1},
    {"record": "lines", "path": "train.py", "complete": False, "cap": 3, "ran": {"1": 1, "2": 3}},
    {"record": "state", "key": "gpus", "value": [{"name": "Karte ü"}]},
    {"record": "probe", "name": "loader", "state": "watching", "reason": None},
    {"record": "steps", "steps": 1},
    {"record": "time", "train": []},
    {"record": "future-kind", "value": 1},
    {"record": "lines", "path": "train.py", "complete": True, "cap": 3, "ran": {"1": 2}},
    {"record": "loader", "id": 1, "worker": {"batches": 2}, "batches": 2},
    {"record": "steps", "steps": 2},
    {"record": "count", "id": 1, "n": 7},
]


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "a.events.jsonl")
    Writer(path).write(RECORDS)
    return path


def test_round_trip_the_last_of_each_counter_wins(path):
    run = read(path)
    assert run.header["argv"] == ["train.py"]
    assert run.sources == {"train.py": "ab"}
    assert run.sites[1]["line"] == 3
    assert run.events[1]["what"] == "item"
    assert run.counts[1]["n"] == 7
    assert run.loaders[1] == {
        "record": "loader",
        "id": 1,
        "class": "DataLoader",
        "batches": 2,
        "worker": {"batches": 2},
    }
    assert run.lines["train.py"] == {"complete": True, "cap": 3, "ran": {1: 2, 2: 3}}
    assert run.state == {"gpus": [{"name": "Karte ü"}]}
    assert run.probes["loader"]["state"] == "watching"
    assert run.steps["steps"] == 2
    assert run.findings is None
    assert run.ended is None
    assert not run.torn


def test_judged_without_findings_is_an_empty_list(path):
    Writer(path).write([{"record": "judged"}])
    assert read(path).findings == []
    Writer(path).write([{"record": "finding", "finding": {"code": "TPL101"}}])
    assert read(path).findings == [{"code": "TPL101"}]


def test_a_file_cut_at_every_byte_of_the_last_record_keeps_the_earlier_counters(tmp_path):
    whole = "".join(
        json.dumps(r, ensure_ascii=False) + "\n" for r in [*RECORDS, {"record": "count", "id": 1, "n": "ü"}]
    )
    data = whole.encode()
    last = data[:-1].rfind(b"\n") + 1
    path = tmp_path / "cut.events.jsonl"
    for end in range(last + 1, len(data)):
        path.write_bytes(data[:end])
        run = read(str(path))
        assert run.torn, end
        assert (run.counts[1]["n"], run.steps["steps"], run.loaders[1]["batches"]) == (7, 2, 2), end
    path.write_bytes(data[:last])
    assert not read(str(path)).torn


def test_what_is_appended_after_a_torn_line_is_read(path):
    with Path(path).open("ab") as file:
        file.write('{"record":"count","id":1,"n":"ü'.encode()[:-1])
    Writer(path).write([{"record": "judged"}, {"record": "ended", "returncode": -9}])
    Writer(path).write([{"record": "state", "key": "a", "value": 1}])
    run = read(path)
    assert run.torn
    assert run.counts[1]["n"] == 7
    assert (run.findings, run.ended["returncode"], run.state["a"]) == ([], -9, 1)


def test_writer_creates_the_file_appends_and_writes_what_is_no_unicode(tmp_path):
    path = str(tmp_path / "w.events.jsonl")
    Writer(path).write([{"record": "header", **HEADER}])
    Writer(path).write([{"record": "state", "key": "name", "value": os.fsdecode(b"a\xff")}])
    Writer(path).write([{"record": "state", "key": "path", "value": tmp_path}])
    run = read(path)
    assert run.state["path"] == str(tmp_path)
    assert run.state["name"].startswith("a")


def test_writer_raises_oserror_where_the_disk_says_no(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        Writer("/dev/full").write(RECORDS)
    with pytest.raises(FileNotFoundError):
        Writer(str(tmp_path / "gone" / "a.events.jsonl")).write(RECORDS)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an events file"),
        (b"\n\n", "not an events file"),
        (b"import torch\n", "line 1: not a record"),
        (bytes(range(256)) * 4, "line 1: not a record"),
        (b"\x7fELF\x02\x01\x01\x00", "not an events file"),
        (b'{"a": 1}\n', "line 1: not a record"),
        (b"[1, 2]\n", "line 1: not a record"),
        (b'{"record": "count", "id": 1, "n": 1}\n', "not an events file"),
        (b'{"record": "header", "version"', "not an events file"),
        (b'{"record": "header", "version": 2}\n', "version is 2, and this one reads version 1"),
        (b'{"record": "header"}\n', "version is None"),
        (b'{"record": "header", "version": 1}\nnonsense\n', "line 2: not a record"),
        (b'{"record": "header", "version": 1}\n{"record": "site"}\n', "site is damaged"),
        (b'{"record": "header", "version": 1}\n{"record": "loader", "id": []}\n', "loader is damaged"),
        (b'{"record": "header", "version": 1}\n{"record": "lines", "path": "a", "cap": 1}\n', "lines is damaged"),
    ],
)
def test_other_files_are_refused_with_a_reason(tmp_path, data, reason):
    path = tmp_path / "other.events.jsonl"
    path.write_bytes(data)
    with pytest.raises(UnreadableRecordError, match=reason):
        read(str(path))


def test_a_missing_file_is_an_oserror(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(str(tmp_path / "none.events.jsonl"))


def test_a_record_of_an_unknown_kind_is_left_out(tmp_path):
    path = write_run(tmp_path / "a.events.jsonl", {"record": ["odd"]}, {"record": "steps", "steps": 4})
    assert read(path).steps["steps"] == 4


def test_damaged_bytes_never_raise_anything_else(path):
    data = Path(path).read_bytes()
    rng = random.Random(7)
    refused = 0
    for _ in range(600):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 8])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        Path(path).write_bytes(damaged)
        try:
            read(path)
        except UnreadableRecordError as error:
            refused += bool(str(error))
    assert refused > 100


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("--api-key X", f"--api-key {HIDDEN}"),
        ("--apikey X", f"--apikey {HIDDEN}"),
        ("--wandb_api_key=X", f"--wandb_api_key={HIDDEN}"),
        ("--token=X", f"--token={HIDDEN}"),
        ("--hub-token X --epochs 3", f"--hub-token {HIDDEN} --epochs 3"),
        ("--TOKEN X", f"--TOKEN {HIDDEN}"),
        ("--password X", f"--password {HIDDEN}"),
        ("--db-pwd=X", f"--db-pwd={HIDDEN}"),
        ("HF_TOKEN=X", f"HF_TOKEN={HIDDEN}"),
        ("+logger.token=X", f"+logger.token={HIDDEN}"),
        ("auth.user=X", f"auth.user={HIDDEN}"),
        ("hf_abcDEFghi0123", HIDDEN),
        ("--x hf_abcDEFghi0123", f"--x {HIDDEN}"),
        ("--x=hf_abcDEFghi0123", f"--x={HIDDEN}"),
        ("sk-proj-abcDEFghi0123", HIDDEN),
        ("ghp_abcDEFghi0123 ghs_abcDEFghi0123 github_pat_abcDEFghi0123", f"{HIDDEN} {HIDDEN} {HIDDEN}"),
        ("https://user:pw@host/x", HIDDEN),
        ("--db=postgres://u:p@h", f"--db={HIDDEN}"),
        ("--use-auth-token --lr 3", "--use-auth-token --lr 3"),
        ("--tokenizer gpt2", "--tokenizer gpt2"),
        ("--tokenizer=gpt2", "--tokenizer=gpt2"),
        ("--max-tokens 5", "--max-tokens 5"),
        ("--max_tokens=5", "--max_tokens=5"),
        ("--keyboard x --monkey y --authors z", "--keyboard x --monkey y --authors z"),
        ("https://host:80/x", "https://host:80/x"),
        ("https://host/x@y", "https://host/x@y"),
        ("train.py --lr=0.1 data/train.csv", "train.py --lr=0.1 data/train.csv"),
        ("-m package.train", "-m package.train"),
        ("hf_hub", "hf_hub"),
        ("hf_trainer.py", "hf_trainer.py"),
        ("hf_finetune_stage2.py", "hf_finetune_stage2.py"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N", HIDDEN),
    ],
)
def test_redaction(given, shown):
    assert " ".join(redacted(given.split(" "))) == shown


def test_every_kind_of_record_that_is_read_is_described():
    described, *_ = events.__doc__.partition("Times are milliseconds")[0].rpartition("\n")
    words = {word.strip(",") for line in described.splitlines() if line[4:5].strip() for word in line.split()}
    assert {"header", *events._TAKERS} <= words
