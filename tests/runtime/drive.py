"""Runs a script as `torchperf-lint --runtime` will: `drive.py EVENTS RESULT [target ...]`; RESULT gets what was seen.

DRIVE_WITHOUT names functions of `signal` that this platform shall seem to lack; DRIVE_WITHOUT_CAT takes cat away;
DRIVE_STARTUP is another directory of the hook; DRIVE_REPORT_S is how long making the report takes.
"""

import dataclasses
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

for name in os.environ.pop("DRIVE_WITHOUT", "").split():
    delattr(signal, name)
if os.environ.pop("DRIVE_WITHOUT_CAT", ""):
    shutil.which = lambda name, path=None: None

from torchperf_lint.errors import UsageError  # noqa: E402
from torchperf_lint.runtime import launch, request  # noqa: E402


def main():
    events, result, *words = sys.argv[1:]
    request.STARTUP = Path(os.environ.pop("DRIVE_STARTUP", str(request.STARTUP)))
    try:
        _, target = request.split(words, ())
        rank, world = request.ranks(os.environ)
        ended = launch.run(request.Request(target, events, request.own_flags(), rank=rank, world=world))
    except UsageError as error:
        sys.exit(f"usage: {error}")
    Path(result).write_text(json.dumps(dataclasses.asdict(ended)), encoding="utf-8")
    time.sleep(float(os.environ.get("DRIVE_REPORT_S", "0")))
    launch.end_like(ended.returncode)


if __name__ == "__main__":
    main()
