"""Classes of other packages that are modules by their names: their `forward` runs every step."""

from __future__ import annotations

from snippets import hot_at


def test_a_module_of_tensordicts():
    code = """
        from tensordict.nn import {base}

        class Loss({base}):
            def forward(self, data):
                return data  # <-
        """
    for base in ("TensorDictModuleBase", "TensorDictModule", "ProbabilisticTensorDictModule"):
        hot = hot_at(code.format(base=base))
        assert hot is not None, base
        assert hot.kind == "forward"
    assert hot_at(code.format(base="TensorDictParams")) is None


def test_what_torch_keeps_for_itself_is_a_module_where_it_is_a_class():
    code = """
        from torch.nn.modules.{place} import {name}

        class Own({name}):
            def forward(self, data):
                return data  # <-
        """
    assert hot_at(code.format(place="batchnorm", name="_BatchNorm")) is not None
    assert hot_at(code.format(place="utils", name="_ntuple")) is None


def test_a_model_of_a_library_that_took_its_names_from_another():
    code = """
        from {module} import {base}

        class Tagger({base}):
            def forward(self, ids, labels=None):
                return ids  # <-
        """
    known = ("BertForTokenClassification", "XLNetForQuestionAnswering", "GPT2LMHeadModel", "BertPreTrainedModel")
    for base in known:
        hot = hot_at(code.format(module="pytorch_transformers", base=base))
        assert hot is not None, base
        assert hot.kind == "forward"
    for base in ("ForwardPipeline", "RecordsForClassifications", "BertTokenizer", "PretrainedConfig"):
        assert hot_at(code.format(module="pytorch_transformers", base=base)) is None, base
    assert hot_at(code.format(module="pydantic.models", base="BertForTokenClassification")) is None


def test_a_base_of_modules_in_a_package_above_a_framework():
    code = """
        from molflux.lightning.module import {base}

        class Featuriser({base}):
            def forward(self, x):
                return x  # <-
        """
    assert hot_at(code.format(base="LightningModuleBase")) is not None
    assert hot_at(code.format(base="LightningDataModuleBase")) is None
