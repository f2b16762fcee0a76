"""Distributions of `torch.distributions` that check their parameters each time they are made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.kept_class import kept_class, kept_names
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.files.switches import Mark
from torchperf_lint.facts.reads.own_constructors import own_constructors
from torchperf_lint.facts.reads.own_distributions import own_distributions
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, Value, tensor
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

SWITCH = "set_default_validate_args"
_SWITCHES = frozenset({SWITCH, "enable_validation"})
"""What turns the checks off for the whole program; the second is pyro's."""
_FLAG = "validate_args"
_OF_ALL = pattern(r"(?m)^[ \t]*(?:\w+\.)*Distribution\._validate_args[ \t]*=[ \t]*(?:False|0)\b")
"""What the switch does, written out: distributions look there where their call says nothing."""
_OF_ALL_HOLDS = "Distribution._validate_args"
_OUTPUT = pattern(r"logit|prob|(?:^|_)(?:mean|mu|std|sigma|loc|scale)s?(?:_|$)", re.IGNORECASE)
_OF_A_NETWORK = frozenset({"logits", "probs"})
"""Parameters that are a tensor with a row for each sample."""
_PASSES = frozenset({"forward", "step"})
"""Kinds of hot code that compute with what is on the device; what plays or draws may do so on the host."""
_CLASSES = {
    "bernoulli": "Bernoulli",
    "beta": "Beta",
    "binomial": "Binomial",
    "categorical": "Categorical",
    "cauchy": "Cauchy",
    "chi2": "Chi2",
    "continuous_bernoulli": "ContinuousBernoulli",
    "dirichlet": "Dirichlet",
    "exponential": "Exponential",
    "fishersnedecor": "FisherSnedecor",
    "gamma": "Gamma",
    "geometric": "Geometric",
    "gumbel": "Gumbel",
    "half_cauchy": "HalfCauchy",
    "half_normal": "HalfNormal",
    "inverse_gamma": "InverseGamma",
    "kumaraswamy": "Kumaraswamy",
    "laplace": "Laplace",
    "log_normal": "LogNormal",
    "logistic_normal": "LogisticNormal",
    "lowrank_multivariate_normal": "LowRankMultivariateNormal",
    "multinomial": "Multinomial",
    "multivariate_normal": "MultivariateNormal",
    "negative_binomial": "NegativeBinomial",
    "normal": "Normal",
    "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
    "pareto": "Pareto",
    "poisson": "Poisson",
    "relaxed_bernoulli": "RelaxedBernoulli",
    "relaxed_categorical": "RelaxedOneHotCategorical",
    "studentT": "StudentT",
    "uniform": "Uniform",
    "von_mises": "VonMises",
    "weibull": "Weibull",
}
"""Module -> classes that read the result of a check on the host (counted on torch 2.13); with the flag off none does,
or fewer. `Independent`, `TransformedDistribution` and mixtures check nothing of their own when they are made."""
CHECKED = tuple(
    dotted
    for module, names in _CLASSES.items()
    for name in names.split()
    for dotted in (f"torch.distributions.{name}", f"torch.distributions.{module}.{name}")
)


def checked(file: SourceFile) -> Iterator[tuple[Site, Value]]:
    """The hot calls that make a distribution of device tensors and leave its checks on, with what is checked."""
    direct = ((site, "") for site in file.calls_of(*CHECKED))
    made = (*direct, *_kept(file), *own_distributions(file, CHECKED))
    unsaid = ((site, because) for site, because in made if not says_so(site.call))
    for site, because in (*unsaid, *own_constructors(file, CHECKED)):
        if site.hot is None or site.hot.kind == "data":
            continue
        value = _parameter(file, site)
        if value is not None and not is_switched_off(file):
            yield site, value.with_reason(f"{value.because}; {because}") if because else value


def _kept(file: SourceFile) -> Iterator[tuple[Site, str]]:
    """The hot calls of a class that the object keeps: `self.make(mean, std)`."""
    for site in file.hot_calls(*kept_names(file)):
        kept = kept_class(site)
        if kept is not None and kept.dotted in CHECKED:
            yield site, kept.because


def is_switched_off(file: SourceFile) -> bool:
    """Whether something in the project decides about the checks of all distributions."""
    index = file.project.index
    if not _SWITCHES.isdisjoint(index.called_names):
        return True
    speaking = (path for path, outline in index.outlines.items() if outline.imports_from("torch"))
    texts = (file.project.text(path) for path in speaking)
    return any(_OF_ALL.search(text) for text in texts if _OF_ALL_HOLDS in text)


def overwritten(file: SourceFile) -> Iterator[Mark]:
    """`Normal.set_default_validate_args = False`: puts a bool in place of the method, and switches nothing."""
    body = file.project.body(file.path)
    if body is None or SWITCH not in file.text:
        return
    for function in range(len(file.outline.functions)):
        for node in file.enclosing(function).of_kinds((ast.Assign,)):
            assert isinstance(node, ast.Assign)
            if _overwrites(file, node, function):
                yield Mark(file, node, function)


def _overwrites(file: SourceFile, node: ast.Assign, function: int) -> bool:
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ast.Attribute) or target.attr != SWITCH:
        return False
    dotted = file.denotes(target.value, Mark(file, node, function)) or ""
    return dotted.startswith("torch.distributions.") and isinstance(node.value, ast.Constant)


def says_so(call: ast.Call) -> bool:
    """Whether a call decides about the checks itself, or may do so in what it unpacks."""
    if any(keyword.arg in (None, _FLAG) for keyword in call.keywords):
        return True
    return any(
        isinstance(given, ast.Starred) or (isinstance(given, ast.Constant) and isinstance(given.value, bool))
        for given in call.args
    )


def _parameter(file: SourceFile, site: Site) -> Value | None:
    """The first parameter that is a tensor on the device, or a part of a batch that a framework has moved there."""
    for given in arguments(site.call):
        value = on_device(file, site, given)
        if value is not None and (value.kind == "tensor" or (value.kind == "batch" and value.device == DEVICE)):
            return value
    return _unknown_parameter(file, site)


def _unknown_parameter(file: SourceFile, site: Site) -> Value | None:
    """The first parameter that the pass or the loss of a module computed of what nobody here can follow.

    `Binomial(total_count=px.total_count, probs=px.probs + rate)`: what is no number there is a tensor of the step.
    """
    if site.hot is None or site.hot.kind not in _PASSES or stays_on_host(file) or not file.project.uses_accelerator:
        return None
    values = [(given, file.value(given, site)) for given in arguments(site.call)]
    if any(value.kind not in ("unknown", "plain") for _, value in values):
        return None
    unknown = [given for given, value in values if value.kind == "unknown" and _is_of_the_step(given)]
    unknown = unknown or list(_outputs(file, site))
    if not unknown:
        return None
    because = f"`{file.brief(unknown[0])}` is computed in the step, and a distribution takes numbers or tensors"
    return tensor(ANYWHERE, because, Confidence.LIKELY)


def _outputs(file: SourceFile, site: Site) -> Iterator[ast.expr]:
    """`Bernoulli(logits=self.decoder(x))`: what an attribute, whatever it is, makes of what the pass was given."""
    takes = {parameter.name for parameter in file.outline.functions[site.function].parameters} - {"self"}
    for keyword in site.call.keywords:
        given = keyword.value
        if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
            continue
        of_self = isinstance(given.func.value, ast.Name) and given.func.value.id == "self"
        handed = {argument.id for argument in given.args if isinstance(argument, ast.Name)}
        if of_self and keyword.arg in _OF_A_NETWORK and handed & takes and file.value(given, site).kind == "unknown":
            yield given


_SETTINGS = pattern(r"(?:^|_)(?:kwargs|config|cfg|conf|opts?|args|options|hparams|settings)$")
"""Names of what holds numbers for a whole run: `Normal(noise_kwargs["mean"], noise_kwargs["std"])`."""


def _is_of_the_step(given: ast.expr) -> bool:
    """Whether an expression starts from a variable of the function, and not from what the object was made with.

    A name alone has to be one of a network's output: `Beta(mixup_alpha, mixup_alpha)` takes numbers.
    """
    if isinstance(given, ast.Name):
        return _OUTPUT.search(given.id) is not None
    names = {node.id for node in ast.walk(given) if isinstance(node, ast.Name)}
    return bool(names) and "self" not in names and not any(map(_SETTINGS.search, names))
