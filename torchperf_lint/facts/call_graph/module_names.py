"""What libraries' classes are modules, by their dotted names."""

from __future__ import annotations

from torchperf_lint.patterns import pattern

_MODULES = pattern(
    r"^torch\.nn\.(?:modules\.\w+\.)?_?[A-Z]\w*$|^lightning\.LightningModule$|^transformers\.\w*(?:PreTrainedModel|Model|For\w+)$"
    r"|^transformers\.modeling_utils\.PreTrainedModel$|^peft\.Peft\w*Model\w*$"
    r"|^transformers\.models\.(?:\w+\.)*modeling_\w+\.[A-Z]\w*(?<!Output)(?<!Outputs)(?<!Config)(?<!Cache)(?<!Kwargs)$"
    r"|^diffusers\.[\w.]*[A-Z]\w*(?<!SchedulerMixin)(?<!ConfigMixin)(?<!LoaderMixin)(?<!Scheduler)(?<!Output)$"
    r"|^(?:timm|kornia|segmentation_models_pytorch|monai|torchvision\.models)\.[\w.]*[A-Z]\w*$|^torch_geometric\.nn\.[\w.]+$"
    r"|^tensordict\.nn\.(?:\w+\.)?\w*TensorDict(?:Module|Sequential)\w*(?<!Config)$"
    r"|^(?:composer\.models|mmengine\.model|mmcv\.(?:runner|cnn)|mm(?:det|seg|cls|pretrain|pose|action|det3d)\.models|"
    r"detectron2\.modeling|fairseq\.(?:models|modules|criterions)|speechbrain\.(?:nnet|lobes)|torchtune\.modules|"
    r"nerfstudio\.(?:models|fields|field_components|model_components))\.[\w.]*[A-Z]\w*(?<!Config)(?<!Outputs)(?<!Output)$"
)
MODULE_BY_NAME = pattern(
    r"^(?!torch\.|lightning\.|pydantic\.|builtins\.).*\.\w*(?:Criterion|Loss|(?<!Data)Module(?:Base)?|Layer|Head|Encoder|Decoder|Backbone|Network"
    r"|Pre[Tt]rainedModel|LMHeadModel|For(?:\w+Classification|\w+LM|QuestionAnswering|MultipleChoice|PreTraining|\w+Generation))$"
)
LOADED = pattern(r"^(?:transformers|peft)\.|^diffusers\.[\w.]*[A-Z]\w*Model$|^diffusers\.[\w.]*Autoencoder\w*$")
"""Classes of libraries whose models are loaded by a class method; pipelines and schedulers are no modules."""
_NOT_MODULES = frozenset(
    f"torch.nn.{name}"
    for name in "Parameter ParameterList ParameterDict UninitializedParameter Buffer UninitializedBuffer".split()
)


def is_module_name(dotted: str) -> bool:
    """Whether an external class is a module: everything capitalised in torch.nn, and frameworks' own."""
    return bool(_MODULES.match(dotted)) and dotted not in _NOT_MODULES
