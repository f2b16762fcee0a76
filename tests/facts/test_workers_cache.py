"""Several processes and a cache change how long an answer takes, never the answer."""

from __future__ import annotations

import ast
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import torchperf_lint
from torchperf_lint import cache, workers
from torchperf_lint.cache import FEW_FILES, Cache
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.hotness import reach
from torchperf_lint.facts.hotness.hot_functions import HotFunctions
from torchperf_lint.facts.outlines.outline import outline
from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings

SOURCE = Path(torchperf_lint.__file__).parent
TRAIN = """\
import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
    for x, y in loader:
        loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""

# -- workers ---------------------------------------------------------------------------------------


def square(number):
    return number * number


def test_one_and_two_processes_give_the_same_answers_in_order():
    numbers = list(range(100))
    one, two = workers.each(square, numbers, 1), workers.each(square, numbers, 2)
    assert one == two == [n * n for n in numbers]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_are_other_processes_and_share_what_is_in_memory():
    secret = object()
    found = workers.each(lambda _: (os.getpid(), id(secret)), range(64), 2)
    assert os.getpid() not in {pid for pid, _ in found}
    assert {shared for _, shared in found} == {id(secret)}


def test_no_items_and_one_item_stay_here():
    assert workers.each(square, [], 4) == []
    assert workers.each(lambda _: os.getpid(), [1], 4) == [os.getpid()]


def fail_at_five(number):
    if number == 5:
        raise KeyError(number)
    return number


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_in_a_process_comes_back(processes):
    with pytest.raises(KeyError):
        workers.each(fail_at_five, range(40), processes)
    assert workers.each(square, [1, 2], processes) == [1, 4]


@pytest.mark.parametrize(
    ("jobs", "items", "expected"),
    [
        (1, 1000, 1),
        (4, 1000, 4),
        (4, 2, 2),
        (4, 0, 1),
        (0, 1000, 1),
        (-3, 1000, 1),
        (None, workers.FEW, 1),
        (None, 0, 1),
    ],
)
def test_how_many_processes(jobs, items, expected):
    assert workers.count(jobs, items) == expected


def test_as_many_processes_as_cores_for_many_items(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(3)), raising=False)
    assert workers.count(None, 10_000) == 3


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    (root / "train.py").write_text(TRAIN, encoding="utf-8")
    for number in range(FEW_FILES + 20):
        text = f"from train import train\n\n\ndef run_{number}(loader):\n    print('ß', loader)\n"
        (root / f"helper_{number}.py").write_text(text, encoding="utf-8")
    return root


def settings(tmp_path, **changes):
    return replace(Settings(), cache_dir=str(tmp_path / "cache"), **changes)


def findings(root, chosen):
    report = lint(Target(root, chosen, tuple(sorted(root.glob("*.py")))))
    assert report.problems == ()
    return report.findings


@pytest.mark.parametrize("jobs", [2, 3])
def test_findings_do_not_depend_on_the_number_of_processes(project, tmp_path, jobs):
    one = findings(project, settings(tmp_path, jobs=1, no_cache=True))
    assert [f.code for f in one if f.location.path.endswith("train.py")] == ["TPL101"]
    assert findings(project, settings(tmp_path, jobs=jobs, no_cache=True)) == one


# -- the cache -------------------------------------------------------------------------------------


def cache_file(tmp_path):
    (found,) = [path for path in (tmp_path / "cache").iterdir() if not path.name.endswith(".calls.json")]
    return found


@pytest.fixture
def outlined(monkeypatch):
    """The names of the files that are outlined anew."""
    seen = []

    def counted(path, text, *rest):
        seen.append(path)
        return outline(path, text, *rest)

    monkeypatch.setattr("torchperf_lint.opening.outline", counted)
    return seen


def test_a_warm_cache_gives_the_same_answer_without_outlining(project, tmp_path, outlined):
    without = findings(project, settings(tmp_path, jobs=1, no_cache=True))
    outlined.clear()
    cold = findings(project, settings(tmp_path, jobs=1))
    assert len(outlined) == FEW_FILES + 21
    outlined.clear()
    warm = findings(project, settings(tmp_path, jobs=1))
    assert outlined == []
    assert without == cold == warm != ()


def test_a_changed_text_is_outlined_anew(project, tmp_path, outlined):
    findings(project, settings(tmp_path, jobs=1))
    outlined.clear()
    (project / "train.py").write_text(TRAIN.replace("print(loss.item())", "print(len(loader))"), encoding="utf-8")
    assert findings(project, settings(tmp_path, jobs=1)) == ()
    assert outlined == ["train.py"]
    outlined.clear()
    assert findings(project, settings(tmp_path, jobs=1)) == ()
    assert outlined == []


def test_a_warm_cache_notices_a_change_in_another_file(project, tmp_path):
    """Only outlines are kept, never findings: what they depend on may stand in any file."""
    helper = project / "helper_1.py"
    helper.write_text("def show(loss):\n    print(loss.item())\n", encoding="utf-8")
    assert [f.location.path for f in findings(project, settings(tmp_path)) if f.location.path.endswith("_1.py")] == []
    (project / "train.py").write_text(
        TRAIN.replace("print(loss.item())", "show(loss)").replace(
            "import torch\n", "import torch\nfrom helper_1 import show\n"
        ),
        encoding="utf-8",
    )
    assert [f.location.path.endswith("helper_1.py") for f in findings(project, settings(tmp_path))] == [True]


def first_entry(held):
    return held["entries"][sorted(held["entries"])[0]]


def corrupt_nothing(held):
    return held


def foreign_version(held):
    return {**held, "made_by": "another version"}


def no_entries(held):
    return {"made_by": held["made_by"]}


def entries_as_a_list(held):
    return {**held, "entries": [1, 2, 3]}


def an_entry_of_another_kind(held):
    return {**held, "entries": dict.fromkeys(held["entries"], 7)}


def outlines_cut_short(held):
    return {**held, "entries": {name: [digest, found[:4]] for name, (digest, found) in held["entries"].items()}}


def outlines_of_text(held):
    return {**held, "entries": {name: [digest, "text"] for name, (digest, _) in held["entries"].items()}}


def regions_of_numbers(held):
    entries = {name: [digest, [*found[:3], [1, 2], *found[4:]]] for name, (digest, found) in held["entries"].items()}
    return {**held, "entries": entries}


def imports_of_numbers(held):
    entries = {name: [digest, [found[0], 7, *found[2:]]] for name, (digest, found) in held["entries"].items()}
    return {**held, "entries": entries}


def another_files_digest(held):
    return {**held, "entries": {name: ["0" * 32, found] for name, (_, found) in held["entries"].items()}}


CHANGES = [
    corrupt_nothing,
    foreign_version,
    no_entries,
    entries_as_a_list,
    an_entry_of_another_kind,
    outlines_cut_short,
    outlines_of_text,
    regions_of_numbers,
    imports_of_numbers,
    another_files_digest,
    lambda held: [],
    lambda held: None,
    lambda held: "text",
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_foreign_cache_file_changes_no_answer(project, tmp_path, change):
    chosen = settings(tmp_path, jobs=1)
    expected = findings(project, chosen)
    file = cache_file(tmp_path)
    file.write_text(json.dumps(change(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")
    assert findings(project, chosen) == expected
    assert findings(project, chosen) == expected


@pytest.mark.parametrize(
    "held",
    [b"", b"{", b"\x80\x04\x95", b"\xff\xfe", b"[" * 100_000, b'{"made_by": 1e999}'],
    ids=["empty", "torn", "a pickle", "no text", "deep", "odd numbers"],
)
def test_a_corrupt_cache_file_changes_no_answer_and_is_replaced(project, tmp_path, held, outlined):
    chosen = settings(tmp_path, jobs=1)
    expected = findings(project, chosen)
    cache_file(tmp_path).write_bytes(held)
    assert findings(project, chosen) == expected
    outlined.clear()
    assert findings(project, chosen) == expected
    assert outlined == []


def test_a_cache_that_cannot_be_written_is_no_ones_problem(project, tmp_path):
    (tmp_path / "cache").write_text("a file, not a directory")
    assert len(findings(project, settings(tmp_path, jobs=1))) == 1


def test_a_cache_directory_in_the_place_of_the_file_is_survived(project, tmp_path):
    chosen = settings(tmp_path, jobs=1)
    expected = findings(project, chosen)
    file = cache_file(tmp_path)
    file.unlink()
    file.mkdir()
    assert findings(project, chosen) == expected


def test_no_cache_writes_nothing(project, tmp_path):
    findings(project, settings(tmp_path, no_cache=True))
    assert not (tmp_path / "cache").exists()


def test_small_projects_are_not_kept(tmp_path):
    root = tmp_path / "small"
    root.mkdir()
    (root / "train.py").write_text(TRAIN, encoding="utf-8")
    findings(root, settings(tmp_path))
    assert not (tmp_path / "cache").exists()


def test_no_temporary_files_stay_behind(project, tmp_path):
    for text in ("x = 1\n", "x = 2\n", "x = 3\n"):
        (project / "helper_0.py").write_text(text, encoding="utf-8")
        findings(project, settings(tmp_path, jobs=1))
    assert {path.suffix for path in (tmp_path / "cache").iterdir()} == {".json"}
    assert len(list((tmp_path / "cache").iterdir())) == 2


# -- who calls whom --------------------------------------------------------------------------------


def calls_file(tmp_path):
    (found,) = (tmp_path / "cache").glob("*.calls.json")
    return found


@pytest.fixture
def worked_out(monkeypatch):
    """How often hot functions are worked out from all outlines."""
    seen = []
    by_role = HotFunctions._by_role

    def counted(self):
        seen.append(1)
        return by_role(self)

    monkeypatch.setattr(HotFunctions, "_by_role", counted)
    return seen


def found_in(root, chosen, *names):
    return lint(Target(root, chosen, tuple(root / name for name in names))).findings


def test_who_calls_whom_is_worked_out_once_for_the_same_files(project, tmp_path, worked_out):
    chosen = settings(tmp_path, jobs=1)
    without = found_in(project, settings(tmp_path, jobs=1, no_cache=True), "train.py")
    assert found_in(project, chosen, "train.py") == without != ()
    worked_out.clear()
    assert found_in(project, chosen, "train.py") == without
    assert findings(project, chosen) == without
    assert worked_out == []


def test_what_was_kept_is_what_was_found(project):
    net = "from torch import nn\n\nclass N(nn.Module):\n    def forward(self, x):\n        return ß(x)\n\n"
    (project / "net.py").write_text(net + "def ß(x):\n    pass\n", encoding="utf-8")
    outlines = {p.name: outline(p.name, p.read_text(encoding="utf-8")) for p in sorted(project.glob("*.py"))}
    fresh = Project(outlines.values(), lambda name: (project / name).read_text(encoding="utf-8"))
    assert {hot.depth for hot in fresh.hotness.functions.values()} == {0, 1}
    found = fresh.hotness.news
    assert found is not None
    again = reach.from_json(json.loads(json.dumps(reach.to_json(found, fresh.index.outlines))), fresh.index.outlines)
    assert again == found


def test_any_change_of_any_file_makes_it_worthless(project, tmp_path, worked_out):
    chosen = settings(tmp_path, jobs=1)
    found_in(project, chosen, "train.py")
    for change in (
        lambda: (project / "helper_3.py").write_text("from train import train\n", encoding="utf-8"),
        (project / "helper_4.py").unlink,
        lambda: (project / "more.py").write_text("x = 1\n", encoding="utf-8"),
    ):
        worked_out.clear()
        change()
        assert len(found_in(project, chosen, "train.py")) == 1
        assert worked_out == [1]


def test_a_buffer_in_the_place_of_a_file_neither_reads_nor_keeps_it(project, tmp_path, worked_out):
    chosen = settings(tmp_path, jobs=1)
    found_in(project, chosen, "train.py")
    before = calls_file(tmp_path).read_bytes()
    worked_out.clear()
    path = project / "train.py"
    report = lint(Target(project, chosen, (path,), {path: TRAIN.replace("loss.item()", "len(loader)")}))
    assert report.findings == ()
    assert worked_out == [1]
    assert calls_file(tmp_path).read_bytes() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda held: [],
        lambda held: {**held, "reach": []},
        lambda held: {**held, "reach": [[], [], []]},
        lambda held: {**held, "reach": [held["reach"][0], [[0, 99, []]], []]},
        lambda held: {**held, "reach": [held["reach"][0], [[0, 0, [[0, 99_999]]]], []]},
        lambda held: {**held, "reach": [held["reach"][0], [], [[0, 0, ["step"]]]]},
        lambda held: {**held, "digest": "another"},
    ],
)
def test_a_foreign_file_of_callers_changes_no_answer(project, tmp_path, change):
    chosen = settings(tmp_path, jobs=1)
    expected = findings(project, chosen)
    file = calls_file(tmp_path)
    file.write_text(json.dumps(change(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")
    assert findings(project, chosen) == expected
    assert json.loads(file.read_text(encoding="utf-8"))["digest"] != "another"
    assert findings(project, chosen) == expected


def test_two_projects_have_two_files(project, tmp_path):
    one = Cache(project, settings(tmp_path))
    other = Cache(project.parent, settings(tmp_path))
    assert one.file != other.file


def test_only_the_same_text_is_taken_from_the_cache(project, tmp_path):
    texts = {f"f{n}.py": f"x = {n}\n" for n in range(FEW_FILES + 1)}
    Cache(project, settings(tmp_path)).save({n: (t, outline(n, t)) for n, t in texts.items()})
    kept = Cache(project, settings(tmp_path))
    assert kept.get("f1.py", "x = 1\n") == outline("f1.py", "x = 1\n")
    assert kept.get("f1.py", "x = 2\n") is None
    assert kept.get("unheard.py", "x = 1\n") is None


def imported_names(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    inner = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
    return plain | inner | {node.module or "" for node in froms}


def test_nothing_reads_a_format_that_can_run_code():
    for path in sorted(SOURCE.rglob("*.py")):
        assert not imported_names(path) & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}, path


def test_an_outline_depends_on_every_module_that_makes_it():
    """A changed module must make the cache cold, or a new version answers with old outlines."""
    needed, queue = set(), [SOURCE / "facts" / "outlines" / "outline.py"]
    while queue:
        path = queue.pop()
        needed.add(path.stem)
        for name in imported_names(path):
            inner = SOURCE.parent / f"{name.replace('.', '/')}.py"
            if name.startswith("torchperf_lint.facts.") and inner.is_file() and inner.stem not in needed:
                queue.append(inner)
    stamped = cache._made_by.__code__.co_names
    assert needed <= set(stamped)


def test_the_stamp_names_the_python_that_parsed(monkeypatch):
    before = cache._made_by()
    monkeypatch.setattr(sys, "version_info", (3, 99, 0, "final", 0))
    assert cache._made_by() != before
