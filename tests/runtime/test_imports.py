"""The post-import hook: it calls back once, after the module has run, and leaves no trace in what it saw."""

import importlib
import importlib.resources
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
import threading
import traceback
import warnings
import zipfile
from importlib.machinery import ModuleSpec, SourceFileLoader

import pytest

from torchperf_lint.runtime import imports
from torchperf_lint.runtime.imports import after_import


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A directory on sys.path whose modules (named hooked*) are forgotten again."""
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("hooked")]:
        del sys.modules[name]
    imports._FINDER._waiting.clear()
    sys.meta_path[:] = before


def write(directory, **modules):
    for name, text in modules.items():
        path = directory / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def waits():
    return imports._FINDER in sys.meta_path


def test_calls_back_when_the_module_has_run(project):
    write(project, hooked="done = False\nimport hooked_other\ndone = True\n", hooked_other="")
    seen = []
    after_import("hooked", lambda module: seen.append((module.__name__, module.done)))
    assert waits()
    assert seen == []
    import hooked

    assert seen == [("hooked", True)]
    assert hooked.done
    assert not waits()


def test_calls_back_at_once_for_what_is_imported():
    seen = []
    after_import("sys", seen.append)
    assert seen == [sys]
    assert not waits()


def test_packages_and_their_modules_are_waited_for_apart(project):
    write(project, hooked__in____init__="from hooked import sub\n", hooked__in__sub="x = 1\n")
    seen = []
    for name in ("hooked", "hooked.sub", "hooked.never"):
        after_import(name, lambda module: seen.append(module.__name__))
    import hooked  # noqa: F401

    assert seen == ["hooked.sub", "hooked"]
    assert waits()


def test_several_callbacks_run_in_order_and_one_may_wait_for_more(project):
    write(project, hooked="", hooked_later="")
    seen = []
    after_import("hooked", lambda _: after_import("hooked_later", lambda _: seen.append("later")))
    after_import("hooked", lambda _: seen.append("second"))
    after_import("hooked", lambda module: after_import("hooked", lambda again: seen.append(again is module)))
    import hooked  # noqa: F401
    import hooked_later  # noqa: F401

    # The third is asked for while the module is still being imported, as Python sees it, and yet not lost.
    assert seen == ["second", True, "later"]
    assert not waits()


def traces(module):
    """What differs in a module between an import that was waited for and one that was not."""
    loader = module.__loader__
    return (
        type(loader),
        sorted(vars(loader)),
        module.__spec__.loader is loader,
        type(module.__spec__),
        sorted(vars(module.__spec__)),
        sorted(vars(module)),
    )


def test_no_trace_is_left(project):
    write(project, hooked="def f():\n    return 1\n", hooked_plain="def f():\n    return 1\n")
    after_import("hooked", lambda _: None)
    import hooked
    import hooked_plain

    assert traces(hooked) == traces(hooked_plain)
    assert inspect.getsource(hooked.f) == inspect.getsource(hooked_plain.f)
    assert pkgutil.get_data("hooked", "hooked.py") == (project / "hooked.py").read_bytes()
    hooked.f = None
    assert importlib.reload(hooked).f() == 1


def test_resources_of_a_package_can_be_read(project):
    write(project, hooked__in____init__="")
    (project / "hooked" / "data.txt").write_text("text", encoding="utf-8")
    after_import("hooked", lambda _: None)
    assert importlib.resources.files("hooked").joinpath("data.txt").read_text() == "text"
    assert not waits()


def test_finding_a_module_does_not_use_the_callback_up(project):
    write(project, hooked="x = 1\n")
    seen = []
    after_import("hooked", seen.append)
    spec = importlib.util.find_spec("hooked")
    assert isinstance(spec.loader, SourceFileLoader)
    assert spec.loader.get_source("hooked") == "x = 1\n"
    assert seen == []
    import hooked

    assert seen == [hooked]
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert (again.x, seen) == (1, [hooked])


def test_a_lazy_loader_calls_back_when_the_module_is_used(project):
    write(project, hooked="x = 1\n")
    seen = []
    after_import("hooked", lambda module: seen.append(module.__name__))
    spec = importlib.util.find_spec("hooked")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = sys.modules["hooked"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert seen == []
    assert module.x == 1
    assert seen == ["hooked"]


def test_an_import_that_fails_is_waited_for_again_and_its_traceback_is_pythons(project):
    write(project, hooked="if True:\n    1 / 0\n")

    def failure():
        try:
            import hooked  # noqa: F401
        except ZeroDivisionError as error:
            return traceback.format_exception(error)
        raise AssertionError("it was imported")

    expected = failure()
    seen = []
    after_import("hooked", seen.append)
    assert failure() == expected
    assert (seen, waits()) == ([], True)
    (project / "hooked.py").write_text("fine = True\n", encoding="utf-8")
    importlib.invalidate_caches()
    import hooked

    assert (seen, waits()) == ([hooked], False)


def test_warnings_at_import_are_attributed_as_in_plain_python(project):
    write(project, hooked="import warnings\nwarnings.warn('old', stacklevel=2)\n")
    after_import("hooked", lambda _: None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import hooked  # noqa: F401
    assert [warning.filename for warning in caught] == [__file__]


def test_a_callback_that_fails_is_reported_and_keeps_nobody_from_theirs(project):
    write(project, hooked="")
    seen = []
    after_import("hooked", lambda _: 1 / 0, on_error=seen.append)
    after_import("hooked", lambda _: 1 / 0)
    after_import("hooked", seen.append)
    after_import("sys", lambda _: 1 / 0, on_error=seen.append)
    import hooked

    assert [type(item) for item in seen] == [ZeroDivisionError, ZeroDivisionError, type(sys)]
    assert seen[2] is hooked


def test_a_module_that_replaces_itself_is_the_one_called_back_with(project):
    write(project, hooked="import sys\nclass Lazy: pass\nsys.modules[__name__] = Lazy()\n")
    seen = []
    after_import("hooked", seen.append)
    import hooked

    assert seen == [hooked]
    assert type(hooked).__name__ == "Lazy"


def test_modules_of_a_zip_file_share_a_loader(tmp_path, project, monkeypatch):
    with zipfile.ZipFile(tmp_path / "hooked.zip", "w") as archive:
        archive.writestr("hooked.py", "import hooked_second\n")
        archive.writestr("hooked_second.py", "x = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path / "hooked.zip"))
    seen = []
    after_import("hooked", lambda module: seen.append(module.__name__))
    after_import("hooked_second", lambda module: seen.append(module.__name__))
    import hooked
    import hooked_second

    assert seen == ["hooked_second", "hooked"]
    assert hooked.__loader__ is hooked.__spec__.loader
    assert hooked_second.x == 2
    assert "exec_module" not in getattr(hooked.__loader__, "__dict__", {})


class _Slotted:
    """A loader, and its finder, that takes no attributes."""

    __slots__ = ()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, origin="slotted") if name == "hooked_slotted" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.loader_seen = module.__loader__

    def more(self):
        return "more"


def test_a_loader_that_takes_no_attributes(project):
    loader = _Slotted()
    sys.meta_path.append(loader)
    seen = []
    after_import("hooked_slotted", seen.append)
    assert importlib.util.find_spec("hooked_slotted").loader.more() == "more"
    import hooked_slotted

    assert seen == [hooked_slotted]
    assert hooked_slotted.__loader__ is hooked_slotted.__spec__.loader is hooked_slotted.loader_seen is loader


def test_a_builtin_module_whose_loader_is_a_class():
    code = (
        "import sys\n"
        "finders = len(sys.meta_path)\n"
        "from torchperf_lint.runtime.imports import after_import\n"
        "name, other = [n for n in sys.builtin_module_names if n not in sys.modules][:2]\n"
        "after_import(name, lambda module: print('called', module.__loader__ is module.__spec__.loader))\n"
        "execute = vars(__import__(other).__loader__)['exec_module']\n"
        "module = __import__(name)\n"
        "print(module.__loader__, vars(module.__loader__)['exec_module'] is execute, len(sys.meta_path) == finders)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    lines = ["called True", "<class '_frozen_importlib.BuiltinImporter'> True True"]
    assert (done.stdout.splitlines(), done.stderr) == (lines, "")


def test_a_namespace_package_is_imported_as_ever(project):
    (project / "hooked_space").mkdir()
    seen = []
    after_import("hooked_space", seen.append)
    import hooked_space

    assert (hooked_space.__file__, seen) == (None, [])
    after_import("hooked_space", seen.append)
    assert seen == [hooked_space]


def test_what_does_not_exist_is_not_found():
    seen = []
    after_import("hooked_nowhere", seen.append)
    with pytest.raises(ModuleNotFoundError, match="No module named 'hooked_nowhere'"):
        importlib.import_module("hooked_nowhere")
    assert seen == []
    imports._FINDER.executed("hooked_nowhere", sys)
    assert not waits()


class _Delegating:
    """Another tool's finder, which asks all others as ours does."""

    def find_spec(self, name, path=None, target=None):
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        return next((spec for spec in found if spec is not None), None)


@pytest.mark.parametrize("first", [True, False])
def test_another_finder_that_asks_all_others(first, project):
    write(project, hooked="")
    seen = []
    if not first:
        after_import("hooked", seen.append)
    sys.meta_path.insert(0, _Delegating())
    if first:
        after_import("hooked", seen.append)
    import hooked

    assert seen == [hooked]
    assert "exec_module" not in vars(hooked.__loader__)


def test_threads_that_import_at_once_call_back_once(project):
    write(project, hooked="import time\ntime.sleep(0.05)\n")
    seen = []
    after_import("hooked", seen.append)
    barrier = threading.Barrier(8)

    def load():
        barrier.wait()
        importlib.import_module("hooked")

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [sys.modules["hooked"]]
    assert not waits()
