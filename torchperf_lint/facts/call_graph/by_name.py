"""How files take modules and classes by names that are text: which of a project's names may be meant."""

from __future__ import annotations

import re
from enum import IntEnum

from torchperf_lint.patterns import pattern

_BUILDS = pattern(
    r"\bimport_module\(|\bget_obj_from_str\b|\binstantiate\(|\blocate\(|\bgetattr\(sys\.modules|\bload_hyperpyyaml\("
    r"|\bLightningCLI\(|\bimport gin\b|[\"'](?:class_path|_target_|auto_map)[\"']|\b__import__\("
    r"|\bspec_from_file_location\(|\bSourceFileLoader\(|\bimp\.load_source\([\"']"
)
_BUILD_PARTS = (
    "import_module(",
    "get_obj_from_str",
    "instantiate(",
    "locate(",
    "getattr(sys.modules",
    "load_hyperpyyaml(",
    "LightningCLI(",
    "import gin",
    *(f"{quote}{name}{quote}" for name in ("class_path", "_target_", "auto_map") for quote in "\"'"),
    "__import__(",
    "spec_from_file_location(",
    "SourceFileLoader(",
    "imp.load_source(",
)
"""Some of which a text must hold for that: quick to tell, as all of a project's text is asked."""
_IMPORTS = pattern(
    r"\b(?:import_module|__import__)\(\s*([^\n]*)|\b(?:spec_from_file_location|SourceFileLoader|imp\.load_source)(\()"
)
_LITERAL = pattern(r"^([\"'])[\w.]+\1\s*[,)]")
_OF_LIBRARIES = pattern(r"^f?[\"'](torch\w*|transformers|diffusers|timm|datasets|sklearn)\b")
_SETTINGS = pattern(r"^(?:temp|tmp)_")
"""mmcv and what learned from it copy a file of settings to a temporary module and import that."""
_WHOLE = pattern(r"^[ \t]*\*?\w+(?:, *\*?\w+)+ *= *[^\n]*\.(?:rsplit|rpartition|split)\(\s*[\"']\.[\"']", re.MULTILINE)
"""Takes `package.module.Class` apart: `module, name = path.rsplit(".", 1)`."""
_KNOWN = pattern(r"^[\w.]+\.__(?:name|module)__")
"""The module of what is at hand has been imported."""
_MODULE = pattern(r"\b(\w+)\s*=\s*(?:importlib\.)?import_module\(")
_OPENED = (
    r"\b{0}\.__dict__\b|\b(?:vars|dir|getmembers)\(\s*{0}\b|\bgetattr\(\s*{0}\s*,(?!\s*[\"']\w+[\"']\s*[,)])"
    r"|\bgetattr\(\s*(?:importlib\.)?import_module\("
)
"""Takes of a module what nobody writes."""


class Names(IntEnum):
    """What a file may take by a name that is text; a larger one holds the smaller."""

    NONE = 0
    WRITTEN = 1
    """What is written in full somewhere: `models.unet.UNet`."""
    FILES = 2
    """Any file of the project, but only what is written of it."""
    ANY = 3
    """Anything of any file."""


def builds_by_name(text: str) -> bool:
    """Whether a file makes objects of classes, or takes modules, by names that are text: settings may hold them."""
    return any(part in text for part in _BUILD_PARTS) and _BUILDS.search(text) is not None


def names_taken(text: str, own: frozenset[str] = frozenset()) -> Names:
    """What the code of a file may take.

    :param own: the names of the project's folders and files
    """
    if not builds_by_name(text):
        return Names.NONE
    asked = [argument or path for argument, path in _IMPORTS.findall(text)]
    if all(_is_known(argument, own) for argument in asked):
        return Names.WRITTEN
    if _WHOLE.search(text):
        return Names.WRITTEN
    modules = _MODULE.findall(text) or ["import_module"]
    return Names.ANY if any(re.search(_OPENED.format(module), text) for module in modules) else Names.FILES


def _is_known(argument: str, own: frozenset[str]) -> bool:
    """Whether what is imported by a name is written out, a library's, one of settings, or imported already."""
    library = _OF_LIBRARIES.search(argument)
    if library is not None:
        return library.group(1) not in own
    return any(kind.search(argument) for kind in (_LITERAL, _SETTINGS, _KNOWN))
