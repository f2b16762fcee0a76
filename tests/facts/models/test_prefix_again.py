"""Loops that compute the whole prefix again, and loops that feed one element a turn."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.one_by_one import one_by_one
from torchperf_lint.facts.models.prefix_again import generated_without_cache, recomputed

_HEAD = """import torch
from transformers import AutoModelForCausalLM, pipeline
lm = AutoModelForCausalLM.from_pretrained("gpt2")
classify = pipeline("sentiment-analysis")
"""


def _file(code: str) -> SourceFile:
    text = _HEAD + code
    return SourceFile(Project.of_texts({"a.py": text}), "a.py", text)


@pytest.mark.parametrize(
    ("turn", "count"),
    [
        ("x = lm(ids).logits[:, -1]\n        ids = torch.cat([ids, x.argmax(-1)], 1)", 1),
        ("o = lm(ids)\n        x = o.logits\n        ids = torch.cat([ids, x[:, -1].argmax(-1)], 1)", 1),
        ("x = lm(ids[:, -9:]).logits[:, -1]\n        ids = torch.cat([ids, x.argmax(-1)], 1)", 0),
        ("x = lm(ids, past_key_values=p).logits[:, -1]\n        ids = torch.cat([ids, x.argmax(-1)], 1)", 0),
        ("x = lm(ids).logits\n        ids = torch.cat([ids, x.argmax(-1)], 1)", 0),
        ("x = lm(ids).logits[:, -1]\n        other = torch.cat([ids, x.argmax(-1)], 1)", 0),
    ],
)
def test_which_loops_compute_the_prefix_again(turn, count):
    code = f"def f(ids, n, p):\n    for _ in range(n):\n        {turn}\n    return ids\n"
    assert len(list(recomputed(_file(code)))) == count


@pytest.mark.parametrize(
    ("call", "count"),
    [
        ("lm.generate(x, use_cache=False)", 1),
        ("lm.generate(x, use_cache=False, max_new_tokens=1)", 0),
        ("lm.generate(x, use_cache=flag)", 0),
        ("lm(x, use_cache=False)", 0),
    ],
)
def test_what_generates_without_a_cache(call, count):
    assert len(list(generated_without_cache(_file(f"def f(x, flag):\n    return {call}\n")))) == count


@pytest.mark.parametrize(
    ("code", "confidence"),
    [
        ("[classify(x) for x in xs]", "likely"),
        ("[classify(x['text']) for x in xs]", "likely"),
        ("[classify(x['texts']) for x in xs]", None),
        ("[classify(batch) for batch in xs]", None),
        ("[classify(x) for x in ('a', 'b')]", None),
        ("[classify(xs[i]) for i in range(len(xs))]", "likely"),
        ("[classify(xs[i : i + 8]) for i in range(0, len(xs), 8)]", None),
        ("[classify(x, batch_size=8) for x in xs]", None),
        ("classify(xs)", None),
    ],
)
def test_what_gets_one_element_a_turn(code, confidence):
    found = [str(o.hot.confidence.value) for o in one_by_one(_file(f"def f(xs):\n    return {code}\n"))]
    assert found == ([] if confidence is None else [confidence])
