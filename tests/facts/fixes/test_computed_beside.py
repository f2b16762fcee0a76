"""What is on the host beside a copy, and has to be on the device to compute there."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.fixes.computed_beside import computed_beside

CODE = """
def train(model: nn.Module, loader: DataLoader, scale, mean):
    for x, target in loader:
        {there}
        output = model(x.cuda())
        seen({line})
"""


@pytest.mark.parametrize(
    ("there", "line", "told"),
    [
        ("pass", "mae(denorm(output.cpu()), target)", "with `target` moved there as well"),
        ("pass", "(output.cpu() == target).sum()", "with `target` moved there as well"),
        ("pass", "(output.cpu() - target).abs()", "with `target` moved there as well"),
        ("pass", "mae(output.cpu(), labels=target)", "with `target` moved there as well"),
        ("there = target.cuda()", "mae(output.cpu(), target)", "with `there` for `target`"),
        ("there = Variable(target.to('cuda'))", "mae(output.cpu(), target)", "with `there` for `target`"),
        ("there = (target - mean).cuda()", "mae(output.cpu(), target)", "with `target` moved there as well"),
        ("there = target.to('cpu')", "mae(output.cpu(), target)", "with `target` moved there as well"),
        ("target = target.cuda()", "mae(output.cpu(), target)", None),
        ("pass", "mae(output.cpu(), scale)", None),
        ("pass", "output.cpu()", None),
        ("pass", "zip(target, output.cpu().numpy())", None),
        ("pass", "dict(zip(target, output.cpu()))", None),
        ("pass", "seen.append((output.cpu(), target))", None),
        ("pass", "meter.update(output.cpu(), target)", None),
    ],
)
def test_by_what_stands_beside_the_copy(there, line, told):
    site = site_of(CODE.format(there=there, line=line), "output.cpu()")
    assert computed_beside(site.file, site) == told
