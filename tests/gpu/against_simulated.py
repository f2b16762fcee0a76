"""Where the card and the simulated device disagree: against_simulated.py FACTS [RECORDS].

FACTS is what facts.py wrote on a card; RECORDS a folder of events files of fixtures/simulate, recorded there.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "runtime" / "simulated")]

from operations import SILENT, WAITS  # noqa: E402

from torchperf_lint import events  # noqa: E402

HIDDEN = ("torch.unique(x, dim=0)", "torch.zeros(4, 6).copy_(x, non_blocking=True)")
"""Rows in which a card waits where torch's callbacks cannot see it: inside thrust, and inside the driver, which comes
back from a copy to pageable memory when that is complete."""
ONCE = {("lstm_packed.py", 19): 1}
"""Waits of a card that the simulated device, which has no cuDNN, does not have: the first dropout of an LSTM."""
SCRIPTS = sorted((ROOT / "fixtures" / "simulate").glob("*.py"))
_COPY = re.compile(r"^(h2d|d2h)(-async)?(-pinned)?$")
_EXPLICIT = re.compile(r"\.(to|cpu|cuda|copy_|tolist)\(")
_IMPLICIT = re.compile(r"torch\.(tensor|as_tensor|asarray|from_numpy|bincount|histc)|new_tensor|assign\(|x\[|\.type\(")
_COMMENT = re.compile(r"# (?:events: ([^#]*?))?(?:via: (.*))?$")


def table() -> dict[str, str]:
    """Expression -> what the simulated device reports for it."""
    return {**WAITS, **dict.fromkeys(SILENT, "")}


def parsed(text: str) -> Counter:
    counts: Counter = Counter()
    for token in text.split():
        name, _, count = token.partition("=")
        counts[name] += int(count)
    return counts


def waits(tokens: Counter) -> int:
    """How often the host waits: at each synchronisation, and at each copy that blocks."""
    return sum(n for name, n in tokens.items() if not _COPY.match(name) or "-async" not in name)


def copies(tokens: Counter) -> dict[str, int]:
    return {name: n for name, n in tokens.items() if _COPY.match(name)}


def has_explicit_copies_only(expression: str) -> bool:
    """Whether all copies of a row go through the methods that the transfers probe replaces."""
    return bool(_EXPLICIT.search(expression)) and not _IMPLICIT.search(expression)


def of_operations(facts: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(expression, simulated, card) of each row that differs in its waits, or in copies that can be seen."""
    for expression, text in table().items():
        row, told = facts["operations"].get(expression, {"error": "not asked"}), parsed(text)
        if "error" in row:
            yield expression, text, row["error"]
            continue
        differs = len(row["syncs"]) != (0 if expression in HIDDEN else waits(told))
        if expression not in HIDDEN and has_explicit_copies_only(expression):
            differs = differs or row["copies"] != copies(told)
        if differs:
            yield expression, text or "nothing", f"{len(row['syncs'])} waits {row['syncs']}, copies {row['copies']}"


def of_blocking(facts: dict[str, Any], kernel_ms: float) -> Iterator[tuple[str, str, float]]:
    """(expression, simulated, ms) of each row that blocks the host behind a kernel of so long and is not said to, or
    does not and is said to. A stream of its own has nothing to be waited for.
    """
    for expression, text in table().items():
        row = facts["operations"].get(expression, {})
        if "behind_ms" not in row or expression == "cuda.Stream().synchronize()":
            continue
        if (row["behind_ms"] > 0.8 * kernel_ms) != (waits(parsed(text)) > 0):
            yield expression, text or "nothing", row["behind_ms"]


def expected_of(script: Path) -> tuple[Counter, Counter]:
    """Line -> waits that the script's comments say, at the line itself and in libraries below it."""
    own, via = Counter(), Counter()
    for number, line in enumerate(script.read_text(encoding="utf-8").splitlines(), 1):
        found = _COMMENT.search(line)
        for counter, text in zip((own, via), found.groups() if found else (), strict=False):
            if text:
                counter[number] += waits(parsed(text))
    return own, via


def recorded_of(script: Path, record: Path) -> tuple[Counter, Counter]:
    """The same, as a run on a card recorded it."""
    run = events.read(str(record))
    own, via = Counter(), Counter()
    for number, event in run.events.items():
        site = run.sites.get(event["site"])
        if event["kind"] != "sync" or site is None:
            continue
        count = run.counts[number]["n"]
        if site["path"].endswith(script.name):
            own[site["line"]] += count
        elif site["via"] is not None:
            via[site["via"][1]] += count
    return own, via


def of_script(script: Path, record: Path) -> Iterator[tuple[int, str, int, int]]:
    """(line, "itself" or "below", simulated, card) of each line whose number of waits differs."""
    names = ("itself", "below")
    for name, told, seen in zip(names, expected_of(script), recorded_of(script, record), strict=True):
        for line in sorted(told.keys() | seen.keys()):
            if told[line] + (ONCE.get((script.name, line), 0) if name == "itself" else 0) != seen[line]:
                yield line, name, told[line], seen[line]


def main() -> None:
    facts = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    rows = list(of_operations(facts))
    print(f"{len(rows)} of {len(table())} operations differ")
    for expression, simulated, card in rows:
        print(f"  {expression}\n      simulated: {simulated}\n      card:      {card}")
    for expression, simulated, blocked_ms in of_blocking(facts, 10.0):
        print(f"  {expression}: {blocked_ms} ms behind a kernel, simulated: {simulated}")
    for script in SCRIPTS if len(sys.argv) > 2 else ():
        record = Path(sys.argv[2]) / f"simulate-{script.stem}{events.SUFFIX}"
        if not record.exists():
            print(f"{script.name}: not recorded")
            continue
        lines = list(of_script(script, record))
        print(f"{script.name}: {len(lines)} lines differ")
        for line, where, simulated, card in lines:
            print(f"  line {line} {where}: simulated {simulated}, card {card}")


if __name__ == "__main__":
    main()
