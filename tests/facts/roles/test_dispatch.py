"""What runs without a call that names it: hooks, handlers, tables of functions, passed functions, properties."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import hot_at, value_of

LOOP = """
    def train(model, loader, optimizer{more}):
        for step, (x, y) in enumerate(loader):
            loss = F.cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
            {block}
    """

BUS = """
        class Bus:
            def __init__(self):
                self.handlers = {{}}

            def subscribe(self, event, function):
                self.handlers[event] = function

            def fire(self, event, **given):
                self.handlers[event](**given)

        def listener(loss):
            print(loss)  # <-

        BUS = Bus()
        BUS.subscribe("{event}", listener)
        """


def loop(block, more=""):
    return indent(dedent(LOOP.format(block=block, more=more)), " " * 8)


HOT = {
    "forward hook": """
        def watch(module, inputs, output):
            print(output.mean().item())  # <-

        def install(model):
            model.fc.register_forward_hook(watch)
        """,
    "hook that is made": """
        def install(model):
            def make(name):
                def hook(module, inputs, output):
                    print(name, output)  # <-
                return hook

            model.fc.register_forward_hook(make("fc"))
        """,
    "method as a hook of a gradient": """
        class Net(nn.Module):
            def __init__(self):
                self.fc = nn.Linear(1, 1)
                self.fc.weight.register_hook(self.save_gradient)

            def save_gradient(self, grad):
                self.kept = grad.cpu()  # <-
        """,
    "handler of every iteration": """
        from ignite.engine import Engine, Events

        def create(step):
            trainer = Engine(step)

            @trainer.on(Events.ITERATION_COMPLETED)
            def check(engine):
                torch.cuda.synchronize()  # <-
        """,
    "handler that is added": """
        from ignite.engine import Events

        def create(trainer):
            def check(engine):
                torch.cuda.synchronize()  # <-

            trainer.add_event_handler(Events.ITERATION_COMPLETED, check)
        """,
    "table of functions": """
        def mae(p, y):
            return float(p - y)  # <-

        METRICS = {"mae": mae}
        """
    + loop("for name, fn in METRICS.items(): fn(x, y)"),
    "table by key": """
        def mae(p, y):
            return float(p - y)  # <-

        METRICS = {"mae": mae}
        """
    + loop('METRICS["mae"](x, y)'),
    "list of objects": """
        class Printer:
            def step(self, loss):
                print(loss)  # <-

        HOOKS = [Printer()]
        """
    + loop("for hook in HOOKS: hook.step(loss)"),
    "partial": """
        from functools import partial

        def log(writer, value):
            print(value)  # <-

        LOG = partial(log, None)
        """
    + loop("LOG(loss)"),
    "passed function": """
        def accuracy(p, y):
            return float(p == y)  # <-

        def main(model, loader, optimizer):
            train(model, loader, optimizer, metric=accuracy)
        """
    + loop("metric(x, y)", more=", metric"),
    "default of a parameter": """
        def accuracy(p, y):
            return float(p == y)  # <-
        """
    + loop("metric(x, y)", more=", metric=accuracy"),
    "listed callbacks": """
        from typing import Callable

        def say(loss):
            print(loss)  # <-
        """
    + loop("for callback in callbacks: callback(loss)", more=", callbacks: list[Callable] = (say,)"),
    "method by its name as text": """
        class CacheHook:
            def after_iter(self, runner):
                torch.cuda.empty_cache()  # <-

        class Runner:
            def call(self, name):
                for hook in self.hooks:
                    getattr(hook, name)(self)

            def train(self, loader):
                for batch in loader:
                    self.loss(batch).backward()
                    self.call("after_iter")
        """,
    "one of two functions": """
        def mae(p, y):
            return float(p - y)  # <-

        def mse(p, y):
            return float((p - y) ** 2)

        METRIC = {"mae": mae, "mse": mse}["mae"]
        """
    + loop("METRIC(x, y)"),
    "list of objects that is passed": """
        class Hits:
            def add(self, loss):
                print(loss)  # <-

        def main(model, loader, optimizer):
            train(model, loader, optimizer, [Hits()])
        """
    + loop("for meter in meters: meter.add(loss)", more=", meters"),
    "listener of an event": BUS.format(event="step") + loop('BUS.fire("step", loss=loss)'),
    "property": """
        class Trainer:
            @property
            def current(self):
                return self.loss.item()  # <-

            def train(self, loader):
                for batch in loader:
                    self.loss = self.net(batch)
                    self.loss.backward()
                    print(self.current)
        """,
    "property read into a name like its own": """
        class Trainer(Base):
            def train(self, loader):
                for batch in loader:
                    self.loss = self.net(batch)
                    self.loss.backward()
                    recent_loss = self.recent_loss
                    print(recent_loss)

        class Base:
            @property
            def recent_loss(self):
                return self.loss.item()  # <-
        """,
    "decorator": """
        def freeing(function):
            def wrapper(*args):
                found = function(*args)
                torch.cuda.empty_cache()  # <-
                return found
            return wrapper

        @freeing
        def note(loss):
            print(loss)
        """
    + loop("note(loss)"),
    "parts of a whole": """
        class Sums:
            def batch_ended(self, loss):
                print(loss)  # <-

        class Group:
            def batch_ended(self, loss):
                for part in self.parts:
                    part.batch_ended(loss)
        """
    + loop("callback.batch_ended(loss)", more=", callback: Group"),
}

COLD = {
    "hook that a switch for debugging asks for": """
        def watch(module, inputs, output):
            print(output.mean().item())  # <-

        def install(model, args):
            if args.nan_detect:
                for m in model.modules():
                    m.register_forward_hook(watch)
        """,
    "hook that writes pictures": """
        import cv2

        def watch(module, inputs, output):
            if output.amax() > 0:  # <-
                cv2.imwrite(f"{module.name}.jpg", output.cpu().numpy())

        def install(model):
            for m in model.modules():
                m.register_forward_hook(watch)
        """,
    "handler of every hundredth iteration": """
        from ignite.engine import Events

        def create(trainer):
            @trainer.on(Events.ITERATION_COMPLETED(every=100))
            def check(engine):
                torch.cuda.synchronize()  # <-
        """,
    "handler of epochs": """
        from ignite.engine import Events

        def create(trainer):
            def check(engine):
                torch.cuda.synchronize()  # <-

            trainer.add_event_handler(Events.EPOCH_COMPLETED, check)
        """,
    "table that is called once": """
        def mae(p, y):
            return float(p - y)  # <-

        METRICS = {"mae": mae}

        def report(p, y):
            return {name: fn(p, y) for name, fn in METRICS.items()}
        """,
    "one of several that a helper is given, elsewhere": """
        def apply_to(x, function):
            return function(x)

        def often(x):
            return x

        def once(x):
            return x.item()  # <-

        def report(x):
            return apply_to(x, once)
        """
    + loop("apply_to(loss, often)"),
    "listener of another event": BUS.format(event="epoch") + loop('BUS.fire("step", loss=loss)'),
    "name of a method that nobody looks up": """
        class CacheHook:
            def after_iter(self, runner):
                torch.cuda.empty_cache()  # <-

        class Runner:
            def say(self, name):
                print(name)

            def train(self, loader):
                for batch in loader:
                    self.loss(batch).backward()
                    self.say("after_iter")
        """,
}


@pytest.mark.parametrize("snippet", HOT.values(), ids=HOT.keys())
def test_hot(snippet):
    assert hot_at(snippet) is not None


@pytest.mark.parametrize("snippet", COLD.values(), ids=COLD.keys())
def test_cold(snippet):
    assert hot_at(snippet) is None


def test_a_partial_shifts_what_a_call_passes():
    snippet = """
        from functools import partial

        def log(writer, value):
            return value

        def run(x: torch.Tensor):
            note = partial(log, None)
            note(x)
        """
    assert value_of(snippet, "value").kind == "tensor"


@pytest.mark.parametrize(("passed", "kind"), [("x.sum(), 3", "tensor"), ("3, 4", "plain")])
def test_the_rest_of_the_arguments(passed, kind):
    snippet = f"""
        def add(*args):
            return [b for b in args]

        def run(x: torch.Tensor):
            add({passed})
        """
    assert value_of(snippet, "b").kind == kind


def test_a_hook_is_given_a_tensor():
    snippet = """
        def hook(module, inputs, output):
            return output.cpu()

        def install(model):
            model.fc.register_forward_hook(hook)
        """
    assert value_of(snippet, "output").kind == "tensor"


PARTS = """
class Level:
    def run(self, x):
        return x + torch.arange(3).to(x.device)  # <-

class Pyramid(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.levels = {made}

    def forward(self, x):
        for level in self.levels:
            x = level.run(x)
        return x
"""


@pytest.mark.parametrize(
    "made", ["nn.ModuleList([Level(), Level()])", "nn.ModuleList(Level() for _ in range(3))", "[Level() for _ in x]"]
)
def test_what_a_list_of_parts_is_made_of_runs_with_the_whole(made):
    hot = hot_at(PARTS.format(made=made))
    assert hot is not None
    assert "called at" in hot.because


FILLED = PARTS.replace(
    "        self.levels = {made}\n", "        parts = []\n        parts.append(Level())\n        {made}\n"
)


@pytest.mark.parametrize(
    "made",
    [
        "self.levels = nn.ModuleList(parts)",
        "self.levels = parts",
        "self.levels = []; self.levels.append(Level())",
    ],
)
@pytest.mark.parametrize("loop", ["for level in self.levels", "for level, n in zip(self.levels, sizes)"])
def test_what_a_list_was_filled_with_runs_with_the_whole(made, loop):
    hot = hot_at(FILLED.format(made=made).replace("for level in self.levels", loop))
    assert hot is not None
    assert "called at" in hot.because


LISTENERS = """
class Norms:
    def on_turn(self, loss):
        return loss.item()  # <-

class Loop:
    def __init__(self):
        self.listeners = []

    def register(self, listener):
        self.listeners.append(listener)

    def train(self, loader):
        for batch in loader:
            loss = self.model(batch)
            loss.backward()
            for listener in self.listeners:
                listener.on_turn(loss)

def main(loader):
    loop = Loop()
    norms = Norms()
    loop.register(norms)
    loop.train(loader)
"""


def test_what_an_object_is_handed_to_keep_in_a_list_is_called_by_it():
    code = LISTENERS.replace("on_turn", "turn")  # one word: too common to go by the name alone
    assert hot_at(code) is not None
    assert hot_at(code.replace("loop.register(norms)", "loop.register(make())")) is None


def test_a_list_of_numbers_holds_no_parts():
    found = hot_at(PARTS.format(made="nn.ModuleList([make() for _ in range(3)])"))
    assert found is None or "called at" not in found.because


HANDED = """
class Scaled:
    def reduce(self, t):
        return t.mean().item()  # <-

class Engine:
    def __init__(self, strategy):
        self.strategy = strategy

    def step(self, batch):
        loss = self.model(batch)
        loss.backward()
        return self.strategy.reduce(loss)

def main(loader):
    scaled = Scaled()
    engine = Engine({argument})
    for batch in loader:
        engine.step(batch)
"""


@pytest.mark.parametrize("argument", ["Scaled()", "scaled", "strategy=scaled"])
def test_an_object_that_is_handed_in_is_known_by_who_made_it(argument):
    hot = hot_at(HANDED.format(argument=argument))
    assert hot is not None
    assert hot.kind == "step"


def test_an_object_that_nobody_is_seen_to_make_stays_unknown():
    assert hot_at(HANDED.format(argument="make()")) is None


@pytest.mark.parametrize(
    ("inside", "hot"),
    [
        ("fns = [self._plain] * 2 + [self._hard]\n            return sum(f(x) for f in fns)", True),
        ("return x", False),
    ],
)
def test_a_method_that_is_named_in_a_pass_runs_in_it(inside, hot):
    code = f"""
        class Criterion(nn.Module):
            def __init__(self):
                super().__init__()
                self.kept = self._hard

            def _plain(self, x):
                return x

            def _hard(self, x):
                return x[x > 0.5]  # <-

            def forward(self, x):
                {inside.replace("            return", "                return")}
        """
    assert (hot_at(code) is not None) is hot


def test_hooks_of_optimizers_run_every_optimizer_step():
    hot = hot_at("""
        def watch(optimizer, args, kwargs):
            print(len(args))  # <-

        def install(optimizer):
            optimizer.register_step_post_hook(watch)
    """)
    assert hot is not None
    assert hot.when.startswith("with every optimizer step")
    assert "it runs with every optimizer step" in hot.because
