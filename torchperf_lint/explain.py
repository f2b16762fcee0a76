"""Rule documentation from the rules' docstrings: --explain, --list-rules, docs/rules.md, the table in the README.

`python -m torchperf_lint.explain --write` brings the two files up to date.
"""

from __future__ import annotations

import re
import sys
from io import StringIO
from pathlib import Path

from torchperf_lint import catalog
from torchperf_lint.errors import UsageError
from torchperf_lint.options import did_you_mean, nearest
from torchperf_lint.patterns import pattern
from torchperf_lint.rule import Rule, RunRule

BEGIN = "<!-- rules:begin -->"
END = "<!-- rules:end -->"
_TABLE = pattern(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def find_rule(code_or_name: str) -> type[Rule]:
    """The rule with this code (in any case) or name. Raises UsageError with the nearest one."""
    for rule in catalog.rule_classes():
        if code_or_name.upper() == rule.code or code_or_name.lower() == rule.name:
            return rule
    known = [word for rule in catalog.rule_classes() for word in (rule.code, rule.name)]
    near = nearest(code_or_name, known) or nearest(code_or_name.upper(), known)
    raise UsageError(f"no rule is called {code_or_name!r}{did_you_mean(near)}")


def explain(code_or_name: str, width: int = 80, color: bool = False) -> str:
    """Everything there is to say about one rule: laid out for a terminal with `color`, else as Markdown.

    Raises UsageError for a rule that does not exist.
    """
    rule = find_rule(code_or_name)
    text = f"# {_title(rule)}\n\n{_body(rule, '##')}"
    return _laid_out(text, width) if color else text


def _laid_out(markdown: str, width: int) -> str:
    from rich.console import Console
    from rich.markdown import Markdown

    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=True, color_system="standard", no_color=False, legacy_windows=False
    )
    console.print(Markdown(markdown, code_theme="ansi_dark"))
    return out.getvalue()


def rules_markdown() -> str:
    """The text of docs/rules.md."""
    parts = [
        "# Rules\n\nMade from the rules' own documentation by `python -m torchperf_lint.explain --write`.\n",
        rules_table(link="#{code}"),
    ]
    for rule in catalog.rule_classes():
        # The anchor that findings link to.
        parts.append(f'<a id="{rule.code.lower()}"></a>\n\n## {_title(rule)}\n\n{_body(rule, "###")}')
    return "\n".join(parts)


def rules_table(link: str = "docs/rules.md#{code}") -> str:
    """Markdown tables of all rules, those of a run apart; `link` says where `{code}` is documented."""
    rows = ["| Code | Name | What it finds | Severity | On by default |", "|---|---|---|---|---|"]
    runs = ["| Code | Name | What it says |", "|---|---|---|"]
    for rule in catalog.rule_classes():
        first = f"| [{rule.code}]({link.format(code=rule.code.lower())}) | {rule.name} | {_cell(rule.headline())} |"
        if issubclass(rule, RunRule):
            runs.append(first)
        else:
            rows.append(f"{first} {rule.severity} | {'yes' if rule.default else 'no'} |")
    diagnoses = ["", "Diagnoses of a run, with `--runtime`:", "", *runs] if len(runs) > 2 else []
    return "\n".join([*rows, *diagnoses]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rules_list() -> list[dict[str, object]]:
    """What --list-rules tells about every rule, sorted by code."""
    return [
        {
            "code": rule.code,
            "name": rule.name,
            "severity": rule.severity.value,
            "default": rule.default,
            "since": rule.since,
            "summary": rule.headline(),
            "url": rule.url(),
        }
        for rule in catalog.rule_classes()
    ]


def rules_lines() -> str:
    """The rules as aligned text, one line each."""
    rules = catalog.rule_classes()
    widest = max((len(rule.name) for rule in rules), default=0)
    columns = (
        (rule.code, rule.name.ljust(widest), f"{rule.severity:<7}", "on " if rule.default else "off", rule.headline())
        for rule in rules
    )
    return "".join("  ".join(line) + "\n" for line in columns)


def documents(root: Path) -> dict[Path, str]:
    """The generated files of a checkout, each with the text it should have.

    Raises UsageError where the README has no place for the table.
    """
    readme = root / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    if not _TABLE.search(text):
        raise UsageError(f"{readme}: must hold the lines {BEGIN} and {END}; the table of rules goes between them")
    table = f"{BEGIN}\n{rules_table()}{END}"
    return {root / "docs" / "rules.md": rules_markdown(), readme: _TABLE.sub(lambda _: table, text)}


def _title(rule: type[Rule]) -> str:
    return f"{rule.code} {rule.name}"


def _body(rule: type[Rule], heading: str) -> str:
    default = "on by default" if rule.default else "off by default"
    sections = "\n".join(f"{heading} {title}\n\n{text}" for title, text in rule.docs.items())
    return f"{rule.headline()}\n\nSeverity {rule.severity}, {default}, since {rule.since}.\n\n{sections}"


def _write(root: Path) -> None:
    for path, text in documents(root).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("usage: python -m torchperf_lint.explain --write")
    _write(Path(__file__).parents[1])
