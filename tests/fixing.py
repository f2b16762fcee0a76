"""What the fixes of one rule make of a text; `python tests/fixing.py TPL251` writes the fixture to be read."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from expectations import RULE_FOLDERS

from torchperf_lint import catalog
from torchperf_lint.fix import fix
from torchperf_lint.lint import Target
from torchperf_lint.model import Confidence, Finding, Report
from torchperf_lint.settings import Settings

FIXED = "bad.fixed.py"


class Fixed(NamedTuple):
    """A text as fixing leaves it."""

    text: str
    report: Report
    """What is left; its `fixed` tells what is gone."""

    @property
    def fixable(self) -> list[Finding]:
        """Findings that have a fix still."""
        return [finding for finding in self.report.findings if finding.fix is not None]


def fixed(text: str, code: str, unsafe: bool = True, **settings: object) -> Fixed:
    """A text that is a project of one file, with one rule's fixes applied until nothing changes, doubtful ones too."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory).resolve() / "example.py"
        path.write_bytes(text.encode())
        # A suppression is unused only where the rules it names have run.
        select = None if code == catalog.UNUSED_SUPPRESSION else (code,)
        chosen = Settings(**{"select": select, "no_cache": True, "confidence": Confidence.POSSIBLE, **settings})
        outcome = fix(Target(path.parent, chosen, (path,)), unsafe)
        return Fixed(path.read_bytes().decode(), outcome.report)


def folder_of(code: str) -> Path:
    (found,) = [folder for folder in RULE_FOLDERS if folder.name.startswith(f"{code.lower()}_")]
    return found


def main() -> None:
    for code in sys.argv[1:]:
        folder = folder_of(code)
        done = fixed((folder / "bad.py").read_bytes().decode(), code)
        (folder / FIXED).write_bytes(done.text.encode())
        print(f"{folder / FIXED}: {len(done.report.fixed)} fixed, {len(done.report.findings)} remaining")
        for problem in done.report.problems:
            print(f"  {problem.line}: {problem.reason}")


if __name__ == "__main__":
    main()
