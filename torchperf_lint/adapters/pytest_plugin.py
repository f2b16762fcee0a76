"""pytest: `@pytest.mark.max_syncs(n)` and the fixture `max_syncs`, for "this step makes at most n synchronisations".

Loaded in every run of pytest where the package is installed: it imports nothing of torch, and nothing of ours that is
not light, before a test asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torchperf_lint.runtime.guarding import NoSyncs

_NAME = "max_syncs"
_OPTION, _DEST = "--torchperf-simulate", "torchperf_simulate"
_MARKER = "max_syncs(n): the test makes the host wait for the GPU at most n times (torchperf-lint)"
_CANNOT_COUNT = ""
"""Why no test can be counted as a whole, in an old environment; the fixture works there."""
_FAILED = pytest.StashKey[Exception]()
"""Why torch got no simulated device."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """One switch, on the command line or in the configuration file."""
    told = "give torch a simulated CUDA device when it is imported, so that tests of max_syncs run without a GPU"
    parser.getgroup("torchperf-lint").addoption(_OPTION, action="store_true", dest=_DEST, default=False, help=told)
    parser.addini(_DEST, told, type="bool", default=False)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before a conftest.py imports torch and decides which device there is."""
    if not (early_config.known_args_namespace.torchperf_simulate or early_config.getini(_DEST)):
        return
    from torchperf_lint.runtime.imports import after_import

    def simulate(torch: object) -> None:
        del torch
        from torchperf_lint.runtime.simulating import simulate

        simulate()

    after_import("torch", simulate, on_error=lambda error: early_config.stash.setdefault(_FAILED, error))


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known to `--strict-markers`."""
    config.addinivalue_line("markers", _MARKER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, before other fixtures ask for a device, what nothing here could see."""
    marked = _allowed(item) is not None
    if marked and _CANNOT_COUNT:
        pytest.skip(f"max_syncs: {_CANNOT_COUNT}")
    if marked or _NAME in getattr(item, "fixturenames", ()):
        _skip_unseen(item.config)


def _counted(item: pytest.Item) -> Generator[None, object, object]:
    """Count in the test itself, its fixtures left out."""
    at_most = _allowed(item)
    if at_most is None:
        return (yield)
    from torchperf_lint.errors import SyncsFoundError
    from torchperf_lint.runtime.guarding import no_syncs

    try:
        with no_syncs(at_most):
            return (yield)
    except SyncsFoundError as error:
        message = str(error)
    # What the message lacks a traceback does not have either: it would show this file.
    pytest.fail(message, pytrace=False)


try:
    pytest_runtest_call = pytest.hookimpl(wrapper=True)(_counted)
except TypeError:  # pluggy before 1.2: whoever only has us installed must not notice
    _CANNOT_COUNT = "the marker needs pluggy 1.2 or later"


@pytest.fixture
def max_syncs() -> Callable[[int], NoSyncs]:
    """`with max_syncs(1): step()` fails, at the block's end, if the host waited for the device more often than once."""
    from torchperf_lint.runtime.guarding import no_syncs

    return no_syncs


def _allowed(item: pytest.Item) -> int | None:
    """What the closest marker allows; None without one."""
    marker = item.get_closest_marker(_NAME)
    if marker is None:
        return None
    words = (*marker.args, *marker.kwargs.values())
    known = not marker.kwargs or set(marker.kwargs) == {"n"}
    if len(words) != 1 or not known or isinstance(words[0], bool) or not isinstance(words[0], int) or words[0] < 0:
        pytest.fail("@pytest.mark.max_syncs(n) takes one whole number of at least 0", pytrace=False)
    return words[0]


def _skip_unseen(config: pytest.Config) -> None:
    from torchperf_lint.runtime.probes._listening import why_deaf

    reason = why_deaf()
    failed = config.stash.get(_FAILED, None)
    if reason is not None:
        pytest.skip(f"max_syncs: {failed or reason}")
