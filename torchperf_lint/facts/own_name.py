"""What a package calls itself, where the directory that is checked is the package: `from mypackage.ops import nms`.

Nothing in the files says the directory's name. That `mypackage.ops` is `ops.py` here is seen by what is imported:
wherever there is such a file it defines the name, as the files of a library of like-named parts would not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from torchperf_lint.facts.records import Outline

ENOUGH = 2
"""Different names that are found where an import says, before a name is taken for the package's own."""


def own_name(
    outlines: Mapping[str, Outline],
    modules: Mapping[str, str],
    libraries: Collection[str],
    defines: Callable[[str, str], bool],
) -> str | None:
    """The first part of imports that stands for the project's root; None where none does, or several do.

    `modules`: stem -> path; `defines`: whether the file at a path defines, or hands on, a name.
    """
    found: dict[str, set[str]] = {}
    wrong: set[str] = set()
    for outline in outlines.values():
        for dotted in outline.imports.values():
            head, _, rest = dotted.partition(".")
            if not rest or not head or head in libraries or head in wrong or _is_a_part(head, modules):
                continue
            whole, (stem, _, name) = rest.replace(".", "/"), rest.replace(".", "/").rpartition("/")
            if whole in modules or (stem in modules and defines(modules[stem], name)):
                found.setdefault(head, set()).add(whole)
            elif stem in modules:
                wrong.add(head)
    enough = 1 if "__init__.py" in outlines else ENOUGH
    names = [head for head, resolved in found.items() if len(resolved) >= enough and head not in wrong]
    return names[0] if len(names) == 1 else None


def _is_a_part(head: str, modules: Mapping[str, str]) -> bool:
    """Whether the first part of an import is a file or folder of the project."""
    return head in modules or any(stem.startswith((f"{head}/", f"src/{head}/")) for stem in modules)
