"""A blocking copy from a loader that does not pin names the copies of the same batches that ask in vain not to wait."""

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings

SCRIPT = """\
import torch
from torch.utils.data import DataLoader

net = torch.nn.Linear(3, 1).cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
first = DataLoader(range(9), batch_size=2{pin})
other = DataLoader(range(9), batch_size=2)
for {target} in {over}:
    {moves}
    opt.zero_grad()
    ((net(x) - y) ** 2).mean().backward()
    opt.step()
"""


def beside(tmp_path, moves, over="first", target="x, y", pin=""):
    """Where the first TPL201 of the script says that `non_blocking=True` is in vain."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(moves=moves, over=over, target=target, pin=pin))
    report = lint(Target(tmp_path, Settings(select=("TPL201",)), (path,)))
    assert report.findings
    return [
        (related.location.line, related.location.column)
        for finding in report.findings[:1]
        for related in finding.related
        if "in vain" in related.message
    ]


def test_the_other_half_of_the_batch_is_named(tmp_path):
    assert beside(tmp_path, "x, y = x.cuda(), y.cuda(non_blocking=True)") == [(9, 22)]


@pytest.mark.parametrize(
    ("moves", "more"),
    [
        ("x, y = x.cuda(), y.cuda(non_blocking=True)", {"pin": ", pin_memory=True"}),
        ("x, y = x.cuda(), y.cuda()", {}),
        (
            "x, y, z = x.cuda(), y.cuda(), z.cuda(non_blocking=True)",
            {"over": "zip(first, range(9))", "target": "(x, y), z"},
        ),
    ],
)
def test_a_pinned_batch_another_copy_that_waits_and_what_no_loader_gives_are_not(tmp_path, moves, more):
    assert beside(tmp_path, moves, **more) == []
