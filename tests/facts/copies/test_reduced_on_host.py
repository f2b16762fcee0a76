"""Copies of which the host keeps the place of the largest of each row alone."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.reduced_on_host import reduced_on_host

CODE = """
import numpy as np

def evaluate(model, loader, kept):
    model.cuda()
    for x in loader:
        out = model(x.cuda())
        {rest}
"""


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ("p = out.cpu().numpy(); p = np.argmax(p, axis=1); kept.add(p)", True),
        ("p = out.cpu().data.numpy()\n        kept.add(p.argmin(1))", True),
        ("kept.add(np.argmax(out.cpu().numpy(), 1))", True),
        ("kept.add(out.cpu().argmax(dim=-1))", True),
        ("p = out.cpu(); kept.add(p, np.argmax(p, axis=1))", False),
        ("p = out.cpu().numpy(); kept.add(np.argmax(p))", False),
        ("p = out.cpu().numpy(); kept.add(np.argmax(p * 2, axis=1))", False),
        ("p = out.cpu()\n        if kept: p = p[0]\n        kept.add(p.argmax(1))", False),
        ("kept.add(out.cpu().numpy())", False),
    ],
)
def test_what_the_host_keeps_of_a_copy(rest, told):
    site = site_of(CODE.format(rest=rest), "out.cpu()")
    assert (reduced_on_host(site.file, site) is not None) is told
