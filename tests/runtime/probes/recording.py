"""A session in the tests' own process, and the numbers it wrote."""

import os
from collections import Counter
from pathlib import Path

from torchperf_lint import events
from torchperf_lint.runtime.session import Session

ROOT = Path(__file__).parents[3]


class Watched(Session):
    """A session that records this process; tests install the probes they are about."""

    def __init__(self, path, **spec):
        told = {"events": str(path), "owner_pid": os.getppid(), "project_root": str(ROOT), **spec}
        super().__init__(told)

    def read(self):
        self.recorder.flush()
        return events.read(self.recorder.path)

    def counted(self, kind):
        """(what, line's function, attributes) of each event -> how often."""
        run = self.read()
        counts = Counter()
        for number, event in run.events.items():
            if event["kind"] == kind:
                counts[event["what"]] += run.counts[number]["n"]
        return dict(counts)

    def found(self, kind):
        """Each event of a kind: its definition, its site and its figures in one."""
        run = self.read()
        return [
            {**run.sites.get(event["site"], {}), **event, **run.counts[number]}
            for number, event in run.events.items()
            if event["kind"] == kind
        ]

    def probe_state(self, name):
        return self.read().probes[name]["state"]
