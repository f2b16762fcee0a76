"""What a run knows of pinning goes before what the code told."""

from dataclasses import replace

import pytest
from runs import copy, finding, loader, run

from torchperf_lint.facts.loaders.pinning import FROM_ANYWHERE
from torchperf_lint.model import Outcome, Verdict
from torchperf_lint.pinned_in_run import with_advice
from torchperf_lint.rules.tpl201_blocking_batch_transfer import BlockingBatchTransfer

NAMED = "pass `non_blocking=True` here and `pin_memory=True` to the loader (eval.py:115)"
ANYWHERE = f"pass `non_blocking=True`{FROM_ANYWHERE}"
PINNED = copy(21, attributes={"pinned": True, "blocking": True})
PAGEABLE = copy(21, attributes={"pinned": False, "blocking": True})


def advice(said, *copies, loaders=()):
    found = replace(finding(21, "TPL201"), instead=said)
    evidence = run(events=copies, loaders=loaders)
    verdict = with_advice(Verdict(Outcome.CONFIRMED, "seen"), found, evidence, copies)
    return replace(found, verdict=verdict).advice


def read(path, line, pinned=False, **changes):
    return loader(path=path, line=line, settings={"pin_memory": pinned}, **changes)


@pytest.mark.parametrize("said", [NAMED, ANYWHERE])
def test_what_is_pinned_is_not_to_be_pinned_again(said):
    assert advice(said, PINNED) == "pass `non_blocking=True`: what it copied in this run is pinned"
    assert advice(said, PINNED, PAGEABLE) == said
    assert advice(said, PAGEABLE) == said
    assert advice(said) == said


def test_a_loader_that_was_not_read_gives_way_to_those_that_were():
    assert advice(NAMED, PAGEABLE, loaders=[read("train.py", 83)]).endswith("to the loader (train.py:83)")
    both = [read("train.py", 83), read("train.py", 45), read("train.py", 45), read("eval.py", 115, batches=0)]
    assert advice(NAMED, PAGEABLE, loaders=both).endswith("to the loaders (train.py:45, train.py:83)")


def test_a_loader_that_was_read_stays_named():
    assert advice(NAMED, PAGEABLE, loaders=[read("train.py", 83), read("eval.py", 117)]) == NAMED


@pytest.mark.parametrize(
    "loaders",
    [
        [read("train.py", 83, pinned=True)],
        [read("/venv/lib/python3.12/site-packages/t/trainer.py", 83)],
        [read(None, None)],
        [read("train.py", line) for line in range(100, 500, 100)],
    ],
)
def test_nothing_is_named_that_is_not_known_to_be_right(loaders):
    assert advice(NAMED, PAGEABLE, loaders=loaders) == NAMED


def test_the_run_names_no_loader_for_what_may_come_from_elsewhere():
    assert advice(ANYWHERE, PAGEABLE, loaders=[read("train.py", 83)]) == ANYWHERE
    made = "make it on the device"
    assert advice(made, PINNED) == made


def test_the_rule_says_so():
    evidence = run(events=(PINNED,), device="simulated", simulated=True)
    verdict = BlockingBatchTransfer().confirm(replace(finding(21, "TPL201"), instead=NAMED), evidence)
    assert verdict.outcome is Outcome.CONFIRMED
    assert verdict.instead is not None
