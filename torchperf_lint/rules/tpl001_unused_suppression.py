"""TPL001."""

from __future__ import annotations

from torchperf_lint.model import Confidence, Finding, Fix, Location
from torchperf_lint.rule import Rule


class UnusedSuppression(Rule):
    """A suppression comment that suppresses nothing.

    ## What it does
    Flags `# noqa: TPLnnn` and `# torchperf-lint: ignore[...]` comments where the named rule finds nothing any more.
    A blanket `# noqa` and other linters' codes (`TPL002` and the like, too) are not judged.
    Reported only where every file of the project could be
    read and the named rule ran: with less, nobody knows whether the comment is needed. In shell scripts, Dockerfiles,
    yaml and .env files only codes of rules that look at such files are judged.

    ## Why it is slow
    The comment itself costs nothing. It hides the next finding on its line, which may.

    ## Example
    ```python
    import torch

    weights = torch.zeros(3)  # noqa: TPL101
    ```

    ## Use instead
    ```python
    import torch

    weights = torch.zeros(3)
    ```

    ## When it is fine
    Where the rule still fires:
    ```python
    from torch import nn

    model = nn.DataParallel(nn.Linear(2, 2))  # noqa: TPL751
    ```

    ## Fix safety
    Safe where the code is one of ours, as a comment changes no behaviour; unsafe for a code that no rule has, which may
    be another linter's. `--fix` takes the code out of the comment; the whole comment with its
    reason, where no other code is left in it; and the line, where the comment stood alone. Only Python is edited.

    ## Confirmed by
    Nothing at run time: it is about the source only.

    ## References
    - flake8 documentation, "Selecting and ignoring violations".
    """

    code, name, since = "TPL001", "unused-suppression", "0.1.0"

    def unused(self, location: Location, code: str | None, known: bool, fix: Fix | None) -> Finding:
        """The finding for one entry of a marker; lint.py knows which are unused. `known`: whether the code exists."""
        what = f"`{code}`" if code else "this marker"
        reason = "nothing is silenced here" if not code else "it finds nothing here" if known else "it is no rule"
        message = f"the suppression of {what} is unused: {reason}"
        return Finding(
            code=self.code,
            name=self.name,
            location=location,
            severity=self.severity,
            confidence=Confidence.CERTAIN,
            message=message,
            why_tensor=None,
            why_hot=None,
            instead=f"remove {what} from the comment",
            url=self.url(),
            fix=fix,
        )
