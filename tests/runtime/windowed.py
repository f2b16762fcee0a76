"""A training script that opens a window over the host's own activity: windowed.py EVENTS STEPS [WHAT].

No card is needed: what waits for one is told by torch's callbacks, fired by hand. WHAT: `profile` starts a profiler of
the script within the window, `profiled` has one on all the time, `fork` forks within it.
"""

import os
import sys
import time
from pathlib import Path

from torchperf_lint.runtime import session as sessions

EVENTS, STEPS = sys.argv[1], int(sys.argv[2])
WHAT = sys.argv[3] if len(sys.argv) > 3 else ""
SESSION = sessions.prepare(
    {
        "events": EVENTS,
        "owner_pid": os.getppid(),
        "project_root": str(Path(__file__).resolve().parent),
        "warmup": 2,
        "window": 3,
        "window_on_host": True,
    }
)

import torch  # noqa: E402 -- the session must see this import
from torch.cuda import _gpu_trace  # noqa: E402

from torchperf_lint.runtime.probes import _callbacks, host_sync  # noqa: E402

SYNCS = host_sync.Syncs(SESSION, torch.__path__[0])
_callbacks.Trace(_gpu_trace, "", lambda: None).watch(SYNCS.about_to_wait)


def wait():
    _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks(0)


def main():
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    profiler = torch.profiler.profile() if WHAT == "profiled" else None
    if profiler:
        profiler.__enter__()
    for step in range(STEPS):
        if SESSION.mark is not None:
            time.sleep(0.05)  # so slow that figures would show it
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        wait()
        if WHAT == "profile" and step == 9:
            with torch.profiler.profile() as theirs:
                model(torch.ones(2, 4))
            print("theirs", len(theirs.events()) > 0)
        if WHAT == "fork" and step in (8, 9) and not os.fork():
            os._exit(0)
        optimizer.step()
    if profiler:
        profiler.__exit__(None, None, None)
        print("theirs", len(profiler.events()) > 100)
    print("loss", model(torch.ones(2, 4)).sum().item())


main()
