"""Runs every check of the checks_*.py files on the simulated device: behaviour.py OUT."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

import checks_sparse
import checks_surroundings
import checks_tensors
import checks_training
from harness import EVENTS

from torchperf_lint.runtime import simulated


def main() -> None:
    simulated.install(EVENTS)
    results = {}
    for module in (checks_training, checks_tensors, checks_sparse, checks_surroundings):
        for name, check in list(vars(module).items()):
            if name.startswith("check_"):
                EVENTS.seen.clear()
                EVENTS.bytes.clear()
                try:
                    check()
                except Exception:  # noqa: BLE001
                    results[name] = traceback.format_exc() + f"\nevents: {EVENTS.seen[-12:]}"
                else:
                    results[name] = None
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main()
