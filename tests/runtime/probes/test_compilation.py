"""What a figure sheet of Dynamo's says, of this torch and of older ones."""

from types import SimpleNamespace

import pytest

from torchperf_lint.runtime.probes import _compiled, compilation
from torchperf_lint.runtime.sites import Sites, Spot

torch = pytest.importorskip("torch")


def sheet(**fields):
    """A figure sheet as torch 2.4 has it, without the fields that came later."""
    known = {"co_name": "forward", "co_filename": "/a/b.py", "co_firstlineno": 3, "cache_size": 0, "fail_type": None}
    return SimpleNamespace(**{**known, "fail_reason": None, "entire_frame_compile_time_s": 0.5, **fields})


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({}, "first"),
        ({"cache_size": 2}, "again"),
        ({"recompile_reason": "0/0: x == 3"}, "again"),
        ({"is_forward": False}, "backward"),
        ({"fail_type": "Unsupported", "fail_reason": "call_function print"}, "failed"),
        ({"fail_type": "Unsupported", "fail_reason": "cache_size_limit reached"}, "limit"),
        ({"fail_type": "Unsupported", "fail_reason": "Dynamo recompile limit exceeded\n  ..."}, "limit"),
    ],
)
def test_outcomes_of_older_and_newer_torch(fields, kind):
    assert _compiled.kind_of(sheet(**fields)) == kind


def test_times_of_older_and_newer_torch():
    assert _compiled.ms_of(sheet()) == 500.0
    assert _compiled.ms_of(sheet(duration_us=1500)) == 1.5
    assert _compiled.ms_of(sheet(entire_frame_compile_time_s=None)) is None


@pytest.mark.parametrize(
    ("reason", "guard", "at"),
    [
        (
            "0/0: tensor 'x' size mismatch at index 1. expected 17, actual 23",
            "tensor 'x' size mismatch at index 1. expected ..., actual ...",
            None,
        ),
        (
            "0/1: L['self'].step == 3                 # self.step += 1  # a/b.py:18 in forward (HINT: no)",
            "L['self'].step == ...",
            ("/a/b.py", 18),
        ),
        ('!1/0/1: n == -1.5e3\nUser stack trace:\n  File "/a/c.py", line 9, in f\n', "n == ...", ("/a/c.py", 9)),
        ("0/0: len(self.seen) == 2   # other  # elsewhere.py:1 in f", "len(self.seen) == ...", None),
    ],
)
def test_guards_are_told_without_the_numbers_that_change(reason, guard, at):
    told = _compiled.why(sheet(recompile_reason=reason), "again", str)
    assert (told["guard"], told.get("at")) == (guard, at)


def test_the_place_is_the_users_even_where_a_package_breaks(tmp_path):
    sites = Sites(None, str(tmp_path))
    mine, package = (str(tmp_path / "train.py"), 7, "step"), ("/x/site-packages/lib/m.py", 3, "forward")
    inside = ("/x/site-packages/torch/nn/modules/linear.py", 1, "forward")
    assert _compiled.spot([mine, inside], sites) == Spot(*mine)
    assert _compiled.spot([mine, package, inside], sites) == Spot(*package, via=mine[:2])
    assert _compiled.spot([inside], sites) is None
    site = sites.resolve(_compiled.spot([mine, package, inside], sites))
    assert (site.place.line, site.place.column, site.via.path, site.via.line) == (3, None, "train.py", 7)


def test_a_torch_without_figures_is_said_to_have_none(watched):
    watch = compilation._Watch(watched)
    watch.begin(SimpleNamespace())
    assert "2.4 and later" in watch.blind
    assert watched.probe_state("compilation") == "unavailable"


def test_a_simulated_run_says_why_it_sees_nothing(simulated):
    assert "simulated device" in compilation.install(simulated, torch)


def test_a_longer_deque_is_listened_to_as_well(watched):
    from torch._dynamo import utils

    kept = utils._compilation_metrics
    try:
        compilation._Watch(watched).begin(utils)
        utils.set_compilation_metrics_limit(99)
        watched.recorder.flush()
        utils._compilation_metrics.append(sheet(co_filename=__file__, compile_id="7/0"))
        assert utils._compilation_metrics.maxlen == 99
    finally:
        utils._compilation_metrics = kept
    ((what, event),) = [(event["what"], event) for event in watched.found("compile")]
    assert (what, event["line"], event["ms"]) == ("first", 3, 500.0)


def test_the_sheet_of_a_backward_pass_of_torch_2_4(watched):
    watch = compilation._Watch(watched)
    utils = SimpleNamespace(graph_break_reasons=[])
    watch._note(utils, sheet(compile_id="3/0", co_filename=__file__))
    watch._note(utils, SimpleNamespace(compile_id="3/0", inductor_compile_time_s=1.0, fail_type=None, fail_reason=None))
    watch._note(utils, SimpleNamespace(compile_id="4/0", inductor_compile_time_s=1.0, fail_type=None, fail_reason=None))
    told = {(event["what"], event["line"], event.get("ms")) for event in watched.found("compile")}
    assert {("first", 3, 500.0), ("backward", 3, None)} <= told
    assert {what for what, _, _ in told} == {"first", "backward"}
