"""The line that somebody can change: the first frame outside torch, numpy, the standard library and this package."""

import _thread
import linecache
import sys
import sysconfig
import textwrap
import threading
import types
from pathlib import Path

import pytest

from torchperf_lint.runtime.sites import INTERNAL, LIBRARY, PROJECT, Key, Sites

PURELIB = sysconfig.get_path("purelib")
STDLIB = sysconfig.get_path("stdlib")
NEW = sys.version_info >= (3, 11)


class World:
    """Code that runs as if it lay in certain files."""

    def __init__(self, root):
        self.root = root
        self.sites = Sites(str(root), str(root))
        self.sites.is_internal(str(Path(__file__).parent))
        self.seen = []

    def path(self, name):
        return str(self.root / name)

    def define(self, name, text, /, **names):
        """The global names of `text` compiled as the file `name`, which is written if it is of the project."""
        text, path = textwrap.dedent(text), self.path(name)
        if path.startswith(str(self.root)):
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).write_text(text, encoding="utf-8")
            linecache.checkcache(path)
        space = {"probe": self.probe, **names}
        exec(compile(text, path, "exec"), space)
        return space

    def probe(self, *args, **kwargs):
        """What torch would be: a frame of it lies between us and the caller."""
        inside = {"seen": self.seen, "sites": self.sites}
        exec(compile("def op(): seen.append(sites.key())", f"{PURELIB}/torch/_tensor.py", "exec"), inside)
        inside["op"]()
        return 0.5

    def site(self):
        return self.sites.resolve(self.seen.pop())


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def test_the_callers_line_in_the_project(world):
    world.define(
        "train.py",
        """
        class Trainer:
            def step(self):
                a = 1
                return a + probe()
        Trainer().step()
        """,
    )
    site = world.site()
    assert (site.place.path, site.place.line, site.via) == ("train.py", 5, None)
    assert site.place.function == ("Trainer.step" if NEW else "step")


def test_the_library_and_the_projects_line_that_led_there(world):
    called = world.define(f"{PURELIB}/lightning/loops.py", "def run():\n    return probe()\n")
    between = world.define(f"{PURELIB}/lightning/trainer.py", "def fit():\n    return run()\n", run=called["run"])
    world.define("pkg/train.py", "\n\nfit()\n", fit=between["fit"])
    site = world.site()
    assert site.place.path.endswith("lightning/loops.py")
    assert (site.place.line, site.via.path, site.via.line) == (2, "pkg/train.py", 3)


def test_a_library_alone_has_no_via(world):
    sites = Sites("/nowhere", "/nowhere")
    inside = {"sites": sites, "seen": world.seen}
    exec(compile("def f(): seen.append(sites.key())", f"{PURELIB}/wandb/run.py", "exec"), inside)
    thread = threading.Thread(target=inside["f"])
    thread.start()
    thread.join()
    site = world.site()
    assert site.place.path.endswith("wandb/run.py")
    assert site.via is None


@pytest.mark.parametrize(
    ("filename", "kind"),
    [
        (f"{PURELIB}/torch/nn/modules/module.py", INTERNAL),
        (f"{PURELIB}/numpy/core/x.py", INTERNAL),
        (f"{PURELIB}/functorch/x.py", INTERNAL),
        (f"{PURELIB}/torchvision/transforms.py", LIBRARY),
        (f"{PURELIB}/torchmetrics/metric.py", LIBRARY),
        ("/home/me/.local/lib/python3.11/site-packages/torch/_tensor.py", INTERNAL),
        ("/usr/lib/python3/dist-packages/torch/_tensor.py", INTERNAL),
        ("/usr/lib/python3/dist-packages/numpy/x.py", INTERNAL),
        ("/usr/lib/python3/dist-packages/sklearn/x.py", LIBRARY),
        (f"{STDLIB}/threading.py", INTERNAL),
        (f"{STDLIB}/json/decoder.py", INTERNAL),
        (threading.__file__, INTERNAL),
        ("<string>", INTERNAL),
        ("<frozen importlib._bootstrap>", INTERNAL),
        ("<ipython-input-3-abc>", PROJECT),
        ("{root}/train.py", PROJECT),
        ("train.py", PROJECT),
        ("./a/../train.py", PROJECT),
        ("{root}/.venv/lib/python3.11/site-packages/timm/x.py", LIBRARY),
        ("{root}/.venv/lib/python3.11/site-packages/torch/x.py", INTERNAL),
        ("{root}/torch/x.py", PROJECT),
        ("{root}/numpy_tricks.py", PROJECT),
        ("{root}-other/train.py", LIBRARY),
        ("/opt/shared/train.py", LIBRARY),
    ],
)
def test_kinds(world, filename, kind):
    assert world.sites.kind_of(filename.replace("{root}", str(world.root))) == kind


def test_ours_is_internal_and_so_is_torch_wherever_it_was_built(world):
    assert world.sites.kind_of(sys.modules["torchperf_lint.runtime.sites"].__file__) == INTERNAL
    assert world.sites.kind_of(f"{world.root}/pytorch/torch/_tensor.py") == PROJECT
    world.sites.is_internal(f"{world.root}/pytorch/torch")
    assert world.sites.kind_of(f"{world.root}/pytorch/torch/_tensor.py") == INTERNAL
    assert world.sites.kind_of(f"{world.root}/pytorch/torchtune.py") == PROJECT


def test_without_a_project_everything_else_is_the_users(tmp_path):
    sites = Sites(None, str(tmp_path))
    assert sites.kind_of("/anywhere/train.py") == PROJECT
    assert sites.kind_of(f"{PURELIB}/timm/x.py") == LIBRARY


def test_code_of_a_string_falls_to_who_ran_it(world):
    world.define("train.py", "x = 1\nexec('probe()', {'probe': probe})\n")
    assert world.site().place.line == 2


def test_a_call_over_several_lines(world):
    world.define(
        "train.py",
        """
        total = max(
            1,
            probe(
                2,
            ),
        )
        """,
    )
    place = world.site().place
    assert place.line == 4
    if NEW:
        assert (place.column, place.end_line, place.end_column) == (5, 6, 6)


def test_two_calls_on_one_line_have_columns_of_their_own(world):
    world.define("train.py", "total = probe(1) + probe(2)\n")
    second, first = world.site().place, world.site().place
    assert (first.line, second.line) == (1, 1)
    if NEW:
        assert (first.column, first.end_column) == (9, 17)
        assert (second.column, second.end_column) == (20, 28)


@pytest.mark.skipif(not NEW, reason="columns are kept from Python 3.11 on")
@pytest.mark.parametrize("before", ["ü", "日本語", "🦊", "e\u0301", "\t"])
def test_columns_are_code_points(world, before):
    quoted = f"'{before}'"
    world.define("train.py", f"t = ({quoted}, probe('{before}'))\n")
    place = world.site().place
    start = len(f"t = ({quoted}, ") + 1
    assert (place.column, place.end_column) == (start, start + len(f"probe('{before}')"))


@pytest.mark.skipif(not NEW, reason="columns are kept from Python 3.11 on")
def test_columns_without_the_source_at_hand_are_bytes(world):
    exec(compile("x = 'ü', probe()", f"{world.root}/gone.py", "exec"), {"probe": world.probe})
    place = world.site().place
    assert (place.column, place.end_column) == (11, 18)


def test_without_positions_there_are_lines_and_no_columns(world, monkeypatch):
    """Python 3.10."""
    from torchperf_lint.runtime import sites

    monkeypatch.setattr(sites, "_positions", lambda code: [])
    world.define("train.py", "a = 1\nb = (\n    probe()\n)\n")
    place = world.site().place
    assert (place.path, place.line) == ("train.py", 3)
    assert (place.column, place.end_line, place.end_column) == (None, None, None)


def test_code_that_keeps_no_positions(world):
    """`python -X no_debug_ranges`: lines only."""
    code = compile("a = 1\nprobe()\n", world.path("train.py"), "exec")

    class Bare:
        co_filename, co_name, co_firstlineno = code.co_filename, code.co_name, code.co_firstlineno
        co_lines = code.co_lines

        def co_positions(self):
            return ((line, None, None, None) for line, *_ in code.co_positions()) if NEW else ()

    exec(code, {"probe": world.probe})
    place = world.sites.place(Bare(), world.seen.pop().lasti)
    assert (place.line, place.column) == (2, None)


def start_foreign(action):
    """A thread that Python's threading module did not start, as autograd's are."""
    done = threading.Event()

    def run():
        try:
            action()
        finally:
            done.set()

    _thread.start_new_thread(run, ())
    assert done.wait(10)


def internal(world, action="seen.append(sites.key())"):
    inside = {"seen": world.seen, "sites": world.sites, "threading": threading}
    exec(compile(f"def op(): {action}", f"{PURELIB}/torch/_tensor.py", "exec"), inside)
    return inside["op"]


@pytest.mark.parametrize("asked_for_itself", [False, True])
def test_autograds_threads_fall_to_the_main_threads_line(world, asked_for_itself):
    op = internal(world, ("threading.current_thread(); " if asked_for_itself else "") + "seen.append(sites.key())")
    world.define("train.py", "a = 1\nstart(op)\n", start=start_foreign, op=op)
    assert world.site().place.line == 2


def test_a_function_of_the_project_on_autograds_thread_keeps_its_own_line(world):
    hooks = world.define("hooks.py", "\n\n\ndef hook(): probe()\n")
    world.define("train.py", "start(hook)\n", start=start_foreign, hook=hooks["hook"])
    site = world.site()
    assert (site.place.path, site.place.line) == ("hooks.py", 4)


def test_a_users_thread_keeps_its_own_line(world):
    mine = world.define("worker.py", "\ndef work():\n    probe()\n")
    thread = threading.Thread(target=mine["work"])
    thread.start()
    thread.join()
    site = world.site()
    assert (site.place.path, site.place.line) == ("worker.py", 3)


def test_a_users_thread_that_runs_torch_alone_is_nobodys_line(world):
    thread = threading.Thread(target=internal(world))
    thread.start()
    thread.join()
    assert world.seen == [None]


def test_a_script_that_has_changed_its_directory(world, tmp_path, monkeypatch):
    """Names of code may be relative to where the process started."""
    (tmp_path / "rel.py").write_text("t = ('üü', probe())\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "rel.py").write_text("\n", encoding="utf-8")
    code = compile((tmp_path / "rel.py").read_text(encoding="utf-8"), "rel.py", "exec")
    monkeypatch.chdir(tmp_path / "elsewhere")
    exec(code, {"probe": world.probe})
    place = world.site().place
    assert place.path == "rel.py"
    assert place.column == (12 if NEW else None)


def test_names_are_posix_and_relative_inside_the_working_directory(world):
    root = str(world.root)
    assert world.sites.shown(f"{root}/a/b.py") == "a/b.py"
    assert world.sites.shown(f"{root}/a/../b.py") == "b.py"
    assert world.sites.shown("b.py") == "b.py"
    assert world.sites.shown(f"{root}-other/b.py") == f"{root}-other/b.py"
    assert world.sites.shown("<string>") == "<string>"


def test_more_frames_up_than_there_are(world):
    assert world.sites.key(10_000) is None


def test_depth_counts_frames_from_the_caller(world):
    def inner():
        return world.sites.key(2)

    sites = world.sites = Sites(None, "/")
    key = inner()
    assert sites.resolve(key).place.function.endswith("test_depth_counts_frames_from_the_caller")
    assert isinstance(key.code, types.CodeType)


def test_one_place_is_one_key(world):
    work = world.define("train.py", "def work():\n    probe()\n")["work"]
    work()
    work()
    assert world.seen[0] is world.seen[1]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns before Python 3.11")
def test_all_instructions_of_a_place_have_one_key(world):
    """Python 3.11 stands at another instruction of a call once it has run some times."""
    work = world.define("train.py", "def work(values):\n    return [float(probe() or v) for v in values]\n")["work"]
    work([1, 2])
    code = world.seen[0].code
    keys = {world.sites._first(Key(code, 2 * n, None, 0)) for n in range(len(code.co_code) // 2)}
    places = [world.sites.resolve(key).place for key in keys]
    assert len(set(places)) == len(places) < len(code.co_code) // 2


def test_the_same_text_in_two_files_is_two_places(world):
    """Code objects are equal across files."""
    text = "def work():\n    probe()\n"
    for name in ("one.py", "two.py"):
        world.define(name, text)["work"]()
    first, second = world.seen
    assert first.code == second.code
    assert first != second
    assert [world.sites.resolve(key).place.path for key in (first, second)] == ["one.py", "two.py"]


def test_the_same_text_in_a_package_and_in_the_project(world):
    text = "def work():\n    probe()\n"
    installed = world.define(f"{PURELIB}/timm/x.py", text)["work"]
    world.define("copied.py", text)["work"]()
    world.define("train.py", "work()\n", work=installed)
    mine, theirs = map(world.sites.resolve, world.seen)
    assert (mine.place.path, mine.via) == ("copied.py", None)
    assert (theirs.place.path.endswith("timm/x.py"), theirs.via.path) == (True, "train.py")


def test_a_site_is_remembered_by_its_code_only_where_nobody_further_up_decides(world):
    frames = {"frame": lambda: world.seen.append(world.sites.remembered(sys._getframe(1)))}
    mine = world.define("pkg/mine.py", "def mine(call=frame):\n    call()\n", **frames)["mine"]
    mine()
    code, lasti, key = world.seen.pop()
    assert (code, key.code, world.sites.place(code, lasti).line) == (mine.__code__, mine.__code__, 2)
    library = world.define(f"{PURELIB}/lib/theirs.py", "def theirs(call=frame):\n    call()\n", **frames)["theirs"]
    mine(library)
    code, _, key = world.seen.pop()
    assert (code, key.code, key.via) == (None, library.__code__, mine.__code__)
