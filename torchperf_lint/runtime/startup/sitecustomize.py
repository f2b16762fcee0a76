"""Starts recording in a process that runs with this directory first on its PYTHONPATH, then makes itself unseen.

Python imports `sitecustomize` before any script. This one leaves sys.path as plain Python would have it, and hands
over to the sitecustomize it shadows; where there is none, the import fails as it would have, which `site` expects.
PYTHONPATH itself stays as inherited: that is how processes which the script starts are watched too.
It must import nothing heavy and never stop a script. Any Python 3 may meet it, hence the plain syntax.
"""

import os
import sys

_STARTUP = os.path.dirname(__file__)


def _leave_path() -> None:
    sys.path[:] = [entry for entry in sys.path if entry != _STARTUP]
    sys.path_importer_cache.pop(_STARTUP, None)
    del sys.modules[__name__]


def _watch(told: str) -> None:
    import json

    spec = json.loads(told)
    try:
        _die_with_parent(spec)
        _find_package()
        from torchperf_lint.runtime import session

        session.prepare(spec)
    except Exception as error:  # noqa: BLE001 -- the border to the user's run: it goes on unwatched
        _report(spec, "%s: %s" % (type(error).__name__, error))  # noqa: UP031


def _find_package() -> None:
    """Imports our package from where this file lies: a checkout need not be on the child's sys.path, nor stay there."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(_STARTUP)))
    sys.path.insert(0, root)
    try:
        import torchperf_lint  # noqa: F401
    finally:
        sys.path.remove(root)


def _die_with_parent(spec: dict) -> None:  # type: ignore[type-arg]
    """Under a launcher only: one that kills what it started by SIGKILL would leave the script behind, with the GPU."""
    owner = spec["owner_pid"]
    if spec.get("rank") is None or sys.platform != "linux" or os.getppid() != owner:
        return
    import ctypes
    import signal

    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != owner:
        os.kill(os.getpid(), signal.SIGKILL)


def _report(spec: dict, reason: str) -> None:  # type: ignore[type-arg]
    """One line for the user, and for the parent a file that says why nothing was recorded."""
    if sys.stderr is not None:
        sys.stderr.write("torchperf-lint: this process is not watched: %s\n" % reason)  # noqa: UP031
    if os.getppid() == spec.get("owner_pid"):
        with open(spec["events"] + ".failed", "w", encoding="utf-8") as file:
            file.write(reason)


_leave_path()
if sys.version_info >= (3, 10) and os.environ.get("TORCHPERF_LINT_RUN"):
    try:  # noqa: SIM105 -- contextlib is one more import
        _watch(os.environ["TORCHPERF_LINT_RUN"])
    except Exception:  # noqa: BLE001 -- a variable or a disk we cannot use; the script goes on, unwatched
        pass
__import__("sitecustomize")
