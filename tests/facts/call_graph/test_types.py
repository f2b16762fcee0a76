"""Which class or function a chain denotes: imports, bindings, attributes, what functions return."""

from __future__ import annotations

import pytest
from snippets import texts, value_of

from torchperf_lint.facts.call_graph.chain_parts import split
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.module_names import is_module_name
from torchperf_lint.facts.files.project import Project


def project_of(files):
    return Project.of_texts(texts(files))


def function_of(project, qualname, path="a.py"):
    return next(i for i, f in enumerate(project.index.outlines[path].functions) if f.qualname == qualname)


def named(project, thing):
    if thing is None or thing.kind == "external":
        return thing and thing.dotted
    if thing.kind == "module":
        return f"module {thing.path}"
    outline = project.index.outlines[thing.path]
    records = outline.functions if thing.kind == "function" else outline.classes
    return f"{thing.kind} {records[thing.index].qualname}"


CODE = """
    from torch.optim import AdamW as Best
    import tools

    class Inner(nn.Module):
        def forward(self, x):
            return tools.Box()

    class Net(nn.Module):
        kind = "net"

        def __init__(self, width: int, box: tools.Box):
            super().__init__()
            self.inner = Inner()
            self.box = box
            self.linear = nn.Linear(width, width)
            self.layers = nn.ModuleList()
            self.adam = Best(self.parameters())
            self.pair, self.rest = make_pair()

        def late(self):
            self.late_box = tools.Box()

        @property
        def first(self):
            return self.inner

        @classmethod
        def build(cls):
            return cls(3)

        @staticmethod
        def plain(self):
            return self

        def run(self, x, net: "Net", box: tools.Box | None = None):
            mine = self
            here = torch.zeros(3)
            copied = here
            loop_a = loop_b
            loop_b = loop_a

            def helper():
                return box

            return helper()

    def make():
        return Net(3)

    def make_twice():
        return make()

    def either(p):
        if p:
            return Net(3)
        return Inner()

    def endless():
        return endless()

    net = make()
    other = tools.make_box
    """
TOOLS = """
    class Box:
        def open(self):
            return 1

        def __call__(self, x):
            return self.open()

    def make_box():
        return Box()
    """


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("self", "instance Net"),
        ("mine", "instance Net"),
        ("self.inner", "instance Inner"),
        ("self.first", "instance Inner"),
        ("self.box", "instance Box"),
        ("self.late_box", "instance Box"),
        ("self.linear", "torch.nn.Linear()"),
        ("self.linear.weight", "torch.nn.Linear().weight"),
        ("self.adam", "torch.optim.AdamW()"),
        ("self.adam.step", "torch.optim.AdamW().step"),
        ("self.run", "function Net.run"),
        ("self.inner()", "instance Box"),
        ("self.inner().open", "function Box.open"),
        ("self.missing", "torch.nn.Module().missing"),
        ("net", "instance Net"),
        ("net.inner", "instance Inner"),
        ("box", "instance Box"),
        ("box.open", "function Box.open"),
        ("box()", None),
        ("x", None),
        ("x.y", None),
        ("here", "torch.zeros()"),
        ("copied", "torch.zeros()"),
        ("loop_a", None),
        ("helper", "function Net.run.helper"),
        ("make", "function make"),
        ("make()", "instance Net"),
        ("make_twice()", "instance Net"),
        ("make().inner", "instance Inner"),
        ("endless()", None),
        ("Net", "class Net"),
        ("Net()", "instance Net"),
        ("Net.build", "function Net.build"),
        ("tools", "module tools.py"),
        ("tools.Box", "class Box"),
        ("tools.Box()", "instance Box"),
        ("tools.make_box()", "instance Box"),
        ("tools.nn", "torch.nn"),
        ("other", "function make_box"),
        ("other()", "instance Box"),
        ("torch", "torch"),
        ("torch.nn.functional.relu", "torch.nn.functional.relu"),
        ("F.relu", "torch.nn.functional.relu"),
        ("nn.Linear", "torch.nn.Linear"),
        ("np.zeros()", "numpy.zeros()"),
        ("len", "builtins.len"),
        ("unheard", None),
        ("", None),
        ("?.x", None),
    ],
)
def test_what_a_chain_denotes(chain, expected):
    project = project_of({"tools.py": TOOLS, "a.py": CODE})
    found = project.types.thing("a.py", function_of(project, "Net.run"), chain)
    assert named(project, found) == expected


def test_every_possible_answer_comes_back():
    project = project_of({"tools.py": TOOLS, "a.py": CODE})
    found = [named(project, thing) for thing in project.types.things("a.py", 0, "either()")]
    assert sorted(found) == ["instance Inner", "instance Net"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("transformers.AutoModel.from_pretrained(name)", "transformers.AutoModel()"),
        ("peft.PeftModel.from_pretrained(base, name)", "peft.PeftModel()"),
        ("Own.from_pretrained(name)", "instance Own"),
        ("diffusers.UNet2DConditionModel.from_config(config)", "diffusers.UNet2DConditionModel()"),
        ("diffusers.DDPMScheduler.from_pretrained(name)", "diffusers.DDPMScheduler.from_pretrained()"),
        ("transformers.AutoTokenizer.from_pretrained(name)", "transformers.AutoTokenizer.from_pretrained()"),
        ("Loaded.from_pretrained(name)", None),
        ("transformers.AutoModel.from_pretrained(name).to(device).eval()", "transformers.AutoModel()"),
        ("Own().cuda()", "instance Own"),
    ],
)
def test_a_model_that_is_loaded_is_one_of_its_class(made, expected):
    code = f"""
        import diffusers, peft, transformers

        class Own(transformers.PreTrainedModel):
            pass

        class Loaded(transformers.PreTrainedModel):
            @classmethod
            def from_pretrained(cls, name):
                return read(name)

        model = {made}
    """
    project = project_of(code)
    assert named(project, project.types.thing("a.py", 0, "model")) == expected


def test_self_is_the_class_in_a_classmethod_and_nothing_in_a_staticmethod():
    project = project_of({"tools.py": TOOLS, "a.py": CODE})
    build, plain = function_of(project, "Net.build"), function_of(project, "Net.plain")
    assert named(project, project.types.thing("a.py", build, "cls")) == "class Net"
    assert named(project, project.types.thing("a.py", plain, "self")) is None


CALLS = """
    class Base:
        def __init__(self):
            pass

        def run(self, x):
            self.step(x)
            super().run(x)
            self.net(x)
            self.net.forward(x)
            self.call(x)
            Base()
            helper(x)

        def step(self, x):
            pass

    class Child(Base):
        def __init__(self):
            super().__init__()
            self.net = Net()
            self.call = Callable()

        def run(self, x):
            super().run(x)

        def step(self, x):
            pass

    class Net(nn.Module):
        def forward(self, x):
            pass

    class Callable:
        def __call__(self, x):
            pass

    def helper(x):
        pass
    """


@pytest.mark.parametrize(
    ("function", "callee", "expected"),
    [
        ("Base.run", "self.step", ["Base.step", "Child.step"]),
        ("Child.run", "self.step", ["Child.step"]),
        ("Child.run", "super().run", ["Base.run"]),
        ("Child.__init__", "super().__init__", ["Base.__init__"]),
        ("Base.run", "super().run", []),
        ("Child.run", "self.net", ["Net.forward"]),
        ("Child.run", "self.net.forward", ["Net.forward"]),
        ("Child.run", "self.call", ["Callable.__call__"]),
        ("Base.run", "Base", ["Base.__init__"]),
        ("Base.run", "helper", ["helper"]),
        ("Base.run", "unheard", []),
        ("Base.run", "torch.zeros", []),
    ],
)
def test_what_a_call_may_run(function, callee, expected):
    project = project_of(CALLS)
    found = project.types.targets("a.py", function_of(project, function), callee)
    assert [project.index.function(key).qualname for key in found] == expected
    assert all(isinstance(key, FunctionKey) for key in found)


@pytest.mark.parametrize(
    ("dotted", "expected"),
    [
        ("torch.nn.Linear", True),
        ("torch.nn.modules.conv.Conv2d", True),
        ("torch.nn.Module", True),
        ("lightning.LightningModule", True),
        ("transformers.PreTrainedModel", True),
        ("transformers.BertForMaskedLM", True),
        ("transformers.modeling_utils.PreTrainedModel", True),
        ("transformers.models.bert.modeling_bert.BertPreTrainedModel", True),
        ("transformers.models.gemma2.modeling_gemma2.Gemma2DecoderLayer", True),
        ("transformers.models.clip.modeling_clip.CLIPTextModelOutput", False),
        ("transformers.models.gemma2.modeling_gemma2.rotate_half", False),
        ("transformers.modeling_outputs.BaseModelOutput", False),
        ("torchvision.models.resnet.ResNet", True),
        ("diffusers.models.modeling_utils.ModelMixin", True),
        ("diffusers.UNet2DConditionModel", True),
        ("diffusers.schedulers.scheduling_utils.SchedulerMixin", False),
        ("diffusers.configuration_utils.ConfigMixin", False),
        ("diffusers.DDIMScheduler", False),
        ("torch.nn.Parameter", False),
        ("torch.nn.functional.relu", False),
        ("torch.nn.init.normal_", False),
        ("torch.Tensor", False),
        ("transformers.AutoTokenizer", False),
        ("numpy.ndarray", False),
    ],
)
def test_which_external_classes_are_modules(dotted, expected):
    assert is_module_name(dotted) is expected


@pytest.mark.parametrize(
    ("chain", "head", "parts"),
    [
        ("a", "a", []),
        ("a.b().c[k]", "a", [".b", "()", ".c", "[k]"]),
        ("a[]()", "a", ["[]", "()"]),
        ("super().f", "super", ["()", ".f"]),
    ],
)
def test_a_chain_splits_into_its_parts(chain, head, parts):
    assert split(chain) == (head, tuple(parts))


def test_an_answer_does_not_depend_on_who_asked_first():
    questions = ["loop_b", "loop_a", "self.inner()", "make_twice()", "endless()"]
    one = project_of({"tools.py": TOOLS, "a.py": CODE})
    other = project_of({"tools.py": TOOLS, "a.py": CODE})
    here = function_of(one, "Net.run")
    forwards = [one.types.things("a.py", here, chain) for chain in questions]
    backwards = [other.types.things("a.py", here, chain) for chain in reversed(questions)]
    assert forwards == backwards[::-1]


@pytest.mark.parametrize(
    ("given", "expected"),
    [("super().to(device)", ["instance Own"]), ("super(Own, self).to(device)", ["instance Own"]), ("self.mean", [])],
)
def test_a_module_that_moves_more_gives_itself(given, expected):
    text = f"""
        class Own(nn.Module):
            def forward(self, x):
                return x

            def to(self, device):
                self.mean = self.mean.to(device)
                return {given}

        class User:
            def __init__(self, device):
                self.net = Own().to(device)

            def run(self):
                self.net
        """
    project = project_of({"a.py": text})
    found = project.types.things("a.py", function_of(project, "User.run"), "self.net")
    assert [named(project, thing) for thing in found if thing.kind == "instance"] == expected


@pytest.mark.parametrize(("base", "expected"), [("torchmetrics.Metric", "Errors.update"), ("Plain", None)])
def test_a_metric_that_is_called_updates(base, expected):
    project = project_of(f"""
        import torchmetrics

        class Errors({base}):
            def update(self, preds, target):
                pass

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.errors = Errors()

            def validation_step(self, batch):
                self.errors(*batch)
    """)
    found = project.types.targets("a.py", function_of(project, "Net.validation_step"), "self.errors")
    assert [project.index.function(key).qualname for key in found] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("returned", "expected"),
    [("loader, net", ["instance Net"]), ("net, loader", ["torch.utils.data.DataLoader()"]), ("[loader, net]", [])],
)
def test_the_parts_of_what_a_function_gives_back(returned, expected):
    project = project_of(f"""
        class Net(nn.Module):
            pass

        def build(data):
            loader = DataLoader(data)
            net = Net()
            return {returned}

        def run(data):
            first, second = build(data)
    """)
    found = project.types.things("a.py", function_of(project, "run"), "second")
    assert [named(project, thing) for thing in found] == expected


def test_a_parameter_gets_one_of_the_objects_that_are_made_side_by_side():
    project = project_of("""
        class Memory:
            def sample(self):
                return 1

        class Agent:
            def update(self, memory):
                return memory.sample()

        def train(settings):
            count, agent, memory = len(settings), Agent(), Memory()
            agent.update(memory)
    """)
    found = project.types.things("a.py", function_of(project, "Agent.update"), "memory")
    assert [named(project, thing) for thing in found] == ["instance Memory"]


OWNED = """
    import threading

    class Scene:
        pass

    class Worker:
        def __init__(self, scene=None):
            self.scene = {own}

        def run(self):
            return self.scene

    class Run:
        def __init__(self, scene):
            self.scene = Scene()
            self.worker = Worker()
            self.worker.scene = {given}
"""


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [
        ("None", "self.scene", ["instance Scene"]),
        ("None", "Scene()", ["instance Scene"]),
        ("None", "scene", []),
        ("scene", "Scene()", []),
    ],
)
def test_what_an_owner_makes_an_attribute_that_its_class_leaves_open(own, given, expected):
    project = project_of(OWNED.format(own=own, given=given))
    found = project.types.things("a.py", function_of(project, "Worker.run"), "self.scene")
    assert [named(project, thing) for thing in found] == expected


@pytest.mark.parametrize("base", ["", "(threading.Thread)"])
def test_an_owner_says_what_value_an_attribute_has(base):
    made = "def __init__(self):\n            self.radii = torch.zeros(9, device='cuda')"
    snippet = OWNED.format(own="None", given="self.scene").replace("pass", made)
    asked = snippet.replace("return self.scene", "return self.scene.radii").replace("Worker:", f"Worker{base}:")
    assert value_of(asked, "self.scene.radii").kind == "tensor"
