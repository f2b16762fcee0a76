"""What can go wrong, each class with the exit code it leads to."""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers by its name: every start imports this module
if TYPE_CHECKING:
    from torchperf_lint.waits import SyncSite


class TorchPerfError(Exception):
    """Base of every error of ours; `exit_code` is what the process ends with."""

    exit_code = 2


class UsageError(TorchPerfError):
    """The command line does not make sense."""


class ConfigError(TorchPerfError):
    """A configuration file cannot be used: unreadable, malformed, or with an unknown key or code."""


class RuleContractError(TorchPerfError):
    """A rule's class breaks the contract of rule.py; raised when the class is made."""


class CannotCheck(TorchPerfError):  # noqa: N818 -- it names what happens, and is no failure of ours
    """One file cannot be checked; becomes an entry in `errors`, never a traceback."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        """1-based, or None for the whole file."""


class CannotFix(TorchPerfError):  # noqa: N818 -- it names what happens, and is no failure of ours
    """A change cannot be made without guessing; the finding is reported without a fix."""


class SyncsFoundError(TorchPerfError, AssertionError):
    """A block under `no_syncs()` made more synchronisations than it may."""

    def __init__(self, message: str, sites: tuple[SyncSite, ...] = (), at_most: int = 0) -> None:
        super().__init__(message)
        self.sites = sites
        """The most frequent first."""
        self.at_most = at_most

    @property
    def count(self) -> int:
        """Synchronisations of all sites."""
        return sum(site.count for site in self.sites)

    def __reduce__(self) -> tuple[object, ...]:
        """Test runners hand errors from process to process."""
        return type(self), (str(self), self.sites, self.at_most)


class CannotSeeSyncsError(TorchPerfError):
    """Nothing in this process can tell whether the host waits for a device: there is none, real or simulated."""


class AlreadyWatchedError(TorchPerfError):
    """A process is watched once at a time."""
