"""Rows of Hugging Face data sets that one item fetches several times."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.decoded_rows import rows_fetched_again

SET = """\
import datasets
from torch.utils.data import Dataset


class Spoken(Dataset):
    def __init__(self, name, key):
        self.data = {made}

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        {body}
"""
LOADED = 'datasets.load_dataset("speech")'
TWICE = 'return self.data[i]["text"], self.data[i]["audio"]'


@pytest.mark.parametrize(
    ("made", "count"),
    [
        (f'{LOADED}["train"]', 1),
        (f"{LOADED}[key]", 1),
        (f'{LOADED}["validation"].map(len).shuffle(seed=1)', 1),
        ("datasets.Dataset.from_dict({})", 1),
        ("datasets.load_from_disk(name)", 1),
        (f'{LOADED}["train"]["text"]', 0),
        (f'{LOADED}["text"]', 0),
        (f"{LOADED}.to_list()", 0),
        (f"list({LOADED})", 0),
        ("name.load()", 0),
    ],
)
def test_what_has_rows_that_are_decoded(made, count):
    assert len(found(made, TWICE)) == count


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (TWICE, [(2, True)]),
        ('return self.data[i]["text"], self.data[i]["label"], self.data[i]["length"]', [(3, False)]),
        ('return self.data[i]["audio"] if "audio" in self.data[i] else None', [(2, True)]),
        ('return self.data[i]["audio"] if key else self.data[i]["text"]', []),
        ('return self.data[i]["text"], self.data[i + 1]["text"], self.data[i - 1]["text"]', []),
        ('return self.data[i]["text"], self.data[0]["text"], self.data[0]["audio"]', []),
        ('return (self.data[i]["audio"]["array"], self.data[i]["audio"]["sampling_rate"])', [(2, True)]),
        ("return self.data[i]", []),
    ],
)
def test_how_often_a_row_is_fetched(body, expected):
    rows = found(f"{LOADED}[key]", body)
    assert [(row.times, row.decodes) for row in rows] == expected


def test_parts_of_what_may_be_a_column_say_nothing():
    assert not found(f"{LOADED}[key]", 'return self.data[i]["array"], self.data[i]["sampling_rate"]')


def found(made, body):
    files = {"spoken.py": SET.format(made=made, body=body)}
    return list(rows_fetched_again(SourceFile(Project.of_texts(files), "spoken.py", files["spoken.py"])))
