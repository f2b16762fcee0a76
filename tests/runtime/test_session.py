"""A probe that fails is noted, and the script ends as it would have; each case in a forked child of one process."""

import json
import os
import subprocess
import sys

import pytest
from builders import ENVIRONMENT, watch

from torchperf_lint.events import SUFFIX, read
from torchperf_lint.runtime import request

TRAIN = """
    import os, sys, json
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def main():
        torch.manual_seed(0)
        torch.set_num_threads(1)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = DataLoader(TensorDataset(torch.randn(64, 4)), batch_size=4, num_workers=1)
        for (x,) in loader:
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"loss {loss.item():.6f}", flush=True)
        sys.exit(7)
"""

BROKEN_CALLBACKS = (
    TRAIN
    + """
    def fail(*args, **kwargs):
        raise LookupError("injected")

    def session():
        from torchperf_lint.runtime.session import running
        return running[0]

    def break_steps():
        session().timeline._close = fail

    def break_loader():
        session().timeline.fetch_begins = session().timeline.fetch_ends = session().timeline.iter_ends = fail

    def break_workers():
        session().loaders.of = fail

    def break_state():
        from torchperf_lint.runtime.probes import state
        state.facts = fail

    def break_sources():
        session().recorder.sources.insert(0, fail)

    def break_sites():
        session().sites.key = fail

    def nothing():
        pass

    seen = {}
    for act in (nothing, break_steps, break_loader, break_workers, break_state, break_sources, break_sites):
        read, write = os.pipe()
        pid = os.fork()
        if not pid:
            os.dup2(write, 1)
            act()
            try:
                main()
            except SystemExit as end:
                os._exit(end.code)
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(99)
        os.close(write)
        seen[act.__name__] = pid, read
    ends = {}
    for name, (pid, read) in seen.items():
        with os.fdopen(read) as pipe:
            out = pipe.read()
        ends[name] = pid, out, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps(ends))
"""
)

BROKEN_INSTALLS = (
    """
    from torchperf_lint.runtime.probes import loader, state, steps, workers
    def fail(*args):
        raise LookupError("injected")
    for probe in (loader, state, steps, workers):
        probe.install = fail
"""
    + TRAIN
    + "    main()\n"
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("session")


@pytest.fixture(scope="module")
def children(directory):
    ran = watch(directory, BROKEN_CALLBACKS, name="callbacks")
    assert ran.returncode == 0, ran.err
    found = json.loads(ran.out.splitlines()[0])
    for seen in found.values():
        path = directory / f"callbacks.{seen[0]}{SUFFIX}"
        seen.append(read(str(path)) if path.exists() else None)
    return found


@pytest.fixture(scope="module")
def installs(directory):
    return watch(directory, BROKEN_INSTALLS, name="installs")


ACTS = ["break_steps", "break_loader", "break_workers", "break_state", "break_sources", "break_sites"]


@pytest.mark.parametrize("act", ACTS)
def test_a_probe_that_raises_leaves_the_script_alone(children, act):
    _, out, code, _ = children[act]
    assert children["nothing"][1].startswith("loss 0.") or children["nothing"][1].startswith("loss 1.")
    assert (out, code) == (children["nothing"][1], 7)


@pytest.mark.parametrize("act", ACTS)
def test_the_record_says_what_failed(children, act):
    run = children[act][3]
    failed = {p["name"]: p["reason"] for p in run.probes.values() if p["state"] == "failed"}
    assert failed
    assert all("LookupError: injected" in reason for reason in failed.values())
    expected = {"break_steps": "steps", "break_loader": "loader", "break_workers": "workers"}
    if act in expected:
        assert expected[act] in failed


def test_the_others_go_on(children):
    assert children["nothing"][3].steps["steps"] == 16
    assert not [p for p in children["nothing"][3].probes.values() if p["state"] == "failed"]
    assert children["break_state"][3].steps["steps"] == 16
    assert children["break_loader"][3].steps["steps"] == 16
    assert children["break_workers"][3].steps["steps"] == 16
    assert children["break_sources"][3].steps["steps"] == 16
    loader = next(iter(children["break_steps"][3].loaders.values()))
    assert loader["batches"] == 16


def test_probes_that_cannot_be_installed(installs, children):
    assert installs.returncode == 7
    assert installs.out.splitlines()[0] + "\n" == children["nothing"][1]
    probes = installs.record.probes
    for name in ("loader", "state", "steps", "workers"):
        assert probes[name]["state"] == "failed"
        assert probes[name]["reason"].startswith("LookupError: injected (installs.py:")
    assert probes["sources"]["state"] == "watching"


def test_a_script_without_torch_is_recorded_as_that(directory):
    ran = watch(directory, "print('no torch')\n", name="plain")
    assert (ran.returncode, ran.out.splitlines()[0]) == (0, "no torch")
    assert "torch" not in ran.record.state
    assert ran.record.ended["returncode"] == 0


def test_arguments_are_kept_without_secrets(directory):
    ran = watch(directory, "import sys; print(sys.argv[1:])\n", "--api-key", "abc", "--lr", "1", name="secret")
    assert ran.out.splitlines()[0] == "['--api-key', 'abc', '--lr', '1']"
    assert ran.record.header["argv"] == [ran.record.header["argv"][0], "--api-key", "***", "--lr", "1"]
    assert "abc" not in ran.path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("end", "code"),
    [("os._exit(5)", 5), ("sys.exit(3)", 3), ("raise KeyError('x')", 1), ("os.kill(os.getpid(), 15)", -15)],
)
def test_what_was_seen_before_the_end_is_kept(directory, end, code):
    script = f"""
        import os, sys
        from torchperf_lint.runtime.session import running
        def probe():
            running[0].recorder.event("sync", "item")
        def work():
            probe()
        work()
        if {code} == -15:
            running[0].recorder.flush()
        {end}
    """
    ran = watch(directory, script, name=f"end{abs(code)}")
    assert ran.returncode == code
    assert [c["n"] for c in ran.record.counts.values()] == [1]
    assert ran.record.ended["returncode"] == code


def test_it_ends_after_the_steps_asked_for(directory):
    script = TRAIN.replace("batch_size=4, num_workers=1", "batch_size=4") + "    main()\n"
    ran = watch(directory, script, options=("--steps", "5"), name="stopped")
    assert (ran.returncode, "loss" in ran.out) == (0, False)
    assert ran.record.steps["steps"] == 5
    assert ran.record.state["stopped_after"] == 5


@pytest.mark.parametrize("fed", [True, False])
def test_what_follows_the_last_step_belongs_to_it(directory, fed):
    script = f"""
        import torch
        from torch.utils.data import DataLoader

        net = torch.nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for number, x in enumerate(DataLoader(torch.rand(80, 4), batch_size=4) if {fed} else torch.rand(20, 4, 4)):
            net(x).sum().backward()
            optimizer.step()
            print("after", number + 1, flush=True)
    """
    ran = watch(directory, script, options=("--steps", "5"), name=f"fed{fed}")
    assert (ran.returncode, ran.record.steps["steps"], ran.record.state["stopped_after"]) == (0, 5, 5)
    assert ran.out.split()[-1] == "5"


@pytest.mark.parametrize("forward", ["net(x)", "(x @ net.weight.T)"])
def test_without_a_loader_the_beginning_of_the_next_step_does_not_count(directory, forward):
    script = f"""
        import torch

        net = torch.nn.Linear(3, 1, bias=False).cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0
        for number in range(20):
            x = torch.zeros(2, 3).cuda()
            loss = {forward}.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
    """
    counted = counted_in_five_steps(directory, script, f"loop{len(forward)}")
    assert (counted["copy", 8], counted["sync", 13]) == (5, 5)


def counted_in_five_steps(directory, script, name):
    ran = watch(directory, script, options=("--simulate", "--steps", "5"), name=name)
    record = ran.record
    assert (ran.returncode, record.steps["steps"], record.state["stopped_after"]) == (0, 5, 5)
    at = {number: site["line"] for number, site in record.sites.items()}
    return {(e["kind"], at[e["site"]]): record.counts[number]["n"] for number, e in record.events.items()}


LOOPS = {
    "adversaries": (
        """
        for number in range(20):
            x = torch.zeros(2, 3).cuda()
            judged = other(net(x).detach()).mean() - other(x).mean()
            judged.backward()
            their_optimizer.step()
            total += judged.item()
            fooled = -other(net(x)).mean()
            fooled.backward()
            optimizer.step()
            total += fooled.item()
        """,
        {("copy", 11): 5, ("sync", 15): 5, ("sync", 19): 5},
    ),
    "an average": (
        """
        for number in range(20):
            x = torch.zeros(2, 3).cuda()
            net(x).sum().backward()
            optimizer.step()
            with torch.no_grad():
                gap = (other(x) - net(x)).mean()
            total += gap.item()
        """,
        {("copy", 11): 5, ("sync", 16): 5},
    ),
    "waits before, too": (
        """
        report(net(torch.zeros(2, 3).cuda()).sum())
        for number in range(20):
            x = torch.zeros(2, 3).cuda()
            loss = net(x).sum()
            loss.backward()
            optimizer.step()
            report(loss)
            kept = net.weight.detach().cpu()
        """,
        {("copy", 10): 1, ("copy", 12): 5, ("sync", 9): 6, ("sync", 17): 5},
    ),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_what_a_loop_does_after_its_optimizers_step_belongs_to_that(directory, loop):
    text, expected = LOOPS[loop]
    script = """
        import torch

        net, other = torch.nn.Linear(3, 3).cuda(), torch.nn.Linear(3, 3).cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        their_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
        total = 0
        def report(loss):
            loss.item()"""
    counted = counted_in_five_steps(directory, script + text, loop.partition(",")[0].replace(" ", "_"))
    assert {place: counted.get(place) for place in expected} == expected


def test_a_process_that_is_told_nonsense_runs_unwatched(directory):
    env = {**ENVIRONMENT, "PYTHONPATH": str(request.STARTUP), "TORCHPERF_LINT_RUN": "{"}
    done = subprocess.run(
        [sys.executable, "-c", "print(1)"], env=env, cwd=directory, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n")


def test_what_fails_in_the_sink_of_the_simulated_device_stays_out_of_the_script(tmp_path):
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sink import RecordingSink

    session = Session({"events": str(tmp_path / f"run{SUFFIX}"), "owner_pid": os.getppid()})

    def broken(*args, **kwargs):
        raise LookupError("injected")

    session.recorder.event = broken
    sink = RecordingSink(session.recorder, lambda callback: session.guarded("simulated", callback))
    sink.sync("item")
    sink.copy("h2d", 8, False, True)
    sink.unsupported("something")
    session.recorder.flush()
    probe = read(session.recorder.path).probes["simulated"]
    assert (probe["state"], "injected" in probe["reason"]) == ("failed", True)


def test_a_forked_child_is_not_stopped_by_what_its_parent_waits_for(tmp_path):
    from torchperf_lint.runtime.session import Session, Stop

    session = Session({"events": str(tmp_path / f"run{SUFFIX}"), "owner_pid": os.getppid()})
    session.stop_after(1)
    (calls,) = session.on_call
    calls(None)
    session.timeline.step_ends(None, 1)
    with pytest.raises(Stop):
        calls(None)
    assert len(session.timeline.on_fetch) == 1
    for restart in session.restarts:
        restart()
    assert session.timeline.on_fetch == []
    calls(None)
    calls(None)


@pytest.mark.parametrize(("size", "several"), [(None, False), (1, False), (2, True)])
def test_ranks_end_where_they_step_together(monkeypatch, size, several):
    from types import SimpleNamespace

    from torchperf_lint.runtime import session

    group = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: size is not None, get_world_size=lambda: size
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", group)
    assert session._is_one_of_several() is several
