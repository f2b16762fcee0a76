"""A forked child says what watches it: silence in its record has to mean something, too."""

from torchperf_lint import events


def test_a_forked_child_says_what_watches_it_and_counts_for_itself(watched):
    watched.recorder.probe("host-sync", "unavailable", "why")
    watched.recorder.probe("steps", "watching")
    watched.recorder.state("torch", "2.13.0")
    watched.recorder.state("optimizers", ["the parent's"])
    watched.recorder.event("sync", "stream")
    watched.read()
    watched.recorder.forked(watched.restarts)
    watched.recorder.matters()
    watched.recorder.flush()
    child = events.read(watched.recorder.path)
    assert {name: record["state"] for name, record in child.probes.items()} == {
        "host-sync": "unavailable",
        "steps": "watching",
    }
    assert child.probes["host-sync"]["reason"] == "why"
    assert child.state == {"torch": "2.13.0"}
    assert (child.events, child.counts) == ({}, {})
