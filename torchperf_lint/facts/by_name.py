"""How files take modules and classes by names that are text: which of a project's names may be meant."""

from __future__ import annotations

import re
from enum import IntEnum

from torchperf_lint.patterns import pattern

_BUILDS = pattern(
    r"\bimport_module\(|\bget_obj_from_str\b|\binstantiate\(|\blocate\(|\bgetattr\(sys\.modules|\bload_hyperpyyaml\("
    r"|\bLightningCLI\(|\bimport gin\b|[\"'](?:class_path|_target_|auto_map)[\"']"
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
    "class_path",
    "_target_",
    "auto_map",
)
"""Some of which a text must hold for that: quick to tell, as all of a project's text is asked."""
_IMPORTS = pattern(r"\bimport_module\(\s*([^\n]*)")
_LITERAL = pattern(r"^([\"'])[\w.]+\1\s*[,)]")
_OF_LIBRARIES = pattern(r"^f?[\"'](?:torch\w*|transformers|diffusers|timm|datasets|sklearn)\b")
_SETTINGS = pattern(r"^(?:temp|tmp)_")
"""mmcv and what learned from it copy a file of settings to a temporary module and import that."""
_WHOLE = pattern(r"\brsplit\(|\brpartition\(|\bsplit\(\s*[\"']\.[\"']")
"""Takes `package.module.Class` apart."""
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


def names_taken(text: str) -> Names:
    """What the code of a file may take."""
    if not builds_by_name(text):
        return Names.NONE
    asked = (argument for argument in _IMPORTS.findall(text) if not _LITERAL.search(argument))
    if all(any(kind.search(argument) for kind in (_OF_LIBRARIES, _SETTINGS, _KNOWN)) for argument in asked):
        return Names.WRITTEN
    if _WHOLE.search(text):
        return Names.WRITTEN
    modules = _MODULE.findall(text) or ["import_module"]
    return Names.ANY if any(re.search(_OPENED.format(module), text) for module in modules) else Names.FILES
