"""What the probes say of a card, against what is known of it."""

import statistics

import pytest

pytestmark = pytest.mark.gpu

WAITS = (
    "item",
    "float",
    "bool",
    "if",
    "tolist",
    "cpu",
    "to host",
    "to device",
    "mask index",
    "nonzero",
    "unique",
    "device synchronize",
    "stream synchronize",
    "event synchronize",
    "accelerator synchronize",
)
SECTIONS = (
    "first_copy",
    "machine",
    "blocked_time",
    "operations",
    "transfers",
    "copy_kinds",
    "exceptions",
    "hooks_and_threads",
    "barrier",
    "profiler",
    "sync_debug_mode",
    "empty_cache",
    "costs",
    "nvml",
)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_was_answered(facts, section):
    assert not facts["simulated"]
    answer = facts[section]
    assert "error" not in answer, answer["error"]


@pytest.mark.parametrize("wait", WAITS)
def test_the_blocked_time_is_that_of_the_kernel_waited_for(facts, wait):
    ratios = [sum(row["blocked_ms"]) / row["kernel_ms"] for row in facts["blocked_time"][wait]["behind"]]
    assert 0.8 <= statistics.median(ratios) <= 1.2


@pytest.mark.parametrize("wait", WAITS)
def test_an_idle_device_is_not_waited_for(facts, wait):
    idle = facts["blocked_time"][wait]["idle_ms"]
    assert idle
    assert sum(idle) < 1.0


def test_the_copy_that_opens_the_device_is_seen(facts):
    assert facts["first_copy"]["was_open"] is False
    assert [event["kind"] for event in facts["first_copy"]["events"]].count("copy") == 1


def test_the_probes_watch_once_the_device_is_open(facts):
    assert facts["probes"]["host-sync"] == ["watching", None]
    assert facts["probes"]["transfers"] == ["watching", None]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pageable to device", [("h2d", 4000, False, True)]),
        ("pageable to device, not blocking", [("h2d", 4000, False, False)]),
        ("pinned to device", [("h2d", 4000, True, True)]),
        ("pinned to device, not blocking", [("h2d", 4000, True, False)]),
        ("to host", [("d2h", 4000, False, True)]),
        ("into pinned, not blocking", [("d2h", 4000, True, False)]),
        ("on the device", []),
        ("model", [("h2d", 40, False, True), ("h2d", 400, False, True)]),
    ],
)
def test_copies_are_what_they_are(facts, name, expected):
    copies = [e for e in facts["transfers"][name] if e["kind"] == "copy"]
    assert sorted((e["what"], e["bytes"], e["pinned"], e["blocking"]) for e in copies) == expected


@pytest.mark.parametrize("name", ["pageable to device, not blocking", "pinned to device, not blocking"])
def test_copies_that_do_not_block_wait_for_nothing_we_can_see(facts, name):
    assert [event for event in facts["transfers"][name] if event["kind"] == "sync"] == []


def test_a_wait_in_a_hook_is_the_hooks(facts):
    (event,) = facts["hooks_and_threads"]["hooked"]
    assert event["function"].endswith("in_hook")


def test_a_wait_of_the_engine_is_put_where_backward_is_called(facts):
    events = facts["hooks_and_threads"]["masked"]
    assert [event["function"].rpartition(".")[2] for event in events] == ["masked"] * len(events)
    assert events
    assert all(event["ms"] is None for event in events)


def test_a_wait_on_a_thread_of_the_script_is_counted(facts):
    assert [event["ms"] for event in facts["hooks_and_threads"]["on_thread"]] == [None]


def test_the_profilers_own_waits_are_left_out(facts):
    assert facts["profiler"] == []


def test_the_scripts_sync_debug_mode_is_its_own(facts):
    mode = facts["sync_debug_mode"]
    assert mode["before"] == 0
    assert len(mode["warned"]) == 1
    assert [event["kind"] for event in mode["events"]].count("sync") == 1


def test_emptying_the_cache_takes_time(facts):
    (event,) = [event for event in facts["empty_cache"] if event["kind"] == "empty-cache"]
    assert event["ms"] > 0


def test_torchs_device_is_found_by_its_uuid(facts):
    assert facts["nvml"]["nvml"] == facts["nvml"]["torch"]


def test_hooks_are_cheap(facts):
    costs = facts["costs"]
    assert costs["item_us"] - costs["item_bare_us"] < 15
    assert costs["silenced_again"]
    assert costs["allocate_us"] < costs["allocate_called_us"]


EXCEPTIONS = {
    "shapes": "RuntimeError",
    "key": "KeyError",
    "deep": "Enough",
    "memory": "OutOfMemoryError",
    "loop": "Enough",
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_arrives_as_it_was_raised(facts, name):
    assert facts["exceptions"][name].startswith(EXCEPTIONS[name])


@pytest.mark.parametrize(
    "name",
    [
        "pageable",
        "pageable, not blocking",
        "pinned",
        "pinned, not blocking",
        "pinned columns, not blocking",
        "pinned transposed, not blocking",
        "pinned to half",
        "pinned to half, not blocking",
        "to pinned, not blocking",
    ],
)
def test_a_copy_is_called_pinned_where_the_profiler_calls_it_so(facts, name):
    *kinds, told = facts["copy_kinds"][name]
    assert any("Pinned" in kind for kind in kinds) == any("pinned" in copy for copy in told["told"])
