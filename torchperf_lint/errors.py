"""What can go wrong, each class with the exit code it leads to."""

from __future__ import annotations


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
