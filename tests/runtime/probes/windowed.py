"""A training script with a window over the host's own activity, which forks within it: windowed.py EVENTS.

No card is needed: what waits for one is told by torch's callbacks, fired by hand.
"""

import os
import sys
import time
import warnings
from pathlib import Path

from torchperf_lint.runtime import session as sessions

SPEC = {"warmup": 2, "window": 3, "window_on_host": True, "project_root": str(Path(__file__).resolve().parent)}
SESSION = sessions.prepare({"events": sys.argv[1], "owner_pid": os.getppid(), **SPEC})

import torch  # noqa: E402 -- the session must see this import
from torch.cuda import _gpu_trace  # noqa: E402

from torchperf_lint.runtime.probes import _callbacks, host_sync  # noqa: E402

SYNCS = host_sync.Syncs(SESSION, torch.__path__[0])
_callbacks.Trace(_gpu_trace, "", lambda: None).watch(SYNCS.about_to_wait)


# Python 3.12 and later warn of forks beside torch's own threads, whoever watches.
warnings.filterwarnings("ignore", "This process", DeprecationWarning)


def fork():
    child = os.fork()
    if not child:
        os._exit(torch.autograd._profiler_enabled())
    print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def main():
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    for step in range(30):
        if SESSION.mark is not None:
            time.sleep(0.2)  # so slow that figures would show it
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks(0)
        if step == 8:
            fork()
        optimizer.step()
    print("on", torch.autograd._profiler_enabled(), "KINETO_LOG_LEVEL" in os.environ)


main()
