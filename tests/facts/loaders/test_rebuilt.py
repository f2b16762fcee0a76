"""Which loaders a loop makes anew for nothing."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.rebuilt import rebuilt_loaders

STEP = """for x in loader:
    model(x).mean().backward()"""


def rebuilt(snippet):
    files = texts(snippet)
    return list(rebuilt_loaders(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


def epochs(body, header="for epoch in range(n):", before=""):
    inside = "\n".join(f"            {line}" for line in body.strip().splitlines())
    return f"""
    from torch.utils.data import RandomSampler, Subset, random_split

    def make(ds, size=4):
        return DataLoader(ds, size, num_workers=2)

    def make_any(ds):
        part, _ = random_split(ds, [1, 2])
        return DataLoader(part, num_workers=2)

    def train(model, ds, n, build, other):
        {before or "pass"}
        {header}
{inside}
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("loader = DataLoader(ds, num_workers=2)", True),
        ("loader = DataLoader(ds, sampler=RandomSampler(ds))", True),
        ("s = RandomSampler(ds)\nloader = DataLoader(ds, sampler=s)", True),
        ("part = Subset(ds, range(100))\nloader = DataLoader(part)", True),
        ("part = Subset(ds, other.indices())\nloader = DataLoader(part)", False),
        ("loader = DataLoader(ds, batch_size=epoch + 1)", False),
        ("loader = DataLoader(build(epoch))", False),
        ("loader = DataLoader(build())", False),
        ("ds.shuffle()\nloader = DataLoader(ds)", False),
        ("ds.files = other\nloader = DataLoader(ds)", False),
        ("other(ds)\nloader = DataLoader(ds)", False),
        ("print(len(ds))\nloader = DataLoader(ds)", True),
        ("loader = DataLoader(ds)\nother.zero_grad()\nother.step()", True),
        ("if epoch == 3:\n    loader = DataLoader(ds)", False),
        ("if other:\n    loader = DataLoader(ds)", False),
        ("optimizer = torch.optim.SGD(model.parameters())\nloader = DataLoader(ds)", False),
        ("model = nn.Linear(2, 2)\nnet = build_model()\nloader = DataLoader(ds)", False),
    ],
)
def test_what_goes_in(made, expected):
    assert bool(rebuilt(epochs(f"{made}\n{STEP}"))) is expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("for epoch in range(n):", True),
        ("while n > 0:", True),
        ("for _ in range(2):", False),
        ("for seed in range(n):", False),
        ("for fold in other:", False),
        ("for lr in other:", False),
    ],
)
def test_which_loops(header, expected):
    assert bool(rebuilt(epochs(f"loader = DataLoader(ds)\n{STEP}", header))) is expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [("loader = make(ds)", True), ("loader = make(ds, epoch)", False), ("loader = make_any(ds)", False)],
)
def test_helpers(made, expected):
    snippet = epochs(f"my_{made.replace('make', 'get_loader')}\n{STEP.replace('in loader', 'in my_loader')}")
    assert bool(rebuilt(snippet.replace("def make", "def get_loader"))) is expected


def test_a_loop_between_makes_each_turn_a_run_of_its_own():
    step = "\n".join(f"    {line}" for line in STEP.splitlines())
    assert not rebuilt(epochs(f"loader = DataLoader(ds)\nfor _ in range(n):\n{step}"))


def test_a_loader_that_nobody_reads_in_the_loop():
    assert not rebuilt(epochs("loader = DataLoader(ds)\nprint(len(loader))"))


def test_one_loader_handed_on():
    snippet = epochs(
        "loader = get_loader()\n" + STEP,
        before="mine = DataLoader(ds, num_workers=2)\n        def get_loader():\n            return mine",
    )
    assert not rebuilt(snippet)


def test_steps_that_make_a_loader_each():
    (found,) = rebuilt(epochs("loader = DataLoader(ds)\nx = next(iter(loader))\nmodel(x).mean().backward()"))
    assert found.per_step
