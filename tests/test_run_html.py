"""The page about a run: one file, nothing fetched, nothing run, everything said."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from runs import finding, report, run, sample, sync, utilisation
from test_run_report import PAGES, SOURCE, on_gpu

from torchperf_lint import bounds
from torchperf_lint.adapters import cli
from torchperf_lint.model import Diagnosis, Outcome
from torchperf_lint.recorded import Moment
from torchperf_lint.reporters import View, run_page
from torchperf_lint.reporters._html_charts import rounded_up, thinned, ticks
from torchperf_lint.reporters._html_style import DARK, LIGHT, PHASES
from torchperf_lint.reporters._html_tags import code_in, el, joined
from torchperf_lint.verdict import digest_of

RECORD = Path(__file__).parents[1] / "docs" / "run.events.jsonl"
MEGABYTE = 1_000_000
HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</style><svg onload=x>",
    "&lt;b&gt; `a<b`",
)


class Seen(HTMLParser):
    """What a page is made of; fails where tags do not nest."""

    def __init__(self):
        super().__init__()
        self.open, self.elements, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("dd", "td", "th", "p", "li", "h1", "h2", "h3", "svg"):
            self.text.append(" ")
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)

    def every(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def seen(text):
    page = Seen()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def words(text):
    return " ".join("".join(seen(text).text).split())


def page(made, **view):
    return run_page(made, View(**{"texts": {"train.py": SOURCE}, **view}))


def over_time(points=500, moments=200):
    """A run whose machine was sampled, with moments of its steps and a pass each fifty."""
    record = utilisation(cores=8, gpu=0.4, cpu__main_cores=1.0, disk__read_bytes_per_s=5e6)
    record["started"] = 1000.0
    record["course"] = [
        {"t": n / 2, "gpu.0.busy_share": n % 7 / 10, "cpu.main_cores": 1.0, "disk.read_bytes_per_s": 1e6 * (n % 3)}
        for n in range(points)
    ]
    course = tuple(Moment(1000.0 + n, 9 * n, 9 * n, 27 * n, 1 + n // 50) for n in range(1, moments))
    made = on_gpu()
    return replace(made, run=replace(made.run, utilisation=record, course=course, platform="Linux x86_64"))


def as_they_ran():
    """Three of its steps as they ran, with a wait that was timed and a copy that was not."""
    made = over_time()
    return replace(made, run=replace(made.run, samples=(sample(steps=3, waits_ms=4.0),)))


def ranks():
    """Two of them, the second of which is late."""
    made = as_they_ran()
    samples = (sample(steps=9, rank=0, waits_ms=8.0), sample(steps=9, rank=1, forward_ms=9.0))
    return replace(made, run=replace(made.run, samples=samples, ranks=made.run.ranks * 2))


def hostile():
    """A project whose every text tries to be markup."""
    text = " ".join(HOSTILE)
    evidence = run(
        events=(
            sync(25, path=f"{text}.py", blocked_ms=1.0),
            sync(30, "item", path=text, via=(text, 3), blocked_ms=2.0),
        ),
        device=text,
        shares={"waiting_for_the_device": 0.5},
        utilisation=utilisation(**{f"{text}_share": 0.4}, gpu_missing=text),
        torch=text,
        platform=text,
        python=text,
        unwatched={text: text},
        samples=(sample(path=text),),
    )
    one = finding(25, path=f"{text}.py", reason=text, blocked_ms_per_step=1.0, share_of_step=0.1)
    one = replace(one, name=text, message=text, why_tensor=text, why_hot=text, instead=f"{text}\n{text}")
    made = report(evidence, (one,), script=text, record=text, changed=(text,), unfound=evidence.events[1:])
    return replace(made, diagnoses=(Diagnosis("TPL901", "a", text, text, text),))


EVERY = {**PAGES, "over_time": over_time, "as_they_ran": as_they_ran, "ranks": ranks, "hostile": hostile}


@pytest.mark.parametrize("name", EVERY)
def test_the_page_needs_nothing_else(name):
    text = page(EVERY[name]())
    made = seen(text)
    tags = {tag for tag, _ in made.elements}
    assert not tags & {
        "script",
        "img",
        "link",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "image",
        "use",
        "foreignobject",
    }
    for _, attributes in made.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("src", "style", "xlink:href")]
        assert attributes.get("href", "#").startswith("#")
    assert not re.search(r"url\(|@import|@font-face", text.partition("<style>")[2].partition("</style>")[0])
    policy = next(m["content"] for m in made.every("meta") if m.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline';")
    assert len(text.encode()) < MEGABYTE


@pytest.mark.parametrize("name", EVERY)
def test_the_page_is_accessible(name):
    made = seen(page(EVERY[name]()))
    assert made.every("html") == [{"lang": "en"}]
    assert len(made.every("h1")) == 1
    levels = [int(tag[1]) for tag, _ in made.elements if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    for picture in made.every("svg"):
        assert picture.get("aria-hidden") == "true" or (picture["role"] == "img" and len(picture["aria-label"]) > 10)
    for table in made.every("table"):
        assert table == {}
    assert all(head["scope"] in ("col", "row") for head in made.every("th"))
    assert len(made.every("caption")) == len(made.every("table"))
    links = {a["href"][1:] for a in made.every("a")}
    assert links <= {attributes["id"] for _, attributes in made.elements if "id" in attributes}


@pytest.mark.parametrize("attack", HOSTILE)
def test_whatever_the_project_calls_things_stays_text(attack):
    text = page(hostile())
    assert "<script" not in text
    assert "<img" not in text
    assert "onload=x>" not in text.replace("onload=x&gt;", "")
    assert attack.replace("`", "") in words(text).replace("`", "")


def test_lines_of_code_are_text_and_shown_only_as_they_ran(tmp_path):
    code = SOURCE.replace("loss.item()", "x < y </pre><b>'\"&")
    (tmp_path / "train.py").write_text(code)
    made = report(run(events=(sync(25),), sources={"train.py": digest_of(tmp_path / "train.py")}), (finding(25),))
    assert "x &lt; y &lt;/pre&gt;&lt;b&gt;" in page(made, texts={}, cwd=tmp_path)
    (tmp_path / "train.py").write_text(code + "\n")
    text = page(made, texts={}, cwd=tmp_path)
    assert "x &lt; y" not in text
    assert "The file is not here as it ran" in text


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("on_gpu", ("NVIDIA H200", "median 20.0 ms, p95 30.0 ms", "TPL903", "Do these first", "exit code 0")),
        ("on_gpu", ("6 findings: 3 confirmed, 1 refuted, 2 not reached", "train.py:35", "upper bound")),
        ("on_cpu", ("no CUDA device", "ended with exit code 3", "changed since it ran", "broken.py:3")),
        (
            "simulated",
            ("counts may lack something", "Not measured: on a simulated device", "Not shown: on a simulated"),
        ),
        ("killed", ("killed by SIGKILL", "2 ranks", "no record of ranks 1, 3", "shorter than its warm-up")),
        ("empty", ("no training step, 0 batches", "nothing was sampled", "None in the files that ran.")),
        ("many", ("50 findings: 40 confirmed", "train.py:219")),
        (
            "over_time",
            ("Steps a second", "9 on average, 9 to 9", "a pass over the loader began, 3 (50 s, 100 s, 150 s)"),
        ),
        ("over_time", ("Synchronisations a second", "27 on average", "GPU 0: 29.9 % on average, 0 to 60 %")),
        ("over_time", ("passes over the loader: 4", "pass 2", "steps: 1,791", "to 1,000", "synchronisations: 5,373")),
        ("over_time", ("0 s from the start", "100 s", "200 s")),
        (
            "as_they_ran",
            ("Steps 11 to 13 as they ran", "step 12: 20.0 ms", "forward: 15.0 ms, train.py:20 to train.py:23"),
        ),
        ("as_they_ran", ("sync (item), train.py:25: held the host up 4.00 ms", "copy (h2d), train.py:21")),
        ("ranks", ("step 11, rank 0: 20.0 ms", "step 11, rank 1: 14.0 ms", "Steps 11 to 14 as they ran")),
    ],
)
def test_the_page_says(name, told):
    text = words(page(EVERY[name]()))
    for part in told:
        assert part in text


@pytest.mark.parametrize("name", ["simulated", "killed", "empty"])
def test_nothing_is_drawn_of_times_where_none_was_measured(name):
    text = page(EVERY[name]())
    assert not re.search(r"[\d.]+ (ms|s)\b", words(text))
    assert "<polyline" not in text
    assert 'role="img"' not in text


def test_a_record_without_moments_says_so():
    made = over_time()
    old = replace(made, run=replace(made.run, course=()))
    assert "the record does not hold when they were" in words(page(old))
    assert "the record does not hold when they were" not in words(page(made))


def test_a_very_long_record_stays_under_a_megabyte():
    lines = range(1, 1500)
    found = tuple(
        replace(finding(line, outcome=outcome, path="p" * 200), message="m" * 9000, instead="x = 1\n" * 500)
        for line, outcome in zip(lines, [*Outcome] * 500, strict=False)
    )
    events = tuple(sync(line, path="q" * 200, blocked_ms=0.1) for line in range(5000, 6000))
    made = over_time(points=40_000, moments=20_000)
    made = replace(made, run=replace(made.run, events=events), unfound=events)
    text = page(replace(made, report=replace(made.report, findings=found)))
    assert len(text.encode()) < MEGABYTE
    assert "more findings: see --report" in words(text)
    assert all(len(line["points"].split()) <= 300 for line in seen(text).every("polyline"))


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), -1.0, "1", None, True])
def test_a_damaged_course_is_drawn_without_what_is_no_number(wrong):
    made = over_time(points=4)
    rows = [
        *made.run.utilisation["course"],
        {"t": wrong, "cpu.main_cores": 1.0},
        {"t": 1.0, "cpu.main_cores": wrong},
        3,
    ]
    text = page(replace(made, run=replace(made.run, utilisation={**made.run.utilisation, "course": rows})))
    assert "CPU: cores in use" in words(text)
    assert not re.search(r"\b(nan|inf)\b", text)


@pytest.mark.parametrize(("count", "most"), [(0, 3), (3, 3), (4, 3), (1000, 300), (1001, 300)])
def test_thinning_keeps_the_mean(count, most):
    points = [(float(n), float(n % 2)) for n in range(count)]
    kept = thinned(points, most)
    assert len(kept) <= most
    assert kept[:1] == points[:1] or not kept or kept[0][0] == 0.0
    assert not kept or abs(sum(v for _, v in kept) / len(kept) - sum(v for _, v in points) / count) < 0.2


@pytest.mark.parametrize("end", [0.003, 0.9, 1.0, 6.4, 59.0, 3600.0, 604_800.0])
def test_ticks_are_few_and_within(end):
    found = ticks(end)
    assert 2 <= len(found) <= 7
    assert found[0] == 0
    assert found[-1] <= end * 1.001


@pytest.mark.parametrize(("value", "top"), [(0, 1), (0.3, 0.4), (1.0, 1), (1.05, 2), (97.0, 100), (100.0, 100)])
def test_axes_end_at_round_numbers(value, top):
    assert rounded_up(value) == pytest.approx(top)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_stands_out(colours):
    for ground in ("page", "card"):
        for text in ("text", "dim", "good", "bad", "note"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for part in (name for name in colours if name.startswith("p") and name != "page"):
        assert contrast(colours["ink"], colours[part]) >= 4.5, part
        assert contrast(colours[part], colours["page"]) >= 3, part


def lab(colour):
    """CIELAB under D65, of a six-digit colour: in it equal distances look about equal."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.0888
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_no_two_phases_look_alike(colours):
    assert set(PHASES) == set(bounds.PHASES)
    close = [pair for pair in combinations(PHASES.values(), 2) if math.dist(*(lab(colours[p]) for p in pair)) < 22]
    assert not close


def test_text_is_escaped_once_and_markup_never():
    inner = el("b", "a < b & 'c'", class_='"x"')
    assert inner == '<b class="&quot;x&quot;">a &lt; b &amp; &#x27;c&#x27;</b>'
    assert joined(inner, "<i>\u202e") == f"{inner}&lt;i&gt;\ufffd"
    assert code_in("use `a < b` or `c") == "use <code>a &lt; b</code> or `c"


def test_what_bounds_the_run_stands_first_and_what_is_no_problem_is_folded():
    made = seen(page(on_gpu()))
    assert words(page(on_gpu())).index("TPL903 the host is blocked") < words(page(on_gpu())).index(
        "Where the step goes"
    )
    order = [attributes["id"] for tag, attributes in made.elements if tag == "h2" and "id" in attributes]
    assert order == ["bounds", "first", "where", "over-time", "findings", "sites", "about"]
    cards = [tag for tag, attributes in made.elements if attributes.get("class", "").startswith("card")]
    assert cards == ["article"] * 5 + ["details"] * 3


def test_a_step_of_many_marks_is_drawn_in_part():
    made = as_they_ran()
    long = sample(steps=8, marks=2000)
    text = page(replace(made, run=replace(made.run, samples=(long,))))
    assert len(text.encode()) < MEGABYTE


def test_a_simulated_run_shows_no_times_though_a_sample_were_there():
    made = EVERY["simulated"]()
    text = page(replace(made, run=replace(made.run, samples=(sample(),))))
    assert "as they ran" not in words(text)


def test_report_writes_the_page_beside_the_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["--report", str(RECORD), "--html", "run.html"]) == 0
    assert "Where the step goes" in capsys.readouterr().out
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "loader_bound.py" in words(text)
    assert "the script used 0.99" in words(text) or "the script used 1.00" in words(text)
    assert cli.main(["--report", str(RECORD), "--html", "no/such/run.html"]) == 2
    assert "--html: no/such/run.html cannot be written" in capsys.readouterr().err


def test_a_watched_script_leaves_its_page(tmp_path):
    (tmp_path / "train.py").write_text("import sys\nprint(1)\nsys.exit(4)\n")
    command = [sys.executable, "-m", "torchperf_lint", "--runtime", "--html", "run.html", "train.py"]
    root = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "1\n")
    text = words((tmp_path / "run.html").read_text(encoding="utf-8"))
    assert "ended with exit code 4" in text
    assert "torch not imported by the script" in text
    assert "What was sampled" in text or "nothing was sampled" in text or "unavailable" in text


@pytest.mark.parametrize("arguments", [["--html", "a.html", "a.py"], ["--html", "a.html"]])
def test_only_a_run_has_a_page(arguments, capsys):
    assert cli.main(arguments) == 2
    assert "--html: only with --runtime or --report" in capsys.readouterr().err
