"""What bounds a run: every diagnosis on its case, and silent on the cases next to it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runs import GPU, STEADY, WARMUP, answered, between_calls, loader, run, segments, sync, utilisation, waiting, worker

from torchperf_lint import catalog
from torchperf_lint.bounds import DEFAULT, breakdown, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.loading import loading_of
from torchperf_lint.model import Diagnosis
from torchperf_lint.recorded import Event, Rank, Segment, Spread
from torchperf_lint.rule import RunRule
from torchperf_lint.runtime.diagnose import NOT_DECIDED, diagnose

RULES = [rule for rule in catalog.rule_classes() if issubclass(rule, RunRule)]
MANY_CORES = utilisation(cores=16)
TWO_CORES = utilisation(cores=2)
HOST_BUSY = {"after_the_step": 0.5}


def on_gpu(busy=None, **changes):
    return {"device": GPU, "utilisation": utilisation(cores=8, gpu=busy), **changes}


def rank(number, data_ms):
    pace = Spread(20.0, 30.0, STEADY)
    return Rank(number, number, WARMUP + STEADY, pace, 0.0, {"data": data_ms, "forward": 4.0}, group=2)


def in_turn(number):
    """A rank that is late in every second step."""
    steps = {n: {"data": 1.0 + 9.0 * (n % 2 == number), "forward": 4.0} for n in range(WARMUP, WARMUP + STEADY)}
    return replace(rank(number, 1.0), single_steps=steps)


def on_gpu_computing(dtype):
    graph = {"hidden": 0, "matmuls": {dtype: 1}, "convolutions": {dtype: 9}, "planar": 9}
    return run(state={"graph": graph, "gpus": [{"capability": [9, 0]}]}, **on_gpu(0.97))


def compiled(what, count, line=12, **attributes):
    attributes = {"guard": "tensor 'x' size mismatch at index 0. expected ..., actual ...", "last": 40, **attributes}
    return Event("compile", what, "model.py", line, count, function="forward", steady=count, attributes=attributes)


def ended(line, what="break"):
    reason = {"reason": "Failed to trace builtin operator", "explanation": "Dynamo cannot trace `print`."}
    return Event("graph-break", what, "model.py", line, 2, function="forward", attributes=reason)


def warning(text, line=7, count=1):
    return Event("warning", "UserWarning", "train.py", line, count, attributes={"text": text})


def updating(elements, device="cpu", own=False):
    """The state of a run whose optimizer updates so many, in ten tensors."""
    one = {"class": "AdamW", "module": "torch.optim.adamw", "tensors": 10, "parameters": elements, "devices": [device]}
    step = {"path": "train.py", "line": 3, "last": 9} if own else None
    return {"optimizers": [{**one, "switches": {"foreach": None, "fused": None}, "step": step}]}


def evaluating(ms, passes=5, data=0.0, between_ms=0.0, **changes):
    """A run that trains for 2000 ms after the warm-up, and evaluates so long, in so many passes of 10 batches."""
    places = (("train.py", 40), ("train.py", 40))
    evaluated = (
        Segment("no backward", *places, ms * (1 - data), passes * 10),
        Segment("data", *places, ms * data, passes * 11),
        Segment("loader start", *places, 0.0, passes),
    )
    outside = (Segment("no backward", *places, between_ms, passes),) if between_ms else ()
    figures = {"eval_batches": 50, "eval_segments": evaluated, "outside_segments": outside}
    return run(**{**figures, "utilisation": MANY_CORES, **changes})


# name -> (run, codes that must be said; compute on the CPU is left out unless it is the point)
CASES = {
    # The loader's wait, and the neighbours of the thresholds.
    "waits 8 %": (waiting(0.08, utilisation=MANY_CORES), set()),
    "waits 10 %": (waiting(0.101, utilisation=MANY_CORES), {"TPL901"}),
    "waits 60 %, computing": (waiting(0.6, utilisation=MANY_CORES), {"TPL901"}),
    "waits 60 %, asleep, no trace of storage": (waiting(0.6, cpu=0.05, utilisation=MANY_CORES), {"TPL901"}),
    "waits 60 %, asleep, on the disk": (
        waiting(0.6, cpu=0.05, utilisation=utilisation(cores=16, disk_sleep=0.5)),
        {"TPL309"},
    ),
    "waits 60 %, asleep, reading": (
        waiting(0.6, cpu=0.05, changes={"read_bytes": 5e7}, utilisation=MANY_CORES),
        {"TPL309"},
    ),
    "waits 60 %, half computing, reading": (
        waiting(0.6, cpu=0.5, changes={"read_bytes": 5e7}, utilisation=MANY_CORES),
        {"TPL309", "TPL901"},
    ),
    "waits 60 %, computing, reading": (
        waiting(0.6, cpu=0.95, changes={"read_bytes": 5e7}, utilisation=MANY_CORES),
        {"TPL901"},
    ),
    "waits 60 %, ready without a core, on the disk": (
        waiting(
            0.6,
            cpu=0.3,
            changes={"queued_ms": 600.0, "queued_of_ms": 1000.0},
            utilisation=utilisation(cores=16, disk_sleep=0.5),
        ),
        {"TPL901"},
    ),
    "IO pressure alone proves nothing": (
        waiting(0.6, cpu=0.05, utilisation=utilisation(cores=16, pressure__io_share=0.6)),
        {"TPL901"},
    ),
    "a loader read in the background": (
        run(loaders=[loader(12.0, background=True)], utilisation=MANY_CORES),
        set(),
    ),
    "no loader, data phase all the same": (run(shares={"data": 0.6}, utilisation=MANY_CORES), set()),
    # Workers.
    "too few workers": (waiting(0.5, 2, cost=worker(40, 0.95), utilisation=MANY_CORES), {"TPL902"}),
    "too few workers, half computing": (waiting(0.5, 2, cost=worker(40, 0.5), utilisation=MANY_CORES), {"TPL902"}),
    "too few workers, cores unknown": (waiting(0.5, 2, cost=worker(40, 0.95)), {"TPL902"}),
    "workers wait 8 %": (waiting(0.08, 2, cost=worker(40, 0.95), utilisation=MANY_CORES), set()),
    "4 computing workers on 2 cores": (waiting(0.5, 4, cost=worker(60, 0.95), utilisation=TWO_CORES), {"TPL311"}),
    "some more workers, and the cap bites": (
        waiting(0.5, 2, cost=worker(80, 0.95), utilisation=utilisation(cores=5)),
        {"TPL311", "TPL902"},
    ),
    "4 workers queue for 2 cores": (
        waiting(0.5, 4, cost=worker(60, 0.45, 0.5), utilisation=TWO_CORES),
        {"TPL311", "TPL906"},
    ),
    "2 workers queue on 16 cores": (
        waiting(0.5, 2, cost=worker(60, 0.45, 0.5), utilisation=MANY_CORES),
        {"TPL906"},
    ),
    "16 threads compute on 2 cores": (run(state={"threads": 16}, utilisation=TWO_CORES), {"TPL906"}),
    "2 threads compute on 2 cores": (run(state={"threads": 2}, utilisation=TWO_CORES), set()),
    "1 thread computes on half a core": (run(state={"threads": 1}, utilisation=utilisation(cores=0.5)), set()),
    "16 threads beside a device": (run(state={"threads": 16}, **on_gpu(0.5) | {"utilisation": TWO_CORES}), {"TPL900"}),
    "16 threads that wait for data": (
        waiting(0.6, state={"threads": 16}, utilisation=TWO_CORES),
        {"TPL901"},
    ),
    "workers queue, training does not wait": (
        waiting(0.05, 4, cost=worker(60, 0.45, 0.5), utilisation=TWO_CORES),
        set(),
    ),
    "workers asleep": (waiting(0.5, 2, cost=worker(60, 0.05), utilisation=MANY_CORES), {"TPL907"}),
    "workers asleep on the disk": (
        waiting(0.5, 2, cost=worker(60, 0.05), utilisation=utilisation(cores=16, disk_sleep=0.5)),
        {"TPL309"},
    ),
    "workers read": (waiting(0.5, 2, cost=worker(60, 0.05, read_rate=5e6), utilisation=MANY_CORES), {"TPL309"}),
    "workers fault": (waiting(0.5, 2, cost=worker(60, 0.05, faults=200), utilisation=MANY_CORES), {"TPL309"}),
    "workers enough, batches late": (waiting(0.2, 8, cost=worker(20, 0.9), utilisation=MANY_CORES), {"TPL908"}),
    "workers were not watched": (waiting(0.5, 2, utilisation=MANY_CORES), {"TPL908"}),
    "workers' CPU time unknown": (
        waiting(0.5, 2, cost={**worker(40), "cpu_ms": None, "queued_ms": None}, utilisation=MANY_CORES),
        {"TPL902"},
    ),
    # Restarts.
    "short passes": (
        run(loaders=[loader(0.1, 4, epochs=11, start_ms=1100.0)], utilisation=MANY_CORES),
        {"TPL905"},
    ),
    "short passes, persistent workers": (
        run(
            loaders=[loader(0.1, 4, epochs=11, start_ms=1100.0, settings={"persistent_workers": True})],
            utilisation=MANY_CORES,
        ),
        set(),
    ),
    "two passes": (run(loaders=[loader(0.1, 4, epochs=2, start_ms=1100.0)], utilisation=MANY_CORES), set()),
    "short passes, quick starts": (
        run(loaders=[loader(0.1, 4, epochs=11, start_ms=11.0)], utilisation=MANY_CORES),
        set(),
    ),
    # Ranks.
    "ranks are late in turn": (run(ranks=(in_turn(0), in_turn(1))), {"TPL914"}),
    "one rank is late": (run(ranks=(rank(0, 1.0), rank(1, 9.0))), {"TPL763"}),
    "ranks are alike": (run(ranks=(rank(0, 1.0), rank(1, 1.5))), set()),
    # The device.
    "blocked, device idle": (
        run(shares={"waiting_for_the_device": 0.5}, events=(sync(blocked_ms=10.0),), **on_gpu(0.4)),
        {"TPL903"},
    ),
    "blocked, device busy": (
        run(shares={"waiting_for_the_device": 0.5}, events=(sync(blocked_ms=10.0),), **on_gpu(0.97)),
        {"TPL909"},
    ),
    "blocked, device's use unknown": (
        run(shares={"waiting_for_the_device": 0.5}, events=(sync(blocked_ms=10.0),), **on_gpu()),
        {NOT_DECIDED},
    ),
    "blocked 5 %": (run(shares={"waiting_for_the_device": 0.05}, **on_gpu(0.4)), {NOT_DECIDED}),
    "busy but waiting for data": (waiting(0.3, **on_gpu(0.95)), {"TPL901"}),
    # The rest of the loop.
    "slow after the step": (run(shares=HOST_BUSY, utilisation=MANY_CORES), {"TPL904"}),
    "slow before the step": (run(shares={"gradients": 0.3}, utilisation=MANY_CORES), {"TPL904"}),
    "slow after the step, device busy": (run(shares=HOST_BUSY, **on_gpu(0.95)), {NOT_DECIDED}),
    "slow after the step, device idle": (run(shares=HOST_BUSY, **on_gpu(0.3)), {"TPL904"}),
    "8 % after the step": (run(shares={"after_the_step": 0.08}, utilisation=MANY_CORES), set()),
    "half of a tiny step": (run(step_ms=0.1, shares=HOST_BUSY, utilisation=MANY_CORES), set()),
    "small kernels": (
        run(state={"kernels": {"steps": 1, "count": 900, "median_us": 3.0, "busy_share": 0.3}}),
        {"TPL658"},
    ),
    "copies while no kernel runs": (
        run(
            state={"kernels": {"steps": 8, "count": 80, "median_us": 90, "busy_share": 0.5, "copy_share": 0.3}},
            **on_gpu(),
        ),
        {"TPL911"},
    ),
    "busy in float32": (on_gpu_computing("float32"), {"TPL502", "TPL909"}),
    "busy in bfloat16, channels first": (on_gpu_computing("bfloat16"), {"TPL508", "TPL909"}),
    "the allocator starts over": (run(state={"allocations": {"steps": 90, "looks": 2, "retries": 3}}), {"TPL406"}),
    "the allocator has settled": (run(state={"allocations": {"steps": 90, "looks": 9, "retries": 0}}), set()),
    "acting": (run(shares={"rollout_or_evaluation": 0.4}, **on_gpu(0.3)), {"TPL916"}),
    "acting, device busy": (run(shares={"rollout_or_evaluation": 0.4}, **on_gpu(0.95)), {"TPL909"}),
    "acting 8 %": (run(shares={"rollout_or_evaluation": 0.08}, utilisation=MANY_CORES), set()),
    # The optimizer.
    "a slow optimizer": (run(shares={"optimizer": 0.4}, utilisation=MANY_CORES), {"TPL915"}),
    "a slow optimizer, device idle": (run(shares={"optimizer": 0.4}, **on_gpu(0.3)), {"TPL915"}),
    "a slow optimizer, device busy": (run(shares={"optimizer": 0.4}, **on_gpu(0.95)), {"TPL909"}),
    "an optimizer of 24 %": (run(shares={"optimizer": 0.24}, utilisation=MANY_CORES), set()),
    "an optimizer of 0.9 ms": (run(step_ms=2.0, shares={"optimizer": 0.45}), set()),
    "a slow optimizer beside a toy": (run(step_ms=10.0, shares={"optimizer": 0.91}), set()),
    "an optimizer that is merely large": (run(shares={"optimizer": 0.4}, state=updating(200_000)), set()),
    "an optimizer of many small tensors": (run(shares={"optimizer": 0.4}, state=updating(199_000)), {"TPL915"}),
    "an own optimizer that is merely large": (run(shares={"optimizer": 0.4}, state=updating(410_000, own=True)), set()),
    "an own optimizer that is slow as well": (
        run(shares={"optimizer": 0.4}, state=updating(390_000, own=True)),
        {"TPL915"},
    ),
    "an optimizer that is merely large, on a GPU": (
        run(shares={"optimizer": 0.4}, state=updating(10**6, "cuda"), **on_gpu(0.3)),
        {"TPL915"},
    ),
    "an optimizer that is large beyond measure": (run(shares={"optimizer": 0.6}, state=updating(10**6)), {"TPL915"}),
    "a slow optimizer, simulated": (
        run(shares={"optimizer": 0.4}, device="simulated", simulated=True),
        {NOT_DECIDED},
    ),
    # Evaluation beside training, which takes 2000 ms.
    "evaluates much": (evaluating(1000.0), {"TPL918"}),
    "evaluates much, device busy": (evaluating(1000.0, **on_gpu(0.95)), {"TPL909", "TPL918"}),
    "evaluates 23 %": (evaluating(600.0), set()),
    "evaluates much, twice": (evaluating(1000.0, passes=2), set()),
    "evaluates much, as workers start anew": (
        evaluating(
            1000.0, data=0.9, loaders=[loader(0.1, 2, batches=40, epochs=5, start_ms=500.0, first_wait_ms=400.0)]
        ),
        {"TPL905"},
    ),
    "only evaluates, often": (replace(evaluating(1000.0), steps=0, segments=()), set()),
    "requests": (answered(), set()),
    "between steps": (run(shares={"between_steps": 0.4}), {"TPL904"}),
    "between steps, device busy": (run(shares={"between_steps": 0.4}, **on_gpu(0.95)), {"TPL909"}),
    "between steps 8 %": (run(shares={"between_steps": 0.08}), set()),
    "requests, prepared on the host": (answered(between=between_calls(55.0)), {"TPL919"}),
    "requests, prepared a little": (answered(between=between_calls(4.5)), set()),
    "requests, waited for": (answered(between=between_calls(0.05, wall_ms=900.0)), set()),
    "requests of nearly nothing": (answered(between=between_calls(0.05, calls_ms=0.01)), set()),
    "requests, waits for a device unseen": (
        replace(answered(between=between_calls(55.0)), device=GPU, unwatched={"host-sync": "no"}),
        {NOT_DECIDED},
    ),
    "requests that compute little": (answered(in_calls_ms=500.0), {NOT_DECIDED}),
    "requests, fewer than the warm-up": (answered(steady=0), {NOT_DECIDED}),
    "slow forward on a device": (run(**on_gpu(0.3)), {NOT_DECIDED}),
    # torch.compile, and what torch warned of.
    "compiles in the loop": (run(shares={"compiling": 0.4}, events=(compiled("again", 90),)), {"TPL913"}),
    "compiles 8 % of the loop": (run(shares={"compiling": 0.08}, events=(compiled("again", 9),)), set()),
    "compiled once": (run(events=(compiled("first", 1),)), set()),
    "compiled too often": (run(events=(compiled("again", 7), compiled("limit", 1))), {"TPL913"}),
    "graphs end": (run(events=(compiled("first", 1), ended(30), ended(31, "frame"))), {"TPL912"}),
    "torch warned": (
        run(
            events=(
                warning(
                    "find_unused_parameters=True was specified in DDP constructor, but did not "
                    "find any unused parameters in the forward pass."
                ),
            )
        ),
        {"TPL917"},
    ),
    "torch warned of something else": (run(events=(warning("lr_scheduler.step() before optimizer.step()"),)), set()),
    # What cannot be said.
    "simulated, waiting": (waiting(0.6, device="simulated", simulated=True), {NOT_DECIDED}),
    "simulated, slow after the step": (run(shares=HOST_BUSY, device="simulated", simulated=True), {NOT_DECIDED}),
    "shorter than the warm-up": (run(steps=WARMUP), {NOT_DECIDED}),
    "no step": (Evidence(), {NOT_DECIDED}),
    "no torch": (Evidence(unwatched={"torch": "the script did not import torch"}), {NOT_DECIDED}),
}


def codes(evidence, but=()):
    said, problems = diagnose(evidence)
    assert problems == ()
    return {diagnosis.code for diagnosis in said} - set(but)


@pytest.mark.parametrize("name", CASES)
def test_what_is_said(name):
    evidence, expected = CASES[name]
    said = codes(evidence)
    if "TPL910" in said:
        assert loop_of(evidence).share("forward", "backward", "optimizer") >= DEFAULT.compute
        assert evidence.device is None
    assert (said - {"TPL910"}) == expected or (not expected and said <= {"TPL910", NOT_DECIDED})


def test_every_rule_has_its_case():
    assert {code for _, expected in CASES.values() for code in expected} | {"TPL910"} == {rule.code for rule in RULES}


@pytest.mark.parametrize("name", CASES)
def test_a_run_without_a_device_is_told_nothing_about_one(name):
    evidence, _ = CASES[name]
    if evidence.device is None:
        assert codes(evidence).isdisjoint({"TPL903", "TPL909", "TPL911"})


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name][0].simulated])
def test_a_simulated_run_makes_no_claim_about_time(name):
    evidence = replace(CASES[name][0], events=(sync(blocked_ms=3.0),))
    (said,) = diagnose(evidence).diagnoses
    assert " ms" not in said.title + said.evidence + said.advice
    assert "%" not in said.title + said.evidence + said.advice
    assert "110 synchronisations at 1 line, 1 a step" in said.evidence
    assert breakdown(evidence) is None


def only(evidence, code) -> Diagnosis:
    (said,) = (d for d in diagnose(evidence).diagnoses if d.code == code)
    return said


@pytest.mark.parametrize("workers", [0, 1, 4, 16])
@pytest.mark.parametrize("cpu", [0.05, 0.5, 0.95, None])
@pytest.mark.parametrize("queued", [0.0, 0.4])
@pytest.mark.parametrize("disk_sleep", [0.0, 0.5])
@pytest.mark.parametrize("cores", [2, 16, None])
def test_a_wait_for_data_is_never_passed_over(workers, cpu, queued, disk_sleep, cores):
    cost = worker(30, cpu or 0.0, queued)
    cost |= {"cpu_ms": None, "queued_ms": None} if cpu is None else {}
    evidence = waiting(
        0.4,
        workers,
        cpu=cpu or 0.0,
        cost=cost if workers else None,
        utilisation=utilisation(cores=cores, disk_sleep=disk_sleep),
    )
    said = [d for d in diagnose(evidence).diagnoses if d.code != "TPL910"]
    assert said
    assert all("training waits for data 40 % of the step's time" in d.title for d in said)


def test_a_device_that_was_opened_and_left_alone_is_said():
    optimizer = {"class": "SGD", "tensors": 2, "parameters": 2, "devices": ["cpu"], "switches": {}}
    left_alone = replace(run(shares={"forward": 0.5, "backward": 0.5}), device="NVIDIA H200", events=())
    left_alone = replace(left_alone, state={**left_alone.state, "optimizers": [optimizer]})
    said = only(left_alone, "TPL910")
    assert said.title == "compute on the CPU takes 100 % of the step's time; nothing of it was put on the NVIDIA H200"
    assert said.advice.startswith("if the GPU was meant: ")
    simulated = only(replace(left_alone, device="simulated", simulated=True), NOT_DECIDED)
    assert "stays on the CPU" in simulated.title
    assert "with a GPU" not in simulated.advice
    used = replace(left_alone, state={"optimizers": [optimizer | {"devices": ["cuda"]}]})
    assert "TPL910" not in codes(used)


def test_what_lies_between_steps_is_said_with_its_lines_and_before_computing():
    first, second = diagnose(run(shares={"between_steps": 0.4, "forward": 0.3, "backward": 0.3})).diagnoses
    assert first.title == (
        "what lies between the optimizer's step (train.py:24) and the call of the model (train.py:21) takes 40 % of "
        "the step's time"
    )
    assert first.evidence == "8.00 ms a step, on the host"
    assert "batches are made there, too" in first.advice
    assert second.code == "TPL910"


def test_computing_leads_where_one_phase_of_it_takes_more_than_what_lies_between_steps():
    said = diagnose(run(shares={"between_steps": 0.15, "backward": 0.6})).diagnoses
    assert [d.code for d in said] == ["TPL910", "TPL904"]


def test_what_is_computed_between_calls_is_said_first_and_with_its_lines():
    first, second = diagnose(answered(between=between_calls(45.0))).diagnoses
    assert (first.code, second.code) == ("TPL919", "TPL910")
    assert first.title == (
        "what the host computes between two calls of the model (from the end of the call at serve.py:12 to the next "
        "there) takes 75 % of the time of an answer"
    )
    assert first.evidence.startswith("45.0 ms of CPU time of the calling thread between two calls, 15.0 ms in calls; ")
    assert (
        "in transformers, which serve.py:12 calls"
        in only(answered(between=between_calls(45.0, package="transformers")), "TPL919").title
    )


def test_the_number_of_workers_comes_with_what_it_is_made_of():
    said = only(waiting(0.5, 2, cost=worker(40, 0.95), utilisation=MANY_CORES), "TPL902")
    assert said.title == ("training waits for data 50 % of the step's time, 10.0 ms a batch: 2 workers are too few")
    assert said.evidence == (
        "a fetch computes 95 % of its time; a batch costs a worker 40.0 ms, the rest of the step takes 10.0 ms a "
        "batch: 1.1 x 40.0 ms / 10.0 ms asks for 5 workers; 16 cores allowed (affinity), good for 15 workers"
    )
    assert said.advice == "try `num_workers=5` at train.py:9"


@pytest.mark.parametrize(
    ("cores", "ranks", "cpu", "cap"),
    [
        (16, 1, 1.0, 15),
        (16, 4, 1.0, 3),
        (2, 1, 1.0, 1),
        (1, 1, 1.0, 1),
        (2, 4, 1.0, 1),
        (3.5, 1, 1.0, 2),
        (4, 1, 0.1, 8),
        (4, 2, 0.1, 4),
        (None, 1, 1.0, None),
    ],
)
def test_workers_are_capped_by_the_cores_of_each_rank(cores, ranks, cpu, cap):
    evidence = waiting(0.5, 2, cost=worker(40, cpu), utilisation=utilisation(cores=cores))
    assert loading_of(replace(evidence, ranks=evidence.ranks * ranks)).cap == cap


def test_gradient_accumulation_counts_batches_not_steps():
    one = replace(loader(5.0, 2, batches=4 * STEADY), worker=worker(40))
    phases = segments(40.0, STEADY, data=0.5)
    phases = tuple(replace(s, times=4 * STEADY) if s.phase == "data" else s for s in phases)
    evidence = run(40.0, loaders=[one], train_batches=4 * STEADY, segments=phases, utilisation=MANY_CORES)
    loading = loading_of(evidence)
    assert loading.rest_ms == pytest.approx(5.0)
    assert loading.needed == 9


def test_the_first_batch_of_a_pass_is_not_held_against_the_number_of_workers():
    slow_starts = replace(loader(0.1, 4), worker=worker(10), first_wait_ms=1000.0, start_ms=0.0)
    assert loading_of(run(loaders=[slow_starts], shares={"data": 0.5})) is None


def test_the_loader_of_the_loop_is_the_one_with_its_batches():
    validation = loader(50.0, batches=30, line=40)
    evidence = run(loaders=[validation, loader(10.0)], shares={"data": 0.5})
    assert loading_of(evidence).place == "train.py:9"


def test_a_run_that_only_evaluates_can_wait_for_data():
    shares = {"data": 0.6, "no_backward": 0.4, "forward": 0.0}
    evidence = run(
        steps=0, train_batches=0, eval_batches=110, loaders=[loader(12.0)], segments=(), utilisation=MANY_CORES
    )
    evidence = replace(evidence, eval_segments=segments(20.0, 100, **shares))
    assert codes(evidence) == {"TPL901"}
    assert "60 % of the batch's time" in only(evidence, "TPL901").title
    assert [(p.phase, round(p.share, 2)) for p in breakdown(evidence)] == [("data", 0.6), ("forward", 0.4)]


def test_slow_code_is_named_by_the_lines_that_bound_it():
    said = only(run(shares=HOST_BUSY), "TPL904")
    assert said.title == "what follows the optimizer's step (from train.py:24 to line 20) takes 50 % of the step's time"
    assert said.evidence == "10.0 ms a step, on the host"
    assert said.advice.endswith("or in another thread: from train.py:24 to line 20")


def test_nobody_is_told_to_clip_gradients_rarely():
    said = only(run(shares={"gradients": 0.3}), "TPL904")
    assert said.title.startswith("what stands between backward and the optimizer's step (from train.py:23 to line 24)")
    assert said.advice.startswith("clip gradients in one call for all parameters")


def test_stretches_with_one_advice_are_one_diagnosis():
    said = only(run(shares={"after_the_step": 0.3, "other": 0.2}), "TPL904")
    assert said.title == "code of the loop beside model and data, in 2 stretches, takes 50 % of the step's time"
    assert said.evidence == (
        "on the host: what follows the optimizer's step (from train.py:24 to line 20) 6.00 ms a step; "
        "other code of the loop (from train.py:25 to line 30) 4.00 ms a step"
    )
    assert said.advice.endswith("from train.py:24 to line 20, from train.py:25 to line 30")


def test_collectives_between_the_marks_are_one_cause_with_their_lines():
    shares = {"after_the_step": 0.4, "gradients": 0.3}
    exchanges = Event("collective", "all_reduce", "train.py", 33, 110, train_turns=110, blocked_ms=900.0)
    said = only(run(shares=shares, events=(exchanges,)), "TPL904")
    assert said.evidence.endswith(
        "; collectives that Python calls block 9.00 ms a step; longest: train.py:33 (all_reduce) 9.00 ms"
    )
    assert said.advice.endswith("begin with train.py:33")
    few = replace(exchanges, blocked_ms=300.0)
    both = [d for d in diagnose(run(shares=shares, events=(few,))).diagnoses if d.code == "TPL904"]
    assert len(both) == 2
    assert not any("collective" in d.evidence for d in both)


def test_blocked_time_is_called_an_upper_bound():
    events = (sync(25, blocked_ms=8.0), sync(31, "stream", blocked_ms=2.0), sync(40, blocked_ms=None))
    evidence = run(shares={"waiting_for_the_device": 0.5}, events=events, **on_gpu(0.4))
    said = only(evidence, "TPL903")
    assert "blocked 10.0 ms a step (upper bound of what removing it saves)" in said.evidence
    assert said.evidence.endswith("longest: train.py:25 (item) 8.00 ms, train.py:31 (stream) 2.00 ms")
    assert said.advice.endswith("begin with train.py:25")


def test_waits_of_copies_to_the_device_are_told_to_be_copied_ahead():
    wait = sync(160, "stream", blocked_ms=8.0, path="/site-packages/accelerate/operations.py", via=("train.py", 18))
    copy = replace(wait, kind="copy", what="h2d", blocked_ms=None, attributes={"blocking": True})
    said = only(run(shares={"waiting_for_the_device": 0.5}, events=(wait, copy), **on_gpu(0.4)), "TPL903")
    assert said.evidence.endswith("longest: train.py:18, in a package (stream) 8.00 ms")
    assert said.advice == (
        "copy from pinned memory with `non_blocking=True` (where a package copies, by its settings); "
        "begin with train.py:18, in a package"
    )
    read = only(run(shares={"waiting_for_the_device": 0.5}, events=(wait,), **on_gpu(0.4)), "TPL903")
    assert read.advice.startswith("keep values on the device")


def test_the_strongest_comes_first():
    evidence = waiting(0.2, shares={"after_the_step": 0.6}, utilisation=MANY_CORES)
    assert [d.code for d in diagnose(evidence).diagnoses] == ["TPL904", "TPL901"]


@pytest.mark.parametrize(
    ("evidence", "title"),
    [
        (run(steps=WARMUP), "not decided: the run is shorter than its warm-up of 10 steps"),
        (Evidence(), "not decided: no training step and no batch was seen"),
        (run(**on_gpu(0.4)), "not decided: no part of it stands out"),
        (run(simulated=True), "not decided: times are not measured on a simulated device"),
        (Evidence(unwatched={"torch": "never imported"}), "not decided: nothing was watched"),
    ],
)
def test_what_is_missing_is_said(evidence, title):
    assert only(evidence, NOT_DECIDED).title == title


def test_updates_by_hand_are_named():
    said = only(Evidence(backwards=180), NOT_DECIDED)
    assert said.evidence == "0 steps, 0 batches, 180 backward passes"
    assert "updated by hand" in said.advice


def test_the_numbers_that_were_there_are_said():
    evidence = run(shares={"waiting_for_the_device": 0.5}, **on_gpu())
    assert only(evidence, NOT_DECIDED).evidence == (
        "of the step's time on the host: forward 50 %, waiting for the device 50 %; how busy the device was is not "
        "known (the script named no GPU)"
    )


def test_a_rule_that_crashes_is_a_problem_and_the_others_speak(monkeypatch):
    rule = catalog.rule_class("TPL901")

    def crash(self, run):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(rule, "diagnose", crash)
    said, (problem,) = diagnose(waiting(0.3, shares=HOST_BUSY, argv=("train.py", "--fast")))
    assert [d.code for d in said] == ["TPL904"]
    assert (problem.path, problem.rule) == ("train.py", "TPL901")
    assert problem.reason == "the rule crashed: ZeroDivisionError: by zero"


def test_only_selected_rules_are_asked():
    evidence = waiting(0.3, shares=HOST_BUSY)
    assert [d.code for d in diagnose(evidence, {"TPL901"}).diagnoses] == ["TPL901"]
    assert diagnose(evidence, set()).diagnoses == ()


def test_the_breakdown_adds_up_and_leaves_out_what_was_not_seen():
    shares = {"data": 0.2, "loader_start": 0.05, "backward": 0.2, "gradients": 0.1, "after_backward": 0.1}
    phases = breakdown(run(shares=shares))
    assert [(p.phase, round(p.share, 3), round(p.ms, 3)) for p in phases] == [
        ("data", 0.25, 5.0),
        ("forward", 0.35, 7.0),
        ("backward", 0.2, 4.0),
        ("after the step", 0.1, 2.0),
        ("other", 0.1, 2.0),
    ]
    assert sum(p.share for p in phases) == pytest.approx(1)


@pytest.mark.parametrize("evidence", [Evidence(), run(steps=WARMUP), run(simulated=True)])
def test_there_is_no_breakdown_where_nothing_was_measured(evidence):
    assert breakdown(evidence) is None


@pytest.mark.parametrize(
    "record",
    [
        None,
        {},
        {"series": None, "gpus": 3, "processes": "x", "allowed_cores": [], "states": None},
        {"series": {"a": 1}},
    ],
)
def test_any_record_of_the_machine_may_lack_anything(record):
    said, problems = diagnose(waiting(0.6, 2, cost=worker(40, 0.1), utilisation=record, device=GPU))
    assert problems == ()
    assert [d.code for d in said] == ["TPL907"]


def test_compiling_is_told_with_its_numbers_and_the_guard():
    at = {"at": ["model.py", 14]}
    evidence = run(step_ms=20.0, shares={"compiling": 0.4}, events=(compiled("again", 90, **at),))
    evidence = replace(evidence, events=tuple(replace(e, blocked_ms=800.0) for e in evidence.events))
    said = only(evidence, "TPL913")
    assert said.title == "compiling takes 40 % of the step's time after the warm-up"
    assert said.evidence == (
        "90 compilations took 800 ms of 2000 ms: 90 times `forward` (model.py:12) for `tensor 'x' size mismatch at "
        "index 0. expected ..., actual ...` (model.py:14)"
    )
    assert "dynamic=True" in said.advice
    assert said.share == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("guard", "advice"),
    [
        ("self.step == ...", "in a tensor or buffer"),
        ("___stack0 == ...", "keep it a tensor"),
        ("GLOBAL_STATE changed: grad_mode", "under the same modes"),
        ("___check_type_id(L['f'], ...)", "TORCH_LOGS=recompiles"),
        (None, "TORCH_LOGS=recompiles"),
    ],
)
def test_the_advice_goes_by_the_guard(guard, advice):
    events = (compiled("again", 7, guard=guard), compiled("limit", 1, guard=guard))
    said = only(run(events=events), "TPL913")
    assert "torch compiles `forward` (model.py:12) no more" in said.title
    assert said.evidence.startswith("compiled again 7 times before")
    assert "None" not in said.evidence
    assert advice in said.advice


def test_breaks_are_told_by_line_with_what_is_left_uncompiled():
    events = (
        compiled("first", 1),
        compiled("first", 1, line=30, resumed=True),
        ended(30),
        ended(30),
        ended(33, "frame"),
    )
    said = only(run(events=events), "TPL912")
    assert said.title == "compiled code returns to Python at 2 lines"
    assert said.evidence == (
        "model.py:30: Dynamo cannot trace `print`; model.py:33: Dynamo cannot trace `print`, so the function runs "
        "uncompiled; 2 pieces compiled, 1 of them what was left of a function after a break"
    )
    assert "first at model.py:30" in said.advice
    assert said.share is None


def test_what_the_cores_of_a_machine_without_a_gpu_say_is_left_out_of_a_simulated_run():
    cores = warning(
        "This DataLoader will create 4 worker processes in total. Our suggested max number of worker in current system "
        "is 2, which is smaller than what this DataLoader is going to create."
    )
    unused = warning(
        "find_unused_parameters=True was specified in DDP constructor, but did not find any unused parameters"
    )
    assert only(run(events=(cores,)), "TPL917").actionable
    simulated = {"simulated": True, "device": "simulated"}
    assert {d.code for d in diagnose(run(events=(cores,), **simulated)).diagnoses} == {"TPL900"}
    assert "unused parameters" in only(run(events=(cores, unused), **simulated), "TPL917").title


def test_a_kind_of_warning_is_one_diagnosis_with_all_its_lines():
    text = "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list."
    said = only(run(events=tuple(warning(text, line, 2) for line in (7, 9, 11, 13))), "TPL917")
    assert said.title == "torch warned: a tensor is made from a list of arrays, element by element"
    assert said.evidence == f'"{text}" shown 8 times for train.py:7, train.py:9, train.py:11 and 1 more'
    assert said.advice.endswith("(more: TPL255)")
    known = only(
        run(events=(warning("'pin_memory' argument is set as true but no accelerator is found, then"),)), "TPL917"
    )
    assert not known.actionable
