"""Whole training scripts, unmodified, on the simulated device: what happens at every one of their lines.

`# events: item=10 h2d=20` counts what happens at the line itself; `# via: ...` what a library does for it further down.
Copies are named direction, "-async" if they do not block, "-pinned" if the host's side is pinned; "h2d" is a blocking
copy from pageable memory. A line without a comment must have no event, and no event may be without a line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
from builders import ENVIRONMENT

pytest.importorskip("torch", reason="the simulated device needs torch")

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SCRIPTS = sorted((ROOT / "fixtures" / "simulate").glob("*.py"))
NEEDS = {"hf_trainer": "transformers", "accelerate_loop": "accelerate", "lightning_trainer": "lightning"}
PLAIN = [script for script in SCRIPTS if script.stem not in NEEDS]
_COMMENT = re.compile(r"# (?:events: ([^#]*?))?(?:via: (.*))?$")


def expectations(script: Path) -> tuple[Counter, Counter]:
    own, via = Counter(), Counter()
    for number, line in enumerate(script.read_text(encoding="utf-8").splitlines(), 1):
        found = _COMMENT.search(line)
        for counter, text in zip((own, via), found.groups() if found else (), strict=False):
            for token in (text or "").split():
                what, _, count = token.partition("=")
                counter[number, what] += int(count)
    return own, via


def drive(program: str, out: Path, *scripts: Path, flags: tuple[str, ...] = ()) -> object:
    command = [sys.executable, *flags, str(HERE / program), str(out), *map(str, scripts)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(out.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The events of a script; those without a library run in one process, where any warning is an error."""
    folder, known = tmp_path_factory.mktemp("scripts"), {}

    def run(script: Path) -> list:
        if script.name not in known and script.stem in NEEDS:
            pytest.importorskip(NEEDS[script.stem])
            known.update(drive("drive.py", folder / "one.json", script))
        if script.name not in known:
            known.update(drive("drive.py", folder / "plain.json", *PLAIN, flags=("-W", "error")))
        return known[script.name]

    return run


def test_there_are_ten_scripts_and_more():
    assert len(SCRIPTS) >= 10
    assert all(sum(expectations(script)[0].values()) + sum(expectations(script)[1].values()) for script in SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_every_line_has_the_counted_events(seen, script):
    own, via = Counter(), Counter()
    for path, line, through, what, count in seen(script):
        if path.endswith(script.name):
            own[line, what] += count
        else:
            via[through, what] += count
    assert (dict(own), dict(via)) == tuple(map(dict, expectations(script)))


@pytest.mark.parametrize("script", [s for s in SCRIPTS if s.stem in NEEDS], ids=lambda script: script.stem)
def test_what_libraries_read_is_what_a_run_on_the_host_shows(seen, script, tmp_path):
    """An independent count: the same script on the host, without simulation, with torch's reading methods wrapped.

    Every line of a library at which the simulated device reported `item` must have read as many values there.
    """
    host = Counter()
    for path, line, count in drive("reads.py", tmp_path / "reads.json", script):
        host[path if Path(path).name != script.name else script.name, line] += count
    device = Counter()
    for path, line, _, what, count in seen(script):
        if what == "item":
            device[path if Path(path).name != script.name else script.name, line] += count
    assert device
    assert {place: host[place] for place in device} == dict(device)


def test_numbers_are_those_of_the_host(tmp_path):
    """The losses of ten steps, drawn and computed on the device, against the host's."""
    (losses,) = drive("losses.py", tmp_path / "losses.json", tmp_path)
    assert losses["cuda"] == pytest.approx(losses["cpu"], rel=1e-5)
    assert losses["cuda"][-1] < losses["cuda"][0]
