"""Loops of numerical algorithms: what they repeat runs as often as they turn."""

from __future__ import annotations

import pytest
from snippets import hot_at

KMEANS = """
import torch

def fit(x, centers, max_iter, tol):
    {head}
        labels = torch.cdist(x, centers).argmin(1)
        centers = torch.stack([x[labels == i].mean(0) for i in range(8)])
        shown = labels.tolist()  # <-
    return centers
"""


@pytest.mark.parametrize(
    "head",
    [
        "for _ in range(max_iter):",
        "for i in range(self.n_iterations):",
        "for i in tqdm(range(self.opt.inner_iters)):",
        "for i in np.arange(num_iterations):",
        "while step < self.max_iterations:",
        "while (centers - last).abs().sum() > self.tol:",
        "while error >= eps:",
        "for turn in range(iter):",
        "for turn in range(0, maxIter):",
        "while (labels < 0).any():",
        "while not done.all():",
    ],
)
def test_a_loop_that_repeats_a_computation_is_hot(head):
    hot = hot_at(KMEANS.format(head=head))
    assert hot is not None
    assert hot.kind == "rollout"
    assert hot.when.startswith("every iteration")


@pytest.mark.parametrize(
    "head",
    [
        "for i in range(count):",
        "for i in range(4):  # iterations",
        "for epoch in range(self.max_iterations):",
        "for i in range(warmup_iters):",
        "for i in range(train_iterations):",
        "while max_iterations:",
        "while found < tolerated:",
        "while not torch.all(rows >= iterations - 1):",
        "for turn in range(train_iter):",
        "for turn in range(total_iter):",
        "for batch in fetch(iter):",
        "while any(jobs):",
        "while (labels < EPS).any():",
        "while torch.isnan(labels).any():",
    ],
)
def test_a_loop_over_something_else_is_not(head):
    found = hot_at(KMEANS.format(head=head))
    assert found is None or found.when != "every iteration"


@pytest.mark.parametrize(
    ("test", "hot"),
    [
        ("(centers - last).norm() < tol", True),
        ("i > 3 and shift ** 2 <= self.tolerance", True),
        ("rounds > most or step <= eps_final", False),
        ("error.max() < 10 * self.f_tol", True),
        ("self.has_converged(centers)", True),
        ("converged.all()", True),
        ("len(rows) < wanted", False),
        ("tol > 3", False),
        ("best >= tol", False),
    ],
)
@pytest.mark.parametrize("leave", ["break", "return centers"])
def test_a_loop_that_ends_below_a_tolerance_is_hot(test, hot, leave):
    ends = f"        if {test}:\n            {leave}\n    return"
    code = KMEANS.format(head="while True:").replace("    return", ends)
    found = hot_at(code)
    assert (found is not None and found.when.startswith("every iteration")) is hot


def test_the_end_of_another_loop_is_not_its_own():
    turn = "        for row in rows:\n            if row.error < tol:\n                break\n    return"
    assert hot_at(KMEANS.format(head="while True:").replace("    return", turn)) is None


def test_a_loop_whose_turns_sample_is_not():
    inner = "        for t in scheduler.timesteps:\n            x = scheduler.step(model(x, t), t, x)\n        shown"
    code = KMEANS.format(head="for _ in range(max_iter):").replace("        shown", inner)
    assert hot_at(code) is None


@pytest.mark.parametrize("call", ["model.fit(x)", "train_model(x)", "optimize_acqf(x)"])
def test_a_loop_whose_turns_train_as_a_whole_is_not(call):
    code = KMEANS.format(head="for _ in range(max_iter):").replace("        shown", f"        {call}\n        shown")
    assert hot_at(code) is None


def test_a_loop_that_hardly_computes_is_not():
    turn = "        shown = torch.exp(jobs.run()).tolist()  # <-"
    assert hot_at(f"import torch\n\ndef fit(jobs, max_iter):\n    for _ in range(max_iter):\n{turn}\n") is None


def test_a_loop_of_a_constructor_is_not():
    code = KMEANS.format(head="for _ in range(max_iter):").replace("def fit(x", "class K:\n  def __init__(self, x")
    code = code.replace("\n    ", "\n      ")
    assert hot_at(code) is None


BY_NAME = """
import torch

def fit(x, centers, max_iter, epochs, bar):
    turns = {turns}
    for _ in turns:
        labels = torch.cdist(x, centers).argmin(1)
        centers = torch.stack([x[labels == i].mean(0) for i in range(8)])
        shown = labels.tolist()  # <-
    return centers
"""


def test_a_range_of_iterations_may_have_a_name():
    assert hot_at(BY_NAME.format(turns="range(max_iter)")) is not None
    assert hot_at(BY_NAME.format(turns="tqdm(range(max_iter)) if bar else range(max_iter)")) is not None
    assert hot_at(BY_NAME.format(turns="range(epochs)")) is None
    assert hot_at(BY_NAME.format(turns="fetch(max_iter)")) is None
