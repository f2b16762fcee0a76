"""Loops that have a language model write something for each of their inputs."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
    from transformers import AutoModelForCausalLM

    class Harness:
        def __init__(self, name):
            self.model = AutoModelForCausalLM.from_pretrained(name)

        def _write(self, inputs):
            return self.model.{method}(**inputs)

        def {run}(self, chunks, requests, model, page):
            answers = []
            for {turn}:
                answers.append({call})
                torch.cuda.empty_cache()  # <-
            return answers
"""
GIVEN = {
    "method": "generate",
    "run": "generate_until",
    "turn": "chunk in chunks",
    "call": "self._write(chunk)",
}


@pytest.mark.parametrize(
    ("changed", "when"),
    [
        ({}, "with every input"),
        ({"turn": "prompt in requests", "call": "model.generate(prompt)"}, "with every input"),
        ({"turn": "prompt in self.prompts", "call": "self.llm.generate(prompt)"}, "with every input"),
        ({"turn": "i in range(0, len(requests), 8)", "call": "model.generate(requests[i : i + 8])"}, "every batch"),
        ({"turn": "number, row in requests.iterrows()", "call": "model.generate(row.text)"}, "with every input"),
        ({"turn": "row in self.table.itertuples()", "call": "model.generate(row.text)"}, "with every input"),
        ({"method": "describe"}, None),
        ({"turn": "seed in page.seeds"}, None),
        ({"turn": "prompt in requests", "call": "page.generate(prompt)"}, None),
        ({"run": "show_answers"}, None),
    ],
)
def test_what_is_generated_for_each_input(changed, when):
    code = CODE
    for name, text in (GIVEN | changed).items():
        code = code.replace("{" + name + "}", text)
    hot = hot_at(code)
    assert (hot and hot.when.partition(" (")[0]) == when


def test_a_batch_that_is_gathered_row_by_row():
    code = """
    from transformers import AutoModelForCausalLM

    def write(table, name, batch_size):
        model = AutoModelForCausalLM.from_pretrained(name)
        gathered, answers = [], []
        for number, row in table.iterrows():
            gathered.append(row.text)
            if len(gathered) == batch_size or number + 1 == len(table):
                answers += model.generate(gathered)
                gathered = []
                torch.cuda.empty_cache()  # <-
        return answers
    """
    hot = hot_at(code)
    assert hot is not None
    assert hot.kind == "eval"
