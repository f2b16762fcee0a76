"""Whether anything in a project sets an option, or what goes by its name, to a number other than the 0 it begins with.

    parser.set_defaults(lr=float("1e-3"), workers=8)       args.workers = 8          vars(args)["workers"] = 8
    subprocess.run([python, "train.py", "--workers", "8"])   setattr(args, "workers", 8)  Namespace(workers=8)

Decided from the text: a number that nobody knows counts, `args.workers = n`, and so does a comment that shows how it
is asked for. What is taken over from the option itself, `update(workers=args.workers)`, is the same number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from weakref import WeakKeyDictionary

from torchperf_lint.facts.files.project import Project

_known: WeakKeyDictionary[Project, dict[tuple[str, frozenset[str]], bool]] = WeakKeyDictionary()
_on_objects: WeakKeyDictionary[Project, dict[str, bool]] = WeakKeyDictionary()
_files: WeakKeyDictionary[Project, dict[str, tuple[str, ...]]] = WeakKeyDictionary()
_ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*?"
"""What stands between the name of a call and one of its arguments, calls within calls too."""
_SETTERS = r"\b(?:set_defaults|Namespace|SimpleNamespace|update|_replace|replace|evolve)"


def is_set(project: Project, name: str, flags: Iterable[str] = ()) -> bool:
    """Whether code or settings give an option another number; `flags`: what else the command line calls it."""
    answers = _known.setdefault(project, {})
    key = name, frozenset(flag.replace("-", "_") for flag in flags)
    if key not in answers:
        answers[key] = _is_set(project, name, {name, *key[1]})
    return answers[key]


def is_set_on_objects(project: Project, name: str) -> bool:
    """Whether code sets an attribute of anything but `self` to another number than 0: `data.workers = 8`."""
    answers = _on_objects.setdefault(project, {})
    if name not in answers:
        set_outside = re.compile(rf"(?<!\bself)\.{re.escape(name)}\s*[-+*/|]?=(?!=)(?!\s*0\b)|{_set_by_name(name)}")
        answers[name] = any(set_outside.search(project.text(path)) for path in files_with(project, name))
    return answers[name]


def files_with(project: Project, name: str) -> tuple[str, ...]:
    """The files whose text holds a name, with underscores or with dashes."""
    files = _files.setdefault(project, {})
    if name not in files:
        files[name] = tuple(_mentioning(project, name))
    return files[name]


def _mentioning(project: Project, name: str) -> Iterator[str]:
    dashed = name.replace("_", "-")
    for path in project.index.outlines:
        text = project.text(path)
        if name in text or dashed in text:
            yield path


def _is_set(project: Project, name: str, flags: set[str]) -> bool:
    stored, given = _stored(name), _given(flags)
    if any(stored.search(project.text(path)) for path in files_with(project, name)):
        return True
    if any(given.search(project.text(path)) for flag in sorted(flags) for path in files_with(project, flag)):
        return True
    beside = project.hotness.programs.beside
    if given.search(beside.commands):
        return True
    settings = beside.settings
    return settings is not None and re.search(rf"\b{re.escape(name)}\b|{given.pattern}", settings) is not None


def _stored(name: str) -> re.Pattern[str]:
    """What code writes to set an option."""
    by_name, name = _set_by_name(name), re.escape(name)
    other = rf"(?!\s*(?:0\b|[\w.]+\.{name}\b))"
    return re.compile(
        rf"\.{name}\s*(?:[-+*/|]?=(?!=)(?!\s*0\b))"
        rf"|[\"']{name}[\"']\s*\]\s*=(?!=){other}"
        rf"|{by_name}"
        rf"|{_SETTERS}{_ARGUMENTS}\b{name}\b[\"']?\s*[:=](?!=){other}"
    )


def _set_by_name(name: str) -> str:
    return rf"setattr(?:__)?\([^\"']{{0,80}}[\"']{re.escape(name)}[\"']\s*,(?!\s*0\b)"


def _given(flags: set[str]) -> re.Pattern[str]:
    """What a command line holds: `--workers 8`, `--workers=$N`, `"--workers", "8"`, `"--workers", str(n)`."""
    names = "|".join(re.escape(flag).replace("_", "[-_]") for flag in sorted(flags))
    return re.compile(rf"--?(?:{names})(?:[\s=]+[\"']?[1-9$%{{]|[\"']\s*,\s*(?:f?[\"'][1-9$%{{]|str\())")
