"""Objects of other libraries that work on arrays: `self.interpreter.set_tensor(i, x)`, `self.kmeans.predict(x)`.

No torch module takes an array, so whoever is handed one runs on the host, or on a device that torch does not reach:
sessions of other runtimes, estimators, distributions. What they are given has to be copied first.
"""

from __future__ import annotations

import ast
import sys

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.patterns import pattern

_WORKS = pattern(
    r"^(?:(?:partial_)?fit|(?:fit_)?predict\w*|(?:inverse_|fit_)?transform|infer\w*|kneighbors|decision_function|"
    r"score_samples|i?cdf|ppf|[pl]?pdf|logpdf|logcdf|set_tensor|copy_from_cpu|run)$"
)
"""Methods of estimators, distributions and runtimes, which other objects that are handed arrays do not have."""
_KEEPS = pattern(
    r"^_?(?:append|extend|insert|push|put|store|enqueue|emplace|collect|record|cache|remember|observe|step|act|send|emit|"
    r"log|print|info|debug|warn|warning|report|show|plot|draw|save|write|dump|add|update|track|accumulate|set)(?:_|$)|"
    r"(?:meter|metric|acc|accuracy|score|scorer|loss|loss_fn|criterion|evaluator|logger|writer|buffer|memory|vis|env)s?$"
)
"""Methods and objects that gather, show or judge what they get: an array is only how they want it."""
_WITH_TENSORS = pattern(
    r"^(?:torch\w*|functorch|numpy|scipy|cv2|skimage|PIL|pandas|wandb|tensorboard\w*|visdom|mlflow|comet_ml|neptune|clearml|"
    r"swanlab|einops|opt_einsum|kornia|timm|transformers|diffusers|peft|tqdm|ignite|lightning\w*|pytorch_\w+|monai|fastai|"
    r"jax|tensorflow|keras|evaluate|datasets|horovod|apex|deepspeed|accelerate|fairscale|fairseq\w*|mm\w+|nvidia|cupy|"
    r"cudf|cuml|dgl|e3nn|gpytorch|botorch|pyro|xformers|triton|bitsandbytes|flash_attn|ray|matplotlib|seaborn|"
    r"utils?|lib|src|models?|tools?|common|helpers?|core|metrics?|loss(?:es)?|data|misc|func\w*|modules?|networks?|engine|"
    r"trainers?|eval\w*|ops|layers?|config)$|^$"
)
"""Libraries that take tensors, or have functions for arrays that torch has, too; or that show and log numbers;
and names of a program's own folders, which an import may give where they are not read."""
_HOPS = 4
"""Names through which an array is followed: `x = im.numpy()`, `x = x.transpose(0, 2)`, `net.infer(x)`."""


def given_to_another_library(file: SourceFile, site: Site) -> bool:
    """Whether what a copy brings to the host goes to an object that takes arrays, as they are or computed further."""
    around = file.enclosing(site.function)
    return _arrives(file, site, around, site.call, False, _HOPS)


def _arrives(file: SourceFile, site: Site, around: Enclosing, node: ast.AST, array: bool, hops: int) -> bool:
    """Whether an expression, or a name that its statement binds to it, is handed to such an object."""
    for parent in around.ancestors(node):
        if isinstance(parent, ast.Attribute):
            array = array or parent.attr in ("numpy", "astype")
        elif isinstance(parent, ast.Call):
            if parent.func is not node and _takes_arrays(file, site, parent, array):
                return True
        elif isinstance(parent, ast.Assign):
            names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
            uses = _uses(around, names, parent) if hops else ()
            return any(_arrives(file, site, around, use, array, hops - 1) for use in uses)
        elif isinstance(parent, ast.stmt | ast.Lambda | ast.Compare):
            return False
        elif isinstance(parent, ast.Subscript) and parent.value is not node:
            return array and _may_be_an_array(file, site, parent.value)
        node = parent
    return False


def _may_be_an_array(file: SourceFile, site: Site, base: ast.expr) -> bool:
    """Whether what an array picks from may be one: of a tensor on the device it would have been a tensor."""
    return file.value(base, site).kind in ("unknown", "array", "sequence")


def _of_a_host_library(dotted: str) -> bool:
    """Whether a call is one of a library that knows no device: `NNDescent(x)`, `UnitaryGate(matrix)`."""
    root = dotted.partition(".")[0]
    if dotted.startswith("sklearn."):
        return not dotted.startswith("sklearn.metrics.")
    return "." in dotted and not _WITH_TENSORS.search(root) and root not in sys.stdlib_module_names


def _uses(around: Enclosing, names: set[str], after: ast.stmt) -> list[ast.Name]:
    """Where names are read behind the statement that binds them."""
    end = (after.end_lineno or after.lineno, after.end_col_offset or 0)
    read = (node for node in around.of_kinds((ast.Name,)) if isinstance(node, ast.Name) and node.id in names)
    return [node for node in read if isinstance(node.ctx, ast.Load) and (node.lineno, node.col_offset) >= end]


def _takes_arrays(file: SourceFile, site: Site, call: ast.Call, array: bool) -> bool:
    """Whether a call is one of an object that no torch module is: by what it does, or by getting an array in a pass."""
    if any(keyword.arg == "return_tensors" for keyword in call.keywords):
        return True  # a feature extractor of transformers
    if _of_a_host_library(file.denotes(call.func, site) or ""):
        return True
    callee = chain(call.func)
    if not array or not callee.startswith("self."):
        return False
    if file.project.types.targets(file.path, site.function, callee) and file.value(call.func, site).kind != "object":
        return False  # a module or function of the project; an object of a class that is no module may stand for more
    name = last_part(callee)
    if "." in callee.removeprefix("self.") and _WORKS.search(name):
        return True
    in_a_pass = site.hot is not None and site.hot.kind == "forward"
    return in_a_pass and not any(map(_KEEPS.search, callee.split(".")[1:]))
