"""What functions hand out again at each call."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.handed_out_again import are_handed_out_again

USED = """
MODELS = {}

%s

def run(name, x):
    %s
    model = model.cuda()  # moved
    return model(x)
"""
KEPT = "def get(name):\n    return MODELS[name]"
BOTH = "def get(name):\n    return MODELS[name]['model'], new(name)"
CACHED = "import functools\n\n@functools.lru_cache(maxsize=1)\ndef get(name):\n    return new(name)"


@pytest.mark.parametrize(
    ("kept", "bound", "again"),
    [
        (KEPT, "model = get(name)", True),
        (CACHED, "model = get(name)", True),
        (BOTH, "model, words = get(name)", True),
        (BOTH, "words, model = get(name)", False),
        ("def get(name):\n    return new(name)", "model = get(name)", False),
        ("def get(name):\n    MODELS = new(name)\n    return MODELS[0]", "model = get(name)", False),
        (KEPT, "model = get(name) if name else new(name)", False),
        (KEPT, "model = new(name)\n    model = get(name)", False),
        (KEPT, "pass", False),
    ],
)
def test_what_a_table_or_a_cache_keeps_is_handed_out_again(kept, bound, again):
    assert are_handed_out_again(site_of(USED % (kept, bound), "model.cuda()"), "model") is again
