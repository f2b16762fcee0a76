"""Collectives on real process groups: counted where they are called, and nothing is changed for the script."""

import json
import shutil
import sys
import types
from pathlib import Path

import pytest
from builders import run, watch

from torchperf_lint.events import SUFFIX, read
from torchperf_lint.runtime.probes import collectives
from torchperf_lint.runtime.reading import evidence_of

SEEN = Path(__file__).with_name("probes") / "collectives_seen.py"
SCRIPT = """
    import time
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset


    def average(model):
        for param in model.parameters():
            dist.all_reduce(param.grad)  # TPL758 confirmed


    def average_of_one(model):
        for param in model.parameters():
            dist.all_reduce(param.grad)  # TPL758 refuted


    def main():
        dist.init_process_group("gloo")
        torch.set_num_threads(1)
        rank, world = dist.get_rank(), dist.get_world_size()
        alone = [dist.new_group([r], group_desc="alone") for r in range(world)][rank]
        model, scale = nn.Linear(4, 1), nn.Linear(1, 1, bias=False)
        optimizer = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
        loader = DataLoader(TensorDataset(torch.randn(240, 4), torch.randn(240, 1)), batch_size=4)
        for turn, (x, y) in enumerate(loader):
            if turn % 2 == rank:
                time.sleep(0.01)
            loss = nn.functional.mse_loss(scale(model(x)), y)
            optimizer.zero_grad()
            loss.backward()
            average(model)
            average_of_one(scale)
            optimizer.step()
            shown = loss.detach()
            dist.all_reduce(shown)  # TPL756 confirmed
            dist.all_reduce(shown, group=alone)  # TPL756 refuted
            seen = [None] * world
            dist.all_gather_object(seen, len(x))  # TPL757 confirmed
            dist.all_gather_object([None], len(x), group=alone)  # TPL757 refuted
            dist.broadcast(y, 0, async_op=True).wait()
        dist.destroy_process_group()


    if __name__ == "__main__":
        main()
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Two ranks that exchange everything there is, and are late in turn."""
    directory = tmp_path_factory.mktemp("exchanges")
    lines = [line.removeprefix("    ") for line in SCRIPT.strip("\n").splitlines()]
    (directory / "train.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    watcher = ["-m", "torchperf_lint", "--runtime", "--isolated", "--events", f"x{SUFFIX}", "train.py"]
    done = run([sys.executable, *launcher, *watcher], directory)
    assert done.returncode == 0, done.stderr
    return directory, done


@pytest.fixture(scope="module")
def report(two):
    directory, _ = two
    command = [sys.executable, "-m", "torchperf_lint", "--report", f"x.rank0{SUFFIX}", "--output-format", "json"]
    return json.loads(run(command, directory).stdout)


@pytest.fixture(scope="module")
def events(two):
    directory, _ = two
    lines = (directory / "train.py").read_text(encoding="utf-8").splitlines()
    evidence = evidence_of([read(str(directory / f"x.rank{n}{SUFFIX}")) for n in (0, 1)])
    return {
        (e.what, lines[e.line - 1].partition("# ")[2]): e for e in evidence.events if e.kind == "collective"
    }, evidence


EXPECTED = {
    ("all_reduce", "TPL758 confirmed"): (120, 2, "default_pg"),
    ("all_reduce", "TPL758 refuted"): (60, 2, "default_pg"),
    ("all_reduce", "TPL756 confirmed"): (60, 2, "default_pg"),
    ("all_reduce", "TPL756 refuted"): (60, 1, "alone"),
    ("all_gather_object", "TPL757 confirmed"): (60, 2, "default_pg"),
    ("all_gather_object", "TPL757 refuted"): (60, 1, "alone"),
    ("broadcast", ""): (60, 2, "default_pg"),
}


def test_each_call_is_counted_once_with_its_group(events):
    found, _ = events
    seen = {k: (e.count, e.attributes.get("processes"), e.attributes.get("group")) for k, e in found.items()}
    assert seen == EXPECTED | {("wait", ""): (60, None, None)}
    assert {key for key, event in found.items() if event.attributes.get("asynchronous")} == {("broadcast", "")}
    assert all(event.by_rank == (event.count,) * 2 for event in found.values())


def test_bytes_and_host_time(events):
    found, _ = events
    assert found["all_reduce", "TPL756 confirmed"].nbytes == 60 * 4
    assert found["broadcast", ""].nbytes == 60 * 4 * 4
    assert found["all_gather_object", "TPL757 confirmed"].nbytes == 0
    # Rank 0 and rank 1 wait for each other by turns, in the first collective of a step.
    assert found["all_reduce", "TPL758 confirmed"].blocked_ms > 15 * 10


@pytest.mark.parametrize("code", ["TPL756", "TPL757", "TPL758"])
def test_rules_confirm_and_refute(two, report, code):
    directory, _ = two
    lines = (directory / "train.py").read_text(encoding="utf-8").splitlines()
    judged = {
        lines[f["line"] - 1].partition("# ")[2]: f["verdict"]["outcome"]
        for f in report["findings"]
        if f["code"] == code
    }
    assert judged == {f"{code} confirmed": "confirmed", f"{code} refuted": "refuted"}


def test_ranks_that_are_late_in_turn_are_told(report):
    found = {d["code"]: d for d in report["runtime"]["diagnoses"]}
    assert "TPL763" not in found
    assert found["TPL914"]["title"].startswith("now one rank, now another is late")
    assert "most of it in forward" in found["TPL914"]["evidence"]
    assert report["runtime"]["stragglers"]["steps_compared"] == 50


def test_a_name_that_was_imported_before_is_said(monkeypatch):
    original, users = object(), types.ModuleType("users")
    monkeypatch.setitem(sys.modules, "users", users)
    assert collectives._held_elsewhere([original]) is None
    users.reduce_all = original
    assert collectives._held_elsewhere([original]) == "module users"


def test_a_script_cannot_tell_that_collectives_are_watched(tmp_path):
    shutil.copy(SEEN, tmp_path)
    plain = run([sys.executable, "collectives_seen.py"], tmp_path)
    assert plain.returncode == 0, plain.stderr
    ran = watch(tmp_path, tmp_path / "collectives_seen.py", options=("--output-file", "report.txt"))
    assert (ran.out, ran.returncode) == (plain.stdout, 0), ran.err
    assert "collectives" not in evidence_of([ran.record]).unwatched
