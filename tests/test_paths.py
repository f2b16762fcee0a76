from __future__ import annotations

import inspect
import os
import shutil
import socket
import subprocess
import sys

import pytest
from fake_rules import install

from torchperf_lint import paths
from torchperf_lint.errors import ConfigError
from torchperf_lint.paths import Homes, collect, project_files
from torchperf_lint.settings import Settings

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Makes files below the working directory; a path that ends in / is a directory."""
    install(monkeypatch)
    monkeypatch.chdir(tmp_path)

    def make(*names, **texts):
        for name in names:
            path = tmp_path / name
            (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                path.write_text("x = 1\n")
        return tmp_path

    return make


def found(cwd, *given, isolated=False, config=None, **overrides):
    """(files by root, problems), all relative to `cwd`."""
    collected = collect(given or ["."], Homes(overrides, isolated, config, cwd))
    groups = {os.path.relpath(g.home.root, cwd): [os.path.relpath(p, cwd) for p in g.files] for g in collected.groups}
    return groups, [(problem.path, problem.reason) for problem in collected.problems]


def files(cwd, *given, **options):
    groups, problems = found(cwd, *given, **options)
    assert problems == []
    return sorted(name for names in groups.values() for name in names)


def git(cwd, *arguments):
    subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True)


def test_directories_are_walked_for_python_and_notebooks(tree):
    cwd = tree("a.py", "b.pyi", "c.ipynb", "d.txt", "e/f.py", "e/g/h.py", "Z.py", ".hidden/i.py", "empty/")
    assert files(cwd) == [".hidden/i.py", "Z.py", "a.py", "c.ipynb", "e/f.py", "e/g/h.py"]
    assert files(cwd, "e") == ["e/f.py", "e/g/h.py"]
    assert files(cwd, "e", "e/f.py", "./e/../e/f.py", str(cwd / "e" / "f.py")) == ["e/f.py", "e/g/h.py"]
    assert files(cwd, "empty") == []


def test_files_are_sorted_by_posix_path(tree):
    cwd = tree("b/a.py", "b.py", "b-c.py", "a/z.py", "B.py")
    groups, _ = found(cwd, "b.py", "a", "b", "b-c.py", "B.py")
    assert groups == {".": ["B.py", "a/z.py", "b-c.py", "b.py", "b/a.py"]}


def test_usual_places_are_excluded_and_a_named_one_is_not(tree):
    cwd = tree("a.py", "build/b.py", "x.egg-info/c.py", "env/d.py", "sub/node_modules/e.py", "venv/f/g.py")
    assert files(cwd) == ["a.py", "env/d.py"]
    assert files(cwd, "build/b.py") == ["build/b.py"]
    assert files(cwd, "build", "venv") == ["build/b.py", "venv/f/g.py"]
    assert files(cwd, "build/b.py", "build", "a.py", force_exclude=True) == ["a.py"]
    assert files(cwd, exclude=["a.py", "sub/*"]) == ["build/b.py", "env/d.py", "venv/f/g.py", "x.egg-info/c.py"]
    assert files(cwd, extend_exclude=["a.py"]) == ["env/d.py"]


def test_a_virtual_environment_is_told_by_what_it_holds(tree):
    cwd = tree("a.py", "env/lib/d.py", "env/pyvenv.cfg", "py311/lib/e.py", "py311/pyvenv.cfg")
    assert files(cwd) == ["a.py"]
    assert files(cwd, "py311") == ["py311/lib/e.py"]


def test_tests_and_benchmarks_are_left_out_unless_they_are_named(tree):
    cwd = tree("a.py", "test_a.py", "pkg/b.py", "pkg/tests/c.py", "pkg/tests/d/test_e.py", "benchmarks/f.py")
    assert files(cwd) == ["a.py", "pkg/b.py"]
    assert files(cwd, "pkg") == ["pkg/b.py"]
    assert files(cwd, "pkg/tests") == ["pkg/tests/c.py", "pkg/tests/d/test_e.py"]
    assert files(cwd, "pkg/tests/d") == ["pkg/tests/d/test_e.py"]
    assert files(cwd, "test_a.py", "benchmarks/f.py") == ["benchmarks/f.py", "test_a.py"]
    assert files(cwd, "test_a.py", "benchmarks/f.py", "a.py", force_exclude=True) == ["a.py"]
    assert "test_a.py" in files(cwd, default_skip=[])


@pytest.mark.parametrize(("name", "taken"), [("smoke.py", False), ("a_smoke.py", False), ("smoke_net.py", True)])
def test_a_smoke_test_is_a_test(tree, name, taken):
    assert (f"tools/{name}" in files(tree("a.py", f"tools/{name}"))) is taken


TRAINS = "import torch\n\nfor x in loader:\n    assert x.dim() == 2\n    model(x).mean().backward()\n"
SCRIPT = """\
import argparse
import torch

args = argparse.ArgumentParser().parse_args()
model = torch.load(args.weights)
model.eval()
"""


@pytest.mark.parametrize(
    ("name", "text", "taken"),
    [
        ("test_net.py", SCRIPT, True),
        ("imagenet_test.py", SCRIPT, True),
        ("tools/test_net.py", SCRIPT, True),
        ("tests/test_net.py", SCRIPT, False),
        ("bench_net.py", SCRIPT, False),
        ("test_net.py", f"{SCRIPT}assert model is not None\n", False),
        ("test_net.py", f"{SCRIPT}\n\ndef test_model():\n    model(0)\n", False),
        ("test_net.py", "import torch\n\ntorch.load('w').eval()\n", False),
        ("train_test.py", TRAINS, True),
        ("train_val_test.py", TRAINS, True),
        ("trainer_test.py", TRAINS, False),
        ("train_test.py", f"{TRAINS}\n\ndef test_training():\n    main()\n", False),
    ],
)
def test_a_script_that_trains_or_evaluates_is_no_test_whatever_its_name(tree, name, text, taken):
    cwd = tree("a.py", name)
    (cwd / name).write_text(text)
    assert files(cwd) == (sorted(["a.py", name]) if taken else ["a.py"])
    assert files(cwd, default_skip=["test_*.py", "*_test.py", "tests", "bench*"]) == ["a.py"]


def test_only_the_path_below_the_root_counts(tree):
    cwd = tree("tests/project/torchperf-lint.toml", "tests/project/a.py", "build/project/b.py", "build/project/.git/")
    (cwd / "tests/project/torchperf-lint.toml").write_text("")
    assert files(cwd / "tests/project") == ["a.py"]
    assert files(cwd / "build/project") == ["b.py"]


def test_a_named_file_is_read_whatever_it_is_called(tree):
    cwd = tree("script", "b.pyi", ".git/hook.py")
    assert files(cwd, "script", "b.pyi", ".git/hook.py") == [".git/hook.py", "b.pyi", "script"]


def test_a_missing_path_is_told_and_the_others_are_read(tree):
    cwd = tree("a.py")
    groups, problems = found(cwd, "a.py", "gone.py", "gone/x.py", "a.py/x.py", "gone.py")
    assert groups == {".": ["a.py"]}
    assert problems == [
        ("a.py/x.py", "cannot be read: not a directory"),
        ("gone.py", "no such file or directory"),
        ("gone/x.py", "no such file or directory"),
    ]


def test_a_directory_called_like_a_file_is_walked(tree):
    cwd = tree("x.py/y.py", "z.py")
    assert files(cwd) == ["x.py/y.py", "z.py"]
    assert files(cwd, "x.py") == ["x.py/y.py"]


def test_pipes_and_sockets_are_never_opened(tree):
    cwd = tree("a.py")
    os.mkfifo(cwd / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("sock.py")
        assert files(cwd) == ["a.py"]
        groups, problems = found(cwd, "pipe.py", "sock.py", "/dev/null")
    assert groups == {}
    assert problems == [(path, "neither a file nor a directory") for path in ("/dev/null", "pipe.py", "sock.py")]


def test_links_that_loop_or_lead_back_end(tree):
    cwd = tree("pkg/a.py", "pkg/deep/b.py")
    (cwd / "pkg" / "up").symlink_to("..")
    (cwd / "pkg" / "self").symlink_to("self")
    (cwd / "pkg" / "deep" / "again").symlink_to(cwd / "pkg")
    (cwd / "beside").symlink_to("pkg")
    assert files(cwd) == ["pkg/a.py", "pkg/deep/b.py"]
    assert files(cwd, "pkg/up/pkg/a.py") == ["pkg/up/pkg/a.py"]


def test_a_link_that_leads_nowhere_is_told(tree):
    cwd = tree("a.py")
    (cwd / "loop.py").symlink_to("loop.py")
    (cwd / "gone.py").symlink_to("nowhere")
    (cwd / ".#edited.py").symlink_to("someone@host.1")  # an editor's lock
    groups, problems = found(cwd)
    assert groups == {".": ["a.py"]}
    assert problems[0] == ("gone.py", "no such file or directory")
    assert problems[1][0] == "loop.py"
    assert "symbolic links" in problems[1][1]


def test_a_link_out_of_the_project_is_followed_once(tree, tmp_path_factory):
    cwd = tree("a.py")
    outside = tmp_path_factory.mktemp("outside")
    (outside / "b.py").write_text("")
    (outside / "back").symlink_to(cwd)
    (cwd / "one").symlink_to(outside)
    (cwd / "two").symlink_to(outside)
    (cwd / "linked.py").symlink_to(outside / "b.py")
    assert files(cwd) == ["a.py", "linked.py", "one/b.py"]


def test_what_cannot_be_listed_is_told(tree, monkeypatch):
    cwd = tree("a.py", "locked/b.py")
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert found(cwd) == ({".": ["a.py"]}, [("locked", "cannot be read: permission denied")])
    assert not project_files(cwd, Settings(), ()).complete


def test_a_tree_deeper_than_python_may_recurse_is_walked(tree):
    name = "d/" * 150 + "deep.py"
    cwd = tree(name)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        assert files(cwd) == [name]
    finally:
        sys.setrecursionlimit(limit)


def test_every_file_has_the_settings_of_its_nearest_configuration(tree):
    cwd = tree("a.py", "sub/b.py", "sub/skipped/c.py", "sub/deep/d.py", "other/skipped/e.py")
    (cwd / "torchperf-lint.toml").write_text('select = ["TPL101"]')
    (cwd / "sub" / "pyproject.toml").write_text('[tool.torchperf-lint]\nselect = ["TPL103"]\nexclude = ["skipped"]')
    everything = found(cwd)[0]
    assert everything == {".": ["a.py", "other/skipped/e.py"], "sub": ["sub/b.py", "sub/deep/d.py"]}
    homes = Homes({}, False, None, cwd)
    for root, names in everything.items():
        for name in names:
            assert found(cwd, name)[0] == {root: [name]}
            assert homes.of(cwd / name).settings.select == (("TPL103",) if root == "sub" else ("TPL101",))
    assert files(cwd, "sub/skipped/c.py", "sub/b.py", force_exclude=True) == ["sub/b.py"]
    assert found(cwd, isolated=True)[0].keys() == {"."}
    assert homes.of(cwd / "sub" / "deep").config == cwd / "sub" / "pyproject.toml"


def test_what_an_outer_project_excludes_stays_excluded_when_named(tree):
    cwd = tree("vendored/a.py", "b.py")
    (cwd / "torchperf-lint.toml").write_text('exclude = ["vendored"]')
    (cwd / "vendored" / "torchperf-lint.toml").write_text("")
    assert files(cwd) == ["b.py"]
    assert files(cwd, "vendored/a.py", "b.py") == ["b.py", "vendored/a.py"]
    assert files(cwd, "vendored/a.py", "vendored", "b.py", force_exclude=True) == ["b.py"]


def test_one_configuration_named_serves_every_project(tree):
    cwd = tree("sub/a.py", "b.py", "conf/strict.toml")
    (cwd / "sub" / "torchperf-lint.toml").write_text("selct = 1")
    (cwd / "conf" / "strict.toml").write_text('select = ["TPL2"]')
    config = cwd / "conf" / "strict.toml"
    assert found(cwd, config=config)[0] == {".": ["b.py", "sub/a.py"]}
    assert Homes({}, False, config, cwd).of(cwd / "sub" / "a.py").settings.codes == {"TPL201"}
    with pytest.raises(ConfigError, match=r"sub/torchperf-lint.toml: unknown key 'selct'"):
        found(cwd)


def test_a_directory_elsewhere_is_a_project_of_its_own(tree, tmp_path_factory):
    cwd = tree("a.py")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "tests" / "deep").mkdir(parents=True)
    (elsewhere / "b.py").write_text("")
    (elsewhere / "tests" / "deep" / "c.py").write_text("")
    collected = collect([str(elsewhere), "a.py"], Homes({}, False, None, cwd))
    assert {g.home.root: g.files for g in collected.groups} == {elsewhere: (elsewhere / "b.py",), cwd: (cwd / "a.py",)}


@needs_git
def test_gitignore_is_honoured_even_isolated_and_a_named_file_beats_it(tree):
    cwd = tree("a.py", "out/b.py", "tracked/c.py", "keep/d.py", "new.py", "sub/e.py", "sub/f_gen.py")
    git(cwd, "init", "-q")
    (cwd / "tracked" / "c.py").touch()
    git(cwd, "add", "tracked/c.py")
    (cwd / ".gitignore").write_text("out/\ntracked/\n")
    (cwd / "sub" / ".gitignore").write_text("*_gen.py\n")
    expected = ["a.py", "keep/d.py", "new.py", "sub/e.py", "tracked/c.py"]
    assert files(cwd) == expected
    assert files(cwd, isolated=True) == expected
    assert files(cwd, "sub") == ["sub/e.py"]
    assert files(cwd, "out/b.py", "sub/f_gen.py") == ["out/b.py", "sub/f_gen.py"]
    assert files(cwd, "out") == ["out/b.py"]


@needs_git
def test_git_of_a_hook_does_not_lead_astray(tree, monkeypatch, tmp_path_factory):
    cwd = tree("a.py", "b.py", "odd name\n.py")
    git(cwd, "init", "-q")
    (cwd / ".gitignore").write_text("b.py\n")
    other = tmp_path_factory.mktemp("other")
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    assert files(cwd) == ["a.py", "odd name\n.py"]


@needs_git
def test_repositories_inside_repositories_have_their_own_gitignore(tree):
    cwd = tree("a.py", "lib/b.py", "lib/gen.py", "ignored/c.py")
    for path in (cwd, cwd / "lib", cwd / "ignored"):
        git(path, "init", "-q")
    (cwd / ".gitignore").write_text("ignored/\n")
    (cwd / "lib" / ".gitignore").write_text("gen.py\n")
    assert found(cwd)[0] == {".": ["a.py"], "lib": ["lib/b.py"]}
    assert found(cwd, "lib/b.py")[0] == {"lib": ["lib/b.py"]}


@pytest.mark.parametrize("how", ["missing", "broken"])
def test_without_a_working_git_everything_is_read(tree, monkeypatch, how):
    cwd = tree("a.py", "b.py", ".gitignore", "bin/")
    if how == "broken":
        (cwd / ".git").write_text("gitdir: nowhere\n")
    else:
        (cwd / ".git").mkdir()
        monkeypatch.setenv("PATH", str(cwd / "bin"))
    (cwd / ".gitignore").write_text("b.py\n")
    assert files(cwd) == ["a.py", "b.py"]


def relative(project, cwd):
    return [path.relative_to(cwd).as_posix() for path in project.files]


def test_facts_come_from_tests_and_benchmarks_too(tree):
    cwd = tree("a.py", "tests/b.py", "bench/c.py", "docs/d.py", "build/e.py", "f.txt", "g.ipynb")
    project = project_files(cwd, Settings(), [cwd / "a.py"])
    assert relative(project, cwd) == ["a.py", "bench/c.py", "docs/d.py", "g.ipynb", "tests/b.py"]
    assert project.complete


def test_a_file_outside_the_walk_brings_its_neighbours(tree):
    cwd = tree("a.py", "build/b.py", "build/c.py", "build/deep/d.py", "script")
    project = project_files(cwd, Settings(), [cwd / "build" / "b.py"])
    assert relative(project, cwd) == ["a.py", "build/b.py", "build/c.py"]
    assert not project.complete
    project = project_files(cwd, Settings(), [cwd / "script", cwd / "<stdin>"])
    assert relative(project, cwd) == ["<stdin>", "a.py", "script"]
    assert project.complete


@pytest.mark.parametrize("limit", ["MAX_FILES", "MAX_ENTRIES"])
def test_a_project_that_is_too_large_is_not_indexed(tree, monkeypatch, limit):
    cwd = tree("a/a.py", "a/b.py", "c/d.py", "c/e.py")
    monkeypatch.setattr(paths, limit, 3)
    project = project_files(cwd, Settings(), [cwd / "c" / "d.py"])
    assert relative(project, cwd) == ["c/d.py", "c/e.py"]
    assert not project.complete
    monkeypatch.setattr(paths, limit, 6)
    assert project_files(cwd, Settings(), [cwd / "c" / "d.py"]).complete
