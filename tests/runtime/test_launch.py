"""A watched run is plain Python: what the script sees, what it prints and how it ends are the same."""

import json
import shutil
import sys
import zipapp
from pathlib import Path

import pytest
from watching import FIXTURES, Watched, finish, plain

from torchperf_lint.runtime import request

PACKAGE = Path(request.__file__).parents[1]

ENDINGS = {
    "nothing": "",
    "exit_code": "import sys; sys.exit(3)",
    "exit_text": "import sys; sys.exit('so long')",
    "exit_none": "import sys; sys.exit(None)",
    "exit_large": "import sys; sys.exit(70000)",
    "exception": "def f():\n    raise ValueError('no')\nprint('before')\nf()",
    "syntax": "print('before')\ndef f(:",
    "import_error": "import no_such_module",
    "keyboard_interrupt": "raise KeyboardInterrupt",
    "exit_in_thread": "import sys, threading\nt = threading.Thread(target=sys.exit, args=(4,))\nt.start()\nt.join()",
    "exception_in_thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()",
    "os_exit": "import os\nprint('lost?', flush=True)\nos._exit(5)",
    "atexit_code": "import atexit, os\natexit.register(print, 'at exit')\natexit.register(os.write, 2, b'last')",
    "atexit_exit": "import atexit, os\natexit.register(os._exit, 9)",
    "abort": "import os; os.abort()",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "term": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "pipe": "import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGPIPE)",
    "real_time": "import os, signal; os.kill(os.getpid(), signal.SIGRTMIN)",
    "binary_output": "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4096)",
    "standard_input": "import sys; print(input(), repr(sys.stdin.read()))",
    "closed_output": "import os, sys; os.close(1); print('nowhere')",
    "warning": "import warnings; warnings.warn('careful')",
    "unraisable": "class C:\n    class D:\n        def __call__(self): raise ValueError('late')\n"
    "        def __repr__(self): return 'D'\n    __del__ = D()\nC()",
}


@pytest.fixture
def watched(tmp_path):
    (tmp_path / "record").mkdir()
    return Watched(tmp_path / "record")


@pytest.mark.parametrize("name", ENDINGS)
def test_ends_and_prints_like_plain_python(name, tmp_path, watched):
    (tmp_path / "script.py").write_text(ENDINGS[name] + "\n", encoding="utf-8")
    expected = finish(plain("script.py"), tmp_path, stdin=b"one\ntwo\n")
    assert finish(watched.command("script.py"), tmp_path, stdin=b"one\ntwo\n") == expected
    assert watched.ended["returncode"] == expected[0]
    assert watched.ended["unwatched"] is None


def test_a_reader_that_leaves_breaks_the_pipe_as_in_plain_python(tmp_path, watched):
    (tmp_path / "script.py").write_text("for i in range(100_000): print(i)\n", encoding="utf-8")

    def piped(command):
        return finish(["bash", "-c", '"$@" | head -n1; echo ${PIPESTATUS[0]}', "-", *command], tmp_path)

    expected = piped(plain("script.py"))
    assert b"BrokenPipeError" in expected[2]
    assert piped(watched.command("script.py")) == expected


def mirror(command, cwd, env=None):
    status, output, errors = finish(command, cwd, env)
    assert (status, errors) == (0, b"")
    return json.loads(output)


def project(directory):
    """The mirror script as a file, a directory, a zip file, a package and a module of it."""
    for path in ("mirror.py", "sub/mirror.py", "folder/__main__.py", "pkg/__main__.py", "pkg/train.py"):
        (directory / path).parent.mkdir(exist_ok=True)
        shutil.copy(FIXTURES / "mirror.py", directory / path)
    (directory / "pkg/__init__.py").touch()
    zipapp.create_archive(directory / "folder", directory / "zipped.pyz")
    return directory


@pytest.mark.parametrize(
    ("words", "flags", "env"),
    [
        (["mirror.py", "--lr", "0.1", "-m", "--runtime", ""], [], {"PYTHONPATH": ":"}),
        (["sub/mirror.py"], [], {"PYTHONPATH": ""}),
        (["./sub/../mirror.py"], ["-P"] if sys.version_info >= (3, 11) else [], {}),
        (["folder"], ["-u", "-W", "error"], {"PYTHONPATH": "sub:"}),
        (["zipped.pyz", "x"], ["-Xdev"], {"PYTHONSAFEPATH": "1"}),
        (["-m", "pkg", "-x"], ["-O", "-s", "-B"], {"PYTHONPATH": "sub:relative"}),
        (["-m", "pkg.train", "--", "y"], ["-X", "utf8=0", "-bb"], {"PYTHONWARNINGS": "ignore"}),
    ],
)
def test_the_script_sees_what_plain_python_shows_it(words, flags, env, tmp_path, watched):
    project(tmp_path)
    expected = mirror(plain(*words, flags=flags), tmp_path, env)
    seen = mirror(watched.command(*words, flags=flags), tmp_path, env)
    assert seen.pop("environment") == expected.pop("environment")
    added = set(seen.pop("modules")) - set(expected.pop("modules"))
    assert seen == expected
    ours = {name.partition(".")[0] for name in added if not name.startswith("_sysconfigdata_")}
    assert ours <= {"torchperf_lint", *sys.stdlib_module_names}


def test_little_is_imported_before_the_script(tmp_path, watched):
    project(tmp_path)
    expected = mirror(plain("mirror.py"), tmp_path)
    added = set(mirror(watched.command("mirror.py"), tmp_path)["modules"]) - set(expected["modules"])
    assert {"torchperf_lint.runtime.session", "torchperf_lint.runtime.imports"} <= added
    heavy = {
        "torch",
        "numpy",
        "rich",
        "libcst",
        "psutil",
        "ctypes",
        "logging",
        "asyncio",
        "multiprocessing",
        "argparse",
    }
    assert not heavy & added
    assert not {"torchperf_lint.lint", "torchperf_lint.settings", "torchperf_lint.runtime.launch"} & added


def test_a_module_that_does_not_exist_is_pythons_own_error(tmp_path, watched):
    expected = finish(plain("-m", "no_such_module"), tmp_path)
    assert finish(watched.command("-m", "no_such_module"), tmp_path) == expected
    assert expected[0] == 1


def test_another_sitecustomize_still_runs(tmp_path, watched):
    project(tmp_path)
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text("print('theirs', __name__, __file__)\n", encoding="utf-8")
    (tmp_path / "script.py").write_text("import sitecustomize, sys; print(sitecustomize.__spec__.origin, sys.path)\n")
    env = {"PYTHONPATH": "site"}
    # The launcher's own interpreter runs it too.
    own = finish(plain("-c", ""), tmp_path, env)[1]
    status, output, errors = finish(plain("script.py"), tmp_path, env)
    assert own.startswith(b"theirs sitecustomize ")
    assert finish(watched.command("script.py"), tmp_path, env) == (status, own + output, errors)


@pytest.mark.parametrize("code", ["1 / 0", "import no_such_module", "raise ImportError(name='sitecustomize')"])
def test_a_broken_sitecustomize_fails_as_in_plain_python(code, tmp_path, watched):
    (tmp_path / "sitecustomize.py").write_text(f"{code}\n", encoding="utf-8")
    (tmp_path / "script.py").write_text("import sys; print('sitecustomize' in sys.modules)\n", encoding="utf-8")
    env = {"PYTHONPATH": str(tmp_path)}
    command = watched.command("script.py")
    # The launcher's own interpreter meets the broken one too.
    own = finish(plain("-c", ""), tmp_path, env)[2]
    status, output, errors = finish(plain("script.py"), tmp_path, env)
    assert finish(command, tmp_path, env) == (status, output, own + errors)


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        ("def prepare(spec): raise OSError('disk full')", "OSError: disk full"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def broken(:", "SyntaxError: invalid syntax (session.py, line 1)"),
    ],
)
def test_a_hook_that_fails_leaves_the_script_alone_and_says_why(session, reason, tmp_path, watched):
    runtime = tmp_path / "copy/torchperf_lint/runtime"
    runtime.mkdir(parents=True)
    shutil.copytree(PACKAGE / "runtime/startup", runtime / "startup", ignore=shutil.ignore_patterns("__pycache__"))
    for path in ("__init__.py", "runtime/__init__.py"):
        shutil.copy(PACKAGE / path, runtime.parent / path)
    (runtime / "session.py").write_text(f"{session}\n", encoding="utf-8")
    (tmp_path / "script.py").write_text("print('done')\n", encoding="utf-8")
    env = {"DRIVE_STARTUP": str(runtime / "startup")}
    status, output, errors = finish(watched.command("script.py"), tmp_path, env)
    assert (status, output) == (0, b"done\n")
    assert errors.decode() == f"torchperf-lint: this process is not watched: {reason}\n"
    assert watched.ended["unwatched"] == reason
    assert watched.ended["events"] == []
    assert list(watched.events.parent.glob("*.failed")) == []


@pytest.mark.parametrize("told", ["", "{", "[]", '{"events": 3}'])
def test_a_variable_that_is_not_ours_does_no_harm(told, tmp_path):
    (tmp_path / "script.py").write_text("print('done')\n", encoding="utf-8")
    env = {"PYTHONPATH": str(request.STARTUP), request.VARIABLE: told}
    status, output, _ = finish(plain("script.py"), tmp_path, env)
    assert (status, output) == (0, b"done\n")


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_flags_that_keep_the_hook_out_are_refused(flag, tmp_path, watched):
    (tmp_path / "script.py").write_text("print('ran')\n", encoding="utf-8")
    status, output, errors = finish(watched.command("script.py", flags=[flag]), tmp_path)
    assert (status, output) == (1, b"")
    assert f"python {flag}".encode() in errors


def test_an_earlier_record_of_the_same_name_is_replaced(tmp_path, watched):
    stale = [watched.events, watched.events.with_name("run.12.events.jsonl")]
    other = [watched.events.with_name(name) for name in ("run.x.events.jsonl", "run2.3.events.jsonl")]
    for path in stale + other:
        path.write_text("stale\n", encoding="utf-8")
    (tmp_path / "script.py").write_text(f"import os; print(os.path.exists({str(stale[1])!r}))\n", encoding="utf-8")
    assert finish(watched.command("script.py"), tmp_path)[1] == b"False\n"
    assert all(path.read_text(encoding="utf-8") == "stale\n" for path in other)
    assert set(watched.ended["events"]) <= {str(watched.events)}
