"""Files that are not Python and set what a run finds in its environment: shell, Dockerfile, yaml, .env."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property

from torchperf_lint.facts.syntax.text import split_lines


class TextKind(Enum):
    """How a file writes a setting."""

    SHELL = "shell"
    DOCKER = "dockerfile"
    YAML = "yaml"
    ENVIRONMENT = "env"


_BY_ENDING = {
    ".sh": TextKind.SHELL,
    ".bash": TextKind.SHELL,
    ".sbatch": TextKind.SHELL,
    ".slurm": TextKind.SHELL,
    ".yaml": TextKind.YAML,
    ".yml": TextKind.YAML,
    ".env": TextKind.ENVIRONMENT,
}
ENDINGS = tuple(_BY_ENDING)
BEGINNINGS = ("Dockerfile", "Containerfile")
_PYTHON = (".py", ".ipynb")


def kind_of(name: str) -> TextKind | None:
    """What a file is by its name without directories; None for Python and whatever else there is."""
    if name.startswith(BEGINNINGS):
        return None if name.endswith(_PYTHON) else TextKind.DOCKER
    return _BY_ENDING[name[name.rindex(".") :]] if name.endswith(ENDINGS) else None


@dataclass(frozen=True)
class TextFile:
    """One such file."""

    name: str
    """POSIX, relative to the project's root."""
    shown: str
    """The name in reports."""
    text: str
    kind: TextKind

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return split_lines(self.text)

    @property
    def apart(self) -> bool:
        """Whether it is for debugging, tests or continuous integration by its name: ordinary runs do not read it."""
        return bool(_not_for_runs().search(self.name.lower()))


@cache
def _not_for_runs() -> re.Pattern[str]:
    return re.compile(
        r"debug|sanitiz|profil|diagnos|jenkins|azure-pipelines|(?:^|/)\.(?:github|gitlab|circleci|buildkite|travis|drone)"
        r"|(?:^|[/._-])(?:tests?|ci|bench\w*|trac(?:e|ing))(?:[/._-]|$)"
    )
