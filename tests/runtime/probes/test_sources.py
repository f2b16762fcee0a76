"""Files of the project are named once, with what they held."""

import hashlib
import importlib
import sys
import types

import pytest
from recording import Watched

from torchperf_lint.runtime.probes import sources


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A directory of modules, and a session over it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    session = Watched(tmp_path / "run.events.jsonl", project_root=str(tmp_path))
    names = []

    def add(name, text="x = 1\n"):
        names.append(name)
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()

    session.add, session.directory = add, tmp_path
    yield session
    for name in names:
        sys.modules.pop(name, None)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_modules_of_the_project_are_named_when_they_are_new(project):
    sources.install(project, None)
    project.add("first_of_project")
    importlib.import_module("first_of_project")
    assert project.read().sources == {"first_of_project.py": digest("x = 1\n")}
    project.add("second_of_project", "y = 2\n")
    importlib.import_module("second_of_project")
    assert project.read().sources["second_of_project.py"] == digest("y = 2\n")


def test_a_file_is_named_once(project):
    sources.install(project, None)
    project.add("only_of_project")
    importlib.import_module("only_of_project")
    project.read()
    text = (project.directory / "run.events.jsonl").read_text(encoding="utf-8")
    importlib.import_module("json.tool")
    project.read()
    assert text.count('"only_of_project.py"') == 1
    assert (project.directory / "run.events.jsonl").read_text(encoding="utf-8").count('"only_of_project.py"') == 1


def test_the_main_module_is_named_after_python_took_its_file_from_it(project, monkeypatch):
    project.add("script_of_project", "x = torch\n")
    main = types.ModuleType("__main__")
    main.__file__ = str(project.directory / "script_of_project.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    sources.install(project, None)
    del main.__file__
    assert project.read().sources == {"script_of_project.py": digest("x = torch\n")}


def test_another_main_module_without_a_file_is_not_taken_for_the_script(project, monkeypatch):
    project.add("script_of_project", "x = torch\n")
    main = types.ModuleType("__main__")
    main.__file__ = str(project.directory / "script_of_project.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    sources.install(project, None)
    monkeypatch.setitem(sys.modules, "__main__", types.ModuleType("__main__"))
    assert project.read().sources == {}


def test_the_main_module_is_looked_at_each_time(project, monkeypatch):
    sources.install(project, None)
    project.read()
    main = types.ModuleType("__main__")
    main.__file__ = "script_of_project.py"
    (project.directory / main.__file__).write_text("z = 3\n", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.chdir("/")
    assert project.read().sources == {"script_of_project.py": digest("z = 3\n")}


def test_a_file_that_is_gone_is_not_named(project, monkeypatch):
    module = types.ModuleType("gone_of_project")
    module.__file__ = str(project.directory / "gone_of_project.py")
    monkeypatch.setitem(sys.modules, "gone_of_project", module)
    sources.install(project, None)
    assert project.read().sources == {}


def test_a_failure_of_ours_is_noted_and_the_record_goes_on(project, monkeypatch):
    sources.install(project, None)
    monkeypatch.setattr(project.sites, "kind_of", lambda filename: 1 / 0)
    project.add("failing_of_project")
    importlib.import_module("failing_of_project")
    project.recorder.state("still", "here")
    assert project.read().state == {"still": "here"}
    assert project.probe_state("sources") == "failed"
