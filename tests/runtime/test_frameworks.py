"""Steps, phases and requests of scripts as users of each framework write them, found without help.

The plain ones run in forked children of one watched process, those of a framework each in a process of its own, and
only where it is installed: `pip install "torchperf-lint[frameworks]"` brings all of them.
"""

import json
import re
import shutil
from importlib.util import find_spec

import pytest
from builders import ROOT, watch
from test_steps_probe import HOST

from torchperf_lint.bounds import breakdown, loop_of
from torchperf_lint.events import SUFFIX, read
from torchperf_lint.runtime.reading import evidence_of

SCRIPTS = ROOT / "fixtures" / "frameworks"
PLAIN = {
    # steps, unit and count of requests, calls of a model in all, what must be in the breakdown
    "compiled": (60, None, 0, 0, {"data", "forward", "backward", "optimizer"}),
    "dqn_loop": (80, None, 0, 0, {"rollout or evaluation", "forward", "backward", "optimizer"}),
    "ppo_loop": (128, None, 0, 0, {"rollout or evaluation", "forward", "backward", "optimizer"}),
    "inference_server": (0, "request", 60, 60, {"forward", "other"}),
    "queue_server": (0, "call", 60, 60, {"forward"}),
    "generate_loop": (0, "request", 24, 288, {"forward", "other"}),
    "batch_inference": (0, "call", 80, 80, {"forward"}),
}


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """What was said, and name -> (record, exit code)."""
    directory = tmp_path_factory.mktemp("plain")
    shutil.copytree(SCRIPTS, directory, dirs_exist_ok=True)
    ran = watch(directory, HOST, *(f"{name}.py" for name in PLAIN), env={"UNCOMPILED": ""})
    assert ran.returncode == 0, ran.err
    seen = json.loads(next(line for line in ran.out.splitlines() if line.startswith("SEEN "))[5:])
    records = {name[:-3]: (read(str(directory / f"run.{pid}{SUFFIX}")), code) for name, (pid, code) in seen.items()}
    return ran.out, records


@pytest.mark.parametrize("name", PLAIN)
def test_plain_scripts(forked, name):
    record, code = forked[1][name]
    run = evidence_of([record])
    steps, unit, count, calls, phases = PLAIN[name]
    found = run.requests
    assert (run.steps, code) == (steps, 0)
    assert ((found.unit, found.count, found.calls) if found else (None, 0, 0)) == (unit, count, calls)
    assert {phase.phase for phase in breakdown(run)} >= phases
    assert sum(phase.share for phase in breakdown(run)) == pytest.approx(1)
    assert not [p for p in record.probes.values() if p["state"] == "failed"]


def test_plain_scripts_own_words(forked):
    out, _ = forked
    for said in ("80 updates", "8 rounds", "60 answers", "288 tokens", "torch.Size([1280])"):
        assert said in out


def test_waiting_for_requests_is_no_part_of_them(forked):
    for name in ("inference_server", "queue_server"):
        run = evidence_of([forked[1][name][0]])
        assert run.requests.idle_ms > 100, name
        assert loop_of(run).total_ms == pytest.approx(run.requests.total_ms)
        assert run.requests.place[1] in (20, 22)


def test_acting_is_told_from_learning(forked):
    for name in ("dqn_loop", "ppo_loop"):
        run = evidence_of([forked[1][name][0]])
        acted = [s for s in run.segments if s.phase == "rollout or evaluation"]
        assert {s.end[1] for s in acted} == {"dqn_loop": {43, 52}, "ppo_loop": {41, 58}}[name]
        steady = {"dqn_loop": (3 * 70, 5 * 70), "ppo_loop": (7 * 64, 7 * 66)}[name]
        assert steady[0] <= sum(s.times for s in acted) <= steady[1]


FRAMEWORKS = {
    # package, steps, training batches, evaluation batches, passes over the loader, the framework's words for steps
    "lightning_module": ("lightning", 60, 60, 20, 3, "60 steps, 60 losses"),
    "lightning_fabric": ("lightning", 80, 80, 0, 2, "epoch 1: "),
    "hf_trainer": ("transformers", 40, 80, 16, 2, "40 steps, 40 ended"),
    "accelerate_loop": ("accelerate", 40, 80, 16, 2, "epoch 1: "),
    "ignite_engine": ("ignite", 80, 80, 16, 2, "80 steps, 80 losses"),
    "skorch_classifier": ("skorch", 80, 80, 24, 2, "64 predicted"),
}
ALSO_NEEDS = {"hf_trainer": "accelerate"}


@pytest.fixture(scope="module")
def framework(tmp_path_factory):
    directory, known = tmp_path_factory.mktemp("frameworks"), {}

    def run(name, package):
        for needed in {package, ALSO_NEEDS.get(name, package)}:
            if find_spec(needed) is None:
                pytest.skip(f"{needed} is not installed (extra: frameworks)")
        if name not in known:
            shutil.copy(SCRIPTS / f"{name}.py", directory)
            known[name] = watch(directory, directory / f"{name}.py", name=name)
        return known[name]

    return run


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework(framework, name):
    package, *expected, words = FRAMEWORKS[name]
    ran = framework(name, package)
    assert ran.returncode == 0, ran.err
    assert words in ran.out
    run = evidence_of([ran.record])
    epochs = max(run.loaders, key=lambda loader: loader.batches).epochs
    assert [run.steps, run.train_batches, run.eval_batches, epochs] == expected
    shares = {phase.phase: phase.share for phase in breakdown(run)}
    assert {"data", "forward", "backward", "optimizer"} <= set(shares)
    assert sum(shares.values()) == pytest.approx(1)
    assert "rollout or evaluation" not in shares
    assert run.requests is None
    assert {s.end[0] for s in run.segments if s.end} == {f"{name}.py"}
    assert not [p for p in ran.record.probes.values() if p["state"] == "failed"]


def test_a_loader_made_again_by_a_framework_is_where_the_user_made_it(framework):
    run = evidence_of([framework("accelerate_loop", "accelerate").record])
    assert {loader.line: loader.batches for loader in run.loaders if loader.batches} == {12: 80, 13: 16}


def test_what_a_framework_does_after_the_step_is_said_to_be_in_its_loop(framework):
    ran = framework("lightning_module", "lightning")
    after = [s for s in evidence_of([ran.record]).segments if s.phase == "after the step"]
    assert {s.package for s in after} == {"lightning"}
    assert not re.search(r"what lightning_module\.py:\d+ does", ran.err)


def test_generate_of_transformers_is_one_request(framework):
    ran = framework("hf_generate", "transformers")
    found = evidence_of([ran.record]).requests
    assert (found.unit, found.count, found.calls, found.place) == ("request", 20, 160, ("hf_generate.py", 17))


def test_ppo_of_stable_baselines(framework):
    run = evidence_of([framework("sb3_ppo", "stable_baselines3").record])
    shares = {phase.phase: phase.share for phase in breakdown(run)}
    assert run.steps == 64
    assert shares["rollout or evaluation"] > 0.1
