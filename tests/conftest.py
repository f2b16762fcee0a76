"""What every test stands on: the signals as a terminal leaves them, and a heap that is quickly gone through."""

import gc
import signal

import pytest


@pytest.fixture(autouse=True, scope="session")
def default_dispositions():
    """Under nohup, or behind a script's `&`, these are ignored, and whatever a test starts would inherit that."""
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)


def pytest_collection_finish():
    """Thousands of tests lie in memory now, and each `gc.collect()` of a test would go through all of them."""
    gc.collect()
    gc.freeze()
