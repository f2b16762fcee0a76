from __future__ import annotations

import pickle

import pytest
from fake_rules import install

from torchperf_lint.errors import ConfigError, UsageError
from torchperf_lint.model import Confidence, Severity
from torchperf_lint.options import OPTIONS
from torchperf_lint.settings import DEFAULT_EXCLUDE, Settings, find_config, find_root, load


@pytest.fixture(autouse=True)
def _rules(monkeypatch):
    install(monkeypatch)


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="torchperf-lint.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def test_every_option_is_a_field_and_every_field_an_option():
    assert sorted(option.field for option in OPTIONS) == sorted(Settings.__dataclass_fields__)


def test_a_file_can_say_everything(config, tmp_path):
    path = config(
        """
        select = ["TPL1", "TPL201"]
        ignore = ["TPL103"]
        extend-select = ["TPL901"]
        extend-ignore = ["TPL2"]
        per-file-ignores = { "scripts/*" = ["TPL101"], "!src/*" = ["ALL"] }
        confidence = "possible"
        severity = "warning"
        target-torch = "2.3"
        fail-on = "error"
        fix = true
        unsafe-fixes = true
        show-fixes = true
        exclude = ["a"]
        extend-exclude = ["b"]
        force-exclude = true
        default-skip = []
        jobs = 3
        no-cache = true
        cache-dir = "kept"
        """
    )
    assert load(path, {}) == Settings(
        select=("TPL1", "TPL201"),
        ignore=("TPL103",),
        extend_select=("TPL901",),
        extend_ignore=("TPL2",),
        per_file_ignores=(("scripts/*", ("TPL101",)), ("!src/*", ("ALL",))),
        confidence=Confidence.POSSIBLE,
        severity=Severity.WARNING,
        target_torch="2.3",
        fail_on=Severity.ERROR,
        fix=True,
        unsafe_fixes=True,
        show_fixes=True,
        exclude=("a",),
        extend_exclude=("b",),
        force_exclude=True,
        default_skip=(),
        jobs=3,
        no_cache=True,
        cache_dir=str(tmp_path / "kept"),
    )


def test_settings_travel_to_other_processes(config):
    settings = load(config('select = ["TPL1"]'), {})
    assert settings.codes == {"TPL101", "TPL103"}
    assert settings.excludes(".venv")
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert not settings.no_cache
    assert settings.cache


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("selct = []", "unknown key 'selct'; did you mean 'select'?"),
        ("fail_on = 'info'", "unknown key 'fail_on'; did you mean 'fail-on'?"),
        ("xyzzy = 1", "unknown key 'xyzzy'"),
        ("select = 'TPL1'", "select must be a list of strings"),
        ("select = [1]", "select must be a list of strings"),
        ("select = ['TPL202']", "select unknown code 'TPL202'; did you mean 'TPL201'?"),
        ("ignore = ['tpl101']", "ignore unknown code 'tpl101'; did you mean 'TPL101'?"),
        ("ignore = ['item-in-hot-loop']", "unknown code 'item-in-hot-loop'; did you mean 'TPL101'?"),
        ("per-file-ignores = ['a.py']", "per-file-ignores must be"),
        ("per-file-ignores = {'a.py' = 'TPL1'}", "per-file-ignores must be a list of strings"),
        ("confidence = 'likley'", "confidence must be one of certain, likely, possible; did you mean 'likely'?"),
        ("confidence = 3", "confidence must be one of certain, likely, possible"),
        ("target-torch = 2.3", "target-torch must be a version of torch in quotes"),
        ("target-torch = 'new'", "target-torch must be a version of torch in quotes"),
        ("jobs = 0", "jobs must be a whole number, 1 or more"),
        ("jobs = true", "jobs must be a whole number"),
        ("jobs = 1.5", "jobs must be a whole number"),
        ("force-exclude = 'yes'", "force-exclude must be true or false"),
        ("cache-dir = 1", "cache-dir must be a string"),
        ("select = [", "not valid TOML"),
        ("a = 1\na = 2", "not valid TOML"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_the_key(config, text, reason):
    with pytest.raises(ConfigError) as caught:
        load(config(text), {})
    assert str(caught.value).startswith("torchperf-lint.toml: ")
    assert reason in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_pyproject_is_named_with_its_table(config):
    path = config("[tool.torchperf-lint]\nselct = []", "pyproject.toml")
    with pytest.raises(ConfigError, match=r"^pyproject.toml \[tool.torchperf-lint\]: unknown key 'selct'"):
        load(path, {})


def test_the_table_must_be_a_table(config):
    with pytest.raises(ConfigError, match="must be a table"):
        load(config("[tool]\ntorchperf-lint = 3", "pyproject.toml"), {})


def test_a_file_that_is_not_text_is_refused(config, tmp_path):
    path = config("")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"torchperf-lint.toml: not valid TOML"):
        load(path, {})
    with pytest.raises(ConfigError, match=r"gone.toml: cannot be read: No such file"):
        load(tmp_path / "gone.toml", {})


def test_a_byte_order_mark_does_not_matter(config):
    path = config("")
    path.write_bytes(b'\xef\xbb\xbfselect = ["TPL1"]\r\n')
    assert load(path, {}).select == ("TPL1",)


def test_flags_beat_the_file_and_extend_flags_add_to_it(config):
    path = config('ignore = ["TPL2"]\nextend-ignore = ["TPL101"]\nexclude = ["a"]\nextend-exclude = ["b"]\njobs = 2')
    settings = load(
        path, {"ignore": ["TPL1"], "extend_ignore": ["TPL103"], "extend_exclude": ["c,d"], "jobs": "4", "exclude": None}
    )
    assert settings.ignore == ("TPL1",)
    assert settings.extend_ignore == ("TPL101", "TPL103")
    assert settings.exclude == ("a",)
    assert settings.extend_exclude == ("b", "c", "d")
    assert settings.jobs == 4


def test_select_on_the_command_line_sets_aside_what_the_file_selects_and_ignores(config):
    path = config('select = ["TPL2"]\nignore = ["TPL101"]\nextend-select = ["TPL901"]\nextend-ignore = ["TPL10"]')
    assert load(path, {"select": ["TPL101"]}).codes == {"TPL101"}
    assert load(path, {"select": ["TPL1"], "ignore": ["TPL103"]}).codes == {"TPL101"}


def test_a_wrong_flag_is_a_usage_error_that_names_it():
    with pytest.raises(UsageError, match=r"^--extend-select: unknown code 'TPL77'"):
        load(None, {"extend_select": ["TPL77"]})


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["a.py:TPL1"], (("a.py", ("TPL1",)),)),
        (["a.py:TPL101,TPL103"], (("a.py", ("TPL101", "TPL103")),)),
        (["a.py:TPL101,b/*.py:ALL"], (("a.py", ("TPL101",)), ("b/*.py", ("ALL",)))),
        (["a.py:TPL101 TPL103", "a.py:TPL2"], (("a.py", ("TPL101", "TPL103", "TPL2")),)),
        ([("a.py", ("TPL101",))], (("a.py", ("TPL101",)),)),
    ],
)
def test_per_file_ignores_as_flags(flags, expected):
    assert load(None, {"per_file_ignores": flags}).per_file_ignores == expected


@pytest.mark.parametrize("flag", ["a.py", "TPL101", ":TPL101", "a.py:", "a.py:x y", ""])
def test_wrong_per_file_ignores_as_flags(flag):
    with pytest.raises(UsageError, match="--per-file-ignores: must be PATTERN:CODE"):
        load(None, {"per_file_ignores": [flag]})


@pytest.mark.parametrize(
    ("pattern", "matched", "not_matched"),
    [
        ("train.py", ["train.py", "a/train.py"], ["train.pyx", "a/retrain.py"]),
        ("scripts/*", ["scripts/a.py", "scripts/b/a.py"], ["a/scripts/a.py", "a.py"]),
        ("scripts/", ["scripts/a.py", "scripts/b/a.py"], ["scripts.py"]),
        ("**/a.py", ["a.py", "x/a.py"], ["b.py"]),
        ("src/**/a.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("./src/*.py", ["src/a.py"], ["a.py"]),
        ("!src/*", ["a.py", "x/src/a.py"], ["src/a.py"]),
        ("!train.py", ["a.py"], ["train.py", "x/train.py"]),
        ("[ab].py", ["a.py"], ["c.py", "A.py"]),
    ],
)
def test_which_files_a_pattern_means(pattern, matched, not_matched):
    settings = Settings(per_file_ignores=((pattern, ("TPL1",)),))
    assert [path for path in matched if settings.ignored_codes_for(path) != {"TPL101", "TPL103"}] == []
    assert [path for path in not_matched if settings.ignored_codes_for(path)] == []


def test_per_file_ignores_add_up_and_reach_rules_that_are_off_by_default():
    settings = Settings(per_file_ignores=(("a.py", ("TPL9",)), ("*.py", ("TPL201",))))
    assert settings.ignored_codes_for("a.py") == {"TPL901", "TPL201"}
    assert Settings(per_file_ignores=(("a.py", ("ALL",)),)).ignored_codes_for("a.py") >= {"TPL101", "TPL901"}
    assert Settings().ignored_codes_for("a.py") == frozenset()


def test_excludes_match_names_and_paths():
    settings = Settings(exclude=("gen", "src/old", "*_pb2.py"), extend_exclude=("more/",))
    assert all(map(settings.excludes, ["gen", "a/gen", "src/old", "a_pb2.py", "b/a_pb2.py", "more", "a/more"]))
    assert not any(map(settings.excludes, ["generate", "gen.py", "a/src/old", "old", "src"]))
    assert {".git", ".venv", "__pycache__", "build", "node_modules"} <= set(DEFAULT_EXCLUDE)


def test_tests_and_benchmarks_are_skipped_wherever_they_are():
    settings = Settings()
    skipped = ["tests/a.py", "a/tests/b/c.py", "test_a.py", "a/b_test.py", "bench/a.py", "benchmarks", "conftest.py"]
    assert all(map(settings.skips, skipped))
    assert not any(map(settings.skips, ["test.py", "testing/a.py", "a/latest.py", "train.py", "."]))
    assert not Settings(default_skip=()).skips("tests/a.py")


def test_the_nearest_configuration_counts_and_ours_beats_pyproject_beside_it(config, tmp_path):
    top = config("[tool.torchperf-lint]", "pyproject.toml")
    config("[tool.ruff]", "a/pyproject.toml")
    inner = tmp_path / "a" / "b"
    inner.mkdir()
    assert find_config(inner) == top
    assert find_config(inner / "x.py") == top
    beside = config("", "torchperf-lint.toml")
    assert find_config(inner) == beside
    own = config("[tool.torchperf-lint]", "a/b/pyproject.toml")
    assert find_config(inner) == own
    assert find_root(inner / "x.py", tmp_path) == inner


def test_the_search_ends_at_the_git_root(config, tmp_path):
    config("[tool.torchperf-lint]", "pyproject.toml")
    repository = tmp_path / "repo"
    (repository / "pkg").mkdir(parents=True)
    (repository / ".git").mkdir()
    assert find_config(repository / "pkg" / "a.py") is None
    assert find_root(repository / "pkg", tmp_path) == repository
    own = config("[tool.torchperf-lint]", "repo/pyproject.toml")
    assert find_config(repository / "pkg") == own
    assert find_root(tmp_path / "a.py", tmp_path) == tmp_path


def test_without_configuration_and_git_the_root_is_the_working_directory_or_what_was_given(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_root(inner / "x.py", tmp_path) == tmp_path
    assert find_root(inner, tmp_path / "other") == inner
    assert find_root(inner / "x.py", tmp_path / "other") == inner


def test_isolated_does_not_look_at_configuration(config, tmp_path):
    config("[tool.torchperf-lint]\nselct = 1", "a/pyproject.toml")
    assert find_root(tmp_path / "a" / "x.py", tmp_path, isolated=True) == tmp_path


def test_a_malformed_pyproject_that_is_not_about_us_is_passed_over(config, tmp_path):
    config("[tool.ruff\n", "a/pyproject.toml")
    assert find_config(tmp_path / "a") is None
    config("[tool.torchperf-lint\n", "a/pyproject.toml")
    with pytest.raises(ConfigError, match=r"^a/pyproject.toml: not valid TOML"):
        find_config(tmp_path / "a")


def test_a_directory_called_like_a_configuration_file_is_not_one(tmp_path):
    (tmp_path / "pyproject.toml").mkdir()
    (tmp_path / "torchperf-lint.toml").mkdir()
    assert find_config(tmp_path) is None
