"""What a batch's cost is made of, and the advice that follows from it."""

import pytest
from runs import STEPS, loader, run, utilisation, worker

from torchperf_lint.loading import loading_of
from torchperf_lint.rules.tpl311_cpu_augmentation_bound import CpuAugmentationBound
from torchperf_lint.rules.tpl901_loading_in_the_training_process import LoadingInTheTrainingProcess
from torchperf_lint.rules.tpl902_too_few_loader_workers import TooFewLoaderWorkers

NAMES = {"items": "Leaves.__getitem__", "collate": "pad"}
AT = {"items_at": ("data.py", 7), "collate_at": ("data.py", 30)}


def waits(collating, collated=32 * STEPS, batch_ms=12.0, workers=0, names=NAMES, cores=8, **changes):
    """A run of 20 ms steps, 12 of them waits; `collating`: its share of making a batch."""
    made = {"collate_ms": None if collating is None else collating * batch_ms * STEPS, "collated": collated}
    if workers:
        changes["worker"] = worker(batch_ms) | made
        made = {}
    reads = loader(12.0, workers=workers, settings=names, **{**AT, **made, **changes})
    return run(loaders=[reads], shares={"data": 0.6, "forward": 0.4}, utilisation=utilisation(cores=cores))


def making(*args, **kwargs):
    return loading_of(waits(*args, **kwargs)).making


def test_the_shares_of_samples_and_of_putting_them_together():
    found = making(0.75)
    assert (found.samples, found.collate_share, found.sample_us) == (32, pytest.approx(0.75), pytest.approx(375.0))
    assert found.most == found.collate == ("pad", "data.py:30")
    assert making(0.25).most == ("Leaves.__getitem__", "data.py:7")


def test_it_is_said_with_the_larger_part_first():
    assert making(0.75).said() == (
        "of a batch's 12.0 ms, collating takes 75 % (pad at data.py:30) and its 32 samples take 25 % "
        "(Leaves.__getitem__ at data.py:7)"
    )
    assert making(0.25, items_at=None, collate_at=None).said() == (
        "of a batch's 12.0 ms, its 32 samples take 75 % (Leaves.__getitem__) and collating takes 25 % (pad)"
    )


@pytest.mark.parametrize("run", [waits(None), waits(0.5, collated=0), waits(0.5, cpu_of_ms=0.0)])
def test_nothing_is_said_of_what_was_not_measured(run):
    assert loading_of(run).making is None
    assert "of a batch's" not in loading_of(run).figures()


def test_the_cost_in_workers_is_that_of_the_workers():
    found = making(0.75, batch_ms=40.0, workers=2)
    assert (found.batch_ms, found.samples, found.sample_us) == (40.0, 32, pytest.approx(1250.0))


@pytest.mark.parametrize(("samples", "is_only_overhead"), [(512, True), (240, True), (200, False), (4, False)])
def test_samples_that_cost_next_to_nothing(samples, is_only_overhead):
    found = making(0.3, collated=samples * STEPS)
    assert found.only_overhead is is_only_overhead


def test_few_samples_are_not_worth_taking_at_once():
    assert making(0.3, collated=4 * STEPS, batch_ms=0.1).only_overhead is False


@pytest.mark.parametrize(
    ("rule", "more"),
    [
        (LoadingInTheTrainingProcess, {}),
        (TooFewLoaderWorkers, {"workers": 1, "batch_ms": 24.0}),
        (CpuAugmentationBound, {"workers": 2, "batch_ms": 24.0, "cores": 2}),
    ],
)
def test_whole_batches_are_advised_where_samples_are_cheap(rule, more):
    (found,) = rule().diagnose(waits(0.3, collated=1024 * STEPS, **more))
    assert found.advice.startswith(
        "if `Leaves.__getitem__` (data.py:7) only indexes what is in memory, take whole batches by index at train.py:"
    )
    assert "num_workers" not in found.advice
    (other,) = rule().diagnose(waits(0.3, **more))
    assert "whole batches" not in other.advice


def test_torchs_own_data_set_of_tensors_needs_no_if():
    names = {"items": "TensorDataset.__getitem__", "collate": "default_collate"}
    (found,) = LoadingInTheTrainingProcess().diagnose(
        waits(0.3, collated=1024 * STEPS, names=names, items_at=None, collate_at=None)
    )
    assert found.advice.startswith("take whole batches by index at train.py:")


def test_what_computes_on_all_cores_is_named():
    short = {"workers": 2, "batch_ms": 24.0, "cores": 2}
    (found,) = CpuAugmentationBound().diagnose(waits(0.8, **short))
    assert found.advice.startswith("make `pad` (data.py:30) cheaper, which puts samples together (train.py:")
    (found,) = CpuAugmentationBound().diagnose(waits(0.2, **short))
    assert found.advice.startswith("make samples cheaper, in `Leaves.__getitem__` (data.py:7) (train.py:")
