"""Every pattern of the catalogue's first two tiers, and each one of run time, is a rule, or says why it is none.

`catalogue_index.tsv` is the catalogue's index: code, tier (T1 ship first, T2 next, RT only a run can tell, T3 the rest)
and the name there; a rule may have a better one.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

INDEX = Path(__file__).with_name("catalogue_index.tsv")
PATTERNS, FIRST, SECOND, AT_RUN_TIME = 156, 46, 34, 7
NOT_RULES: dict[str, str] = {}
"""Code -> why there is no rule."""


def rows():
    with INDEX.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def listed():
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", "--list-rules", "--output-format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {rule["code"] for rule in json.loads(done.stdout)}


def test_the_index_is_whole():
    tiers = [row["tier"] for row in rows()]
    assert len({row["code"] for row in rows()}) == len(tiers) == PATTERNS
    assert [tiers.count(tier) for tier in ("T1", "T2", "RT")] == [FIRST, SECOND, AT_RUN_TIME]


def test_the_tiers_that_matter_are_listed():
    wanted = {row["code"] for row in rows() if row["tier"] != "T3"}
    assert wanted - listed() == set(NOT_RULES)


def test_what_is_listed_has_a_place_in_the_catalogue_or_is_of_the_tool_or_of_a_run():
    own = {code for code in listed() if code.startswith(("TPL0", "TPL9"))}
    assert listed() - own <= {row["code"] for row in rows()}
