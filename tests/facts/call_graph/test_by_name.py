"""How files take modules and classes by names that are text."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.by_name import Names, builds_by_name, names_taken


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import torch", Names.NONE),
        ("def importance(x): pass", Names.NONE),
        ("m = import_module('nets.unet')", Names.WRITTEN),
        ("m = import_module(f'torchvision.models.{name}')", Names.WRITTEN),
        ("m = importlib.import_module(temp_module_name)\nd = m.__dict__", Names.WRITTEN),
        ("m = importlib.import_module(module.__module__)", Names.WRITTEN),
        ("module, cls = path.rsplit('.', 1)\nc = getattr(import_module(module), cls)", Names.WRITTEN),
        ("net = hydra.utils.instantiate(config.model)", Names.WRITTEN),
        ("config = load_hyperpyyaml(file)", Names.WRITTEN),
        ("m = import_module('models.' + name)\nnet = m.Model()", Names.FILES),
        ("m = import_module(f'models.{name}')\nnet = getattr(m, 'Model')()", Names.FILES),
        ("m = import_module(f'models.{name}')\nnet = getattr(m, name)()", Names.ANY),
        ("m = import_module('models.' + name)\nfor key, cls in m.__dict__.items(): pass", Names.ANY),
        ("name = f.split('.')[0]\nm = import_module('models.' + name)", Names.FILES),
        ("m = __import__('models.' + name)", Names.FILES),
        ("m = __import__('models.unet')", Names.WRITTEN),
        ("spec = importlib.util.spec_from_file_location('a', path)", Names.FILES),
        ("backbone = imp.load_source('backbone', folder + name + '.py')", Names.FILES),
        ("settings = imp.load_source(name, file)", Names.NONE),  # as yacs reads its files
        ("net = getattr(importlib.import_module('models.' + name), name)()", Names.ANY),
    ],
)
def test_what_a_file_may_take(text, names):
    assert names_taken(text) is names
    assert builds_by_name(text) is (names is not Names.NONE)


def test_a_folder_of_the_project_is_no_library():
    text = "m = import_module('datasets.' + name)"
    assert names_taken(text) is Names.WRITTEN
    assert names_taken(text, frozenset({"datasets"})) is Names.FILES
