"""Which lines run often, and the reason in words: loops, guards, roles, calls across files."""

from __future__ import annotations

import pytest
from snippets import hot_at

from torchperf_lint.model import Confidence


def in_step_loop(block, before=""):
    """A training loop whose body ends with a block of lines; `before` stands above the loop."""
    head = f"""\
def train(model, loader, optimizer, device, state, config, log_every=50, size=8, meter=None, trace=False):
{indented(before, 4)}    for step, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    return head + indented(block, 8)


def indented(text, by):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


# -- loops -----------------------------------------------------------------------------------------

STEP_LOOPS = {
    "backward": """
        def train(model, batches):
            for x in batches:
                loss = model(x)
                loss.backward()
                print(loss)  # <-
        """,
    "optimizer.step": """
        def train(model, batches, optimizer):
            for x in batches:
                optimizer.step()
                print(x)  # <-
        """,
    "an optimizer by its class": """
        def train(model, batches):
            sgd = torch.optim.SGD(model.parameters())
            for x in batches:
                sgd.step()
                print(x)  # <-
        """,
    "a while loop": """
        def train(model, batches):
            step = 0
            while step < 100_000:
                model(next(batches)).backward()
                step += 1
                print(step)  # <-
        """,
    "a function that trains": """
        def one_step(model, x, optimizer):
            model(x).backward()
            optimizer.step()

        def train(model, batches, optimizer):
            for x in batches:
                one_step(model, x, optimizer)
                print(x)  # <-
        """,
    "two optimizers of a GAN": """
        def train(generator, discriminator, loader, opt_g, opt_d, device):
            for real in loader:
                real = real.to(device)
                d_loss = discriminator(real).mean()
                opt_d.zero_grad()
                d_loss.backward()
                opt_d.step()
                g_loss = -discriminator(generator(real)).mean()
                opt_g.zero_grad()
                g_loss.backward()
                opt_g.step()
                print(d_loss, g_loss)  # <-
        """,
    "inside `with`": """
        def train(model, batches, scaler):
            for x in batches:
                with torch.autocast("cuda"):
                    loss = model(x)
                    print(loss)  # <-
                scaler.scale(loss).backward()
        """,
}


@pytest.mark.parametrize("code", STEP_LOOPS.values(), ids=STEP_LOOPS)
def test_the_body_of_a_step_loop_is_hot(code):
    hot = hot_at(code)
    assert hot is not None
    assert hot.kind == "step"
    assert hot.depth == 0


def test_the_innermost_loop_with_the_action_is_the_step_loop():
    loops = """
        def train(model, loader, optimizer, epochs):
            for epoch in range(epochs):
                print(epoch)  {outer}
                for x in loader:
                    model(x).backward()
                    optimizer.step()
                    print(x)  {inner}
                print("done")  {after}
        """
    inner = hot_at(loops.format(outer="", inner="# <-", after=""))
    assert inner is not None
    assert "for x in loader" in inner.because
    assert "for epoch in" not in inner.because
    assert hot_at(loops.format(outer="# <-", inner="", after="")) is None
    assert hot_at(loops.format(outer="", inner="", after="# <-")) is None


def test_both_loops_of_gradient_accumulation_are_told_apart():
    loops = """
        def train(model, loader, optimizer, micro, steps):
            for step in range(steps):
                for x in loader.take(micro):
                    loss = model(x) / micro
                    loss.backward()
                    print(loss)  {inner}
                optimizer.step()
                print(step)  {outer}
        """
    inner = hot_at(loops.format(inner="# <-", outer=""))
    outer = hot_at(loops.format(inner="", outer="# <-"))
    assert inner is not None and "for x in loader.take(micro)" in inner.because
    assert outer is not None and "for step in range(steps)" in outer.because


def test_a_loop_inside_the_step_is_hot_by_the_loop_around_it():
    hot = hot_at(in_step_loop("for name, value in state.items():\n    print(name, value)  # <-"))
    assert hot is not None
    assert "for step, (x, y) in enumerate(loader)" in hot.because


EVAL_LOOPS = {
    "no_grad as a decorator": """
        @torch.no_grad()
        def check(model, dataset):
            for x in DataLoader(dataset):
                print(model(x))  # <-
        """,
    "inference_mode around the loop": """
        def check(model, dataset):
            with torch.inference_mode():
                for x in DataLoader(dataset):
                    print(model(x))  # <-
        """,
    "no_grad inside the loop": """
        def check(model, dataset):
            for x in DataLoader(dataset):
                with torch.no_grad():
                    print(model(x))  # <-
        """,
    "model.eval()": """
        def check(model, dataset):
            model.eval()
            for x in DataLoader(dataset):
                print(model(x))  # <-
        """,
    "the name of the function": """
        def evaluate(model, dataset):
            for x in DataLoader(dataset):
                print(model(x))  # <-
        """,
    "the name of the loader": """
        def run(model, val_loader):
            for x in val_loader:
                print(model(x.cuda()))  # <-
        """,
}


@pytest.mark.parametrize("code", EVAL_LOOPS.values(), ids=EVAL_LOOPS)
def test_a_loop_over_a_loader_without_gradients_is_an_evaluation_loop(code):
    hot = hot_at(code)
    assert hot is not None
    assert hot.kind == "eval"


def test_a_loop_that_trains_is_no_evaluation_loop_whatever_its_function_is_called():
    hot = hot_at("""
        def test_time_training(model, test_loader, optimizer):
            for x in test_loader:
                model(x).backward()
                optimizer.step()
                print(x)  # <-
        """)
    assert hot is not None
    assert hot.kind == "step"


LOADER_LOOPS = {
    "a DataLoader": """
        def look(dataset):
            loader = DataLoader(dataset)
            for x in loader:
                print(x)  # <-
        """,
    "a DataLoader in tqdm and enumerate": """
        from tqdm import tqdm

        def look(dataset):
            loader = DataLoader(dataset)
            for i, x in enumerate(tqdm(loader, desc="train")):
                print(x)  # <-
        """,
    "a bar with a name": """
        from tqdm import tqdm

        def look(dataset):
            bar = tqdm(enumerate(DataLoader(dataset)))
            for i, x in bar:
                print(x)  # <-
        """,
    "a bar that is shown at will": """
        from tqdm import tqdm

        def look(model, dataset, verbose):
            loader = DataLoader(dataset)
            bar = tqdm(loader) if verbose else loader
            for i, x in enumerate(bar):
                print(model(x.cuda()))  # <-
        """,
    "a bar on the first process": """
        from tqdm import tqdm

        def look(model, dataset, rank):
            loader = DataLoader(dataset)
            loader = loader if rank else tqdm(loader, desc="look")
            for x in loader:
                print(model(x.cuda()))  # <-
        """,
    "a bar over a loader by its name": """
        from tqdm import tqdm

        def look(model, loader):
            bar = tqdm(loader)
            for x in bar:
                print(model(x.cuda()))  # <-
        """,
    "made by a function that says so": """
        from data import make_loader

        def look(model, dataset):
            batches_of_it = make_loader(dataset)
            for x in batches_of_it:
                print(model(x.cuda()))  # <-
        """,
    "prepared by accelerate": """
        from accelerate import Accelerator

        def look(dataset):
            source = Accelerator().prepare_data_loader(dataset)
            for x in source:
                print(x)  # <-
        """,
    "module level": """
        for x in DataLoader([1, 2]):
            print(x)  # <-
        """,
}


@pytest.mark.parametrize("code", LOADER_LOOPS.values(), ids=LOADER_LOOPS)
def test_a_loop_over_a_loader_that_shows_no_training_is_judged_as_evaluation(code):
    hot = hot_at(code)
    assert hot is not None
    assert hot.kind == "eval"
    assert "every batch" in hot.because
    assert hot.when.startswith("every batch (")


@pytest.mark.parametrize(
    ("function", "loader", "inside"),
    [
        ("train_one_epoch(model, loader)", "loader", "model(x.cuda())"),
        ("run(model, train_loader)", "train_loader", "model(x.cuda())"),
        ("run(model, loader)", "loader", "model.train(); model(x.cuda())"),
        ("run(agent, loader)", "loader", "agent.train_on_batch(x.cuda())"),
        ("run(solver, loader)", "loader", "solver.optimize_parameters(x.cuda())"),
        ("run(model, loader)", "loader", "optimizer.zero_grad(); model(x.cuda())"),
    ],
)
def test_names_that_speak_of_training_make_a_step_loop(function, loader, inside):
    hot = hot_at(f"""
        def {function}:
            for x in {loader}:
                {inside}
                print(x)  # <-
        """)
    assert hot is not None
    assert hot.kind == "step"


def test_a_loop_over_a_bar_is_no_loop_over_the_batch_that_came_from_it():
    assert (
        hot_at("""
        def look(model, loader):
            batch = next(loader)
            for part in batch:
                print(part.cuda())  # <-
        """)
        is None
    )


def test_a_model_that_is_set_back_to_training_is_not_evaluated():
    hot = hot_at("""
        def run(model, dataset):
            model.eval()
            model.train()
            for x in DataLoader(dataset):
                print(model(x))  # <-
        """)
    assert hot is not None
    assert hot.kind == "step"


def test_a_decoding_loop_is_a_rollout():
    decoding = """
        {decorator}
        def generate(net: nn.Linear, tokens, length):
            for _ in range(length):
                tokens = net(tokens)
                print(tokens)  # <-
        """
    hot = hot_at(decoding.format(decorator="@torch.no_grad()"))
    assert hot is not None
    assert (hot.kind, hot.confidence) == ("rollout", Confidence.CERTAIN)
    assert "calls the module `net`" in hot.because
    assert hot_at(decoding.format(decorator="")) is None


@pytest.mark.parametrize(
    ("loader", "confidence"),
    [
        ("DataLoader(dataset)", Confidence.CERTAIN),
        ("dataset.train_loader", Confidence.LIKELY),
    ],
)
def test_a_loader_by_its_name_is_less_sure(loader, confidence):
    hot = hot_at(f"""
        def run(model, dataset):
            loader = {loader}
            for x in loader:
                print(model(x.cuda()))  # <-
        """)
    assert hot is not None
    assert hot.confidence is confidence


@pytest.mark.parametrize(
    ("above", "kind"),
    [("model.eval()", "eval"), ("model.eval(); model.train()", "step"), ("model.train(); model.eval()", "eval")],
)
def test_the_mode_set_last_above_a_loop_says_what_it_is(above, kind):
    hot = hot_at(f"""
        def both(model, loader):
            {above}
            for x in loader:
                print(model(x.cuda()))  # <-
            model.train()
        """)
    assert hot is not None
    assert hot.kind == kind


def test_a_loader_by_its_name_whose_batches_stay_is_only_possible():
    hot = hot_at("""
        def run(model, train_loader):
            for x in train_loader:
                print(model(x))  # <-
        """)
    assert hot is not None
    assert hot.confidence is Confidence.POSSIBLE


COLD_LOOPS = {
    "a loop over anything": "def report(rows):\n    for row in rows:\n        print(row)  # <-",
    "eight turns": "def probe(model, x):\n    for _ in range(8):\n        model(x).backward()\n        print(x)  # <-",
    "a literal list": "def probe(m):\n    for p in [1, 2, 3]:\n        m(p).backward()\n        print(p)  # <-",
    "enumerate of a literal": (
        "def probe(m):\n    for i, p in enumerate((1, 2)):\n        m(p).backward()\n        print(p)  # <-"
    ),
    "after the loop": (
        "def train(m, xs):\n    for x in xs:\n        loss = m(x)\n        loss.backward()\n    print(loss)  # <-"
    ),
    "before the loop": "def train(m, xs):\n    print(xs)  # <-\n    for x in xs:\n        m(x).backward()",
    "for-else": ("def train(m, xs):\n    for x in xs:\n        m(x).backward()\n    else:\n        print('all')  # <-"),
    "the step of a scheduler": (
        "def anneal(scheduler, n):\n    for _ in range(n):\n        scheduler.step()\n        print(n)  # <-"
    ),
    "a loop that always leaves": (
        "def first(dataset):\n    for x in DataLoader(dataset):\n        print(x)  # <-\n        break"
    ),
    "a loop over layers that update themselves": (
        "class Codebook(nn.Module):\n    def forward(self, x):\n        loss = x.sum()\n        loss.backward()\n"
        "        self.optimizer.step()\n\nclass Stack:\n    def __init__(self):\n        self.layers = [Codebook()]\n"
        "    def encode(self, x, masks):\n        for i, (vq, mask) in enumerate(zip(self.layers, masks)):\n"
        "            vq(x)\n            print(x)  # <-"
    ),
    "a loop in a plotting function": (
        "def plot_batches(dataset):\n    for x in DataLoader(dataset):\n        print(x)  # <-"
    ),
    "a loop in a benchmark": (
        "def benchmark(m, xs):\n    for x in xs:\n        m(x).backward()\n        print(x)  # <-"
    ),
    "a loop over models that are measured": (
        "def run_benchmark_suite(m, x):\n    m(x).backward()\n\ndef verify(names, x):\n    for name in names:\n"
        "        run_benchmark_suite(load(name), x)\n        print(name)  # <-"
    ),
    "a loop that asks what a model costs": (
        "def model_profiling(model, size):\n    data = torch.rand(3, size).to(model.device)  # <-\n    model(data)\n\n"
        "def slim(model):\n    model.eval()\n    while True:\n        with torch.no_grad():\n"
        "            cost = model_profiling(model, 3)\n            model(cost)"
    ),
}


@pytest.mark.parametrize("code", COLD_LOOPS.values(), ids=COLD_LOOPS)
def test_code_outside_of_step_loops_is_not_hot(code):
    assert hot_at(code) is None


def test_nine_turns_are_more_than_a_few():
    assert hot_at("def f(m, x):\n    for _ in range(9):\n        m(x).backward()\n        print(x)  # <-") is not None


# -- guards ----------------------------------------------------------------------------------------

GUARDS = {
    "either of two flags": (
        "last = step == total_steps\nshow = every > 0 and step % every == 0\nif last or show:\n    print(loss)  # <-"
    ),
    "a flag or a modulus": "show = step % 10 == 0\nif show or step % 25 == 0:\n    print(loss)  # <-",
    "step % n == 0": "if step % log_every == 0:\n    print(loss)  # <-",
    "not step % n": "if not step % log_every:\n    print(loss)  # <-",
    "not step % n == 0: continue": "if not step % 10 == 0:\n    continue\nprint(loss)  # <-",
    "(step + 1) % n == 0": "if (step + 1) % log_every == 0:\n    print(loss)  # <-",
    "a modulus and more": "if config.verbose_at and step % 10 == 0:\n    print(loss)  # <-",
    "a modulus or the last": "if step % 10 == 0 or step == len(loader) - 1:\n    print(loss)  # <-",
    "else of an unequal modulus": "if step % 10 != 0:\n    pass\nelse:\n    print(loss)  # <-",
    "else of a bare modulus": "if step % 10:\n    pass\nelse:\n    print(loss)  # <-",
    "!= 0: continue": "if step % log_every != 0:\n    continue\nprint(loss)  # <-",
    "a bare modulus: continue": "if step % log_every:\n    continue\nprint(loss)  # <-",
    "not should_log: continue": "if not config.should_log(step):\n    continue\nprint(loss)  # <-",
    "should_log": "if config.should_log(step):\n    print(loss)  # <-",
    "do_log": "if state.do_log:\n    print(loss)  # <-",
    "a name that says how often": "if config.log_interval_reached:\n    print(loss)  # <-",
    "a throttle by time": "if time.time() - state.last > 10:\n    print(loss)  # <-",
    "a throttle by a clock": "if perf_counter() > state.due:\n    print(loss)  # <-",
    "the first step": "if step == 0:\n    print(loss)  # <-",
    "the last step": "if step == len(loader) - 1:\n    print(loss)  # <-",
    "a flag for the last step": "if state.is_last_step:\n    print(loss)  # <-",
    "milestones": "if step in config.milestones:\n    print(loss)  # <-",
    "a debug flag": "if config.debug:\n    print(loss)  # <-",
    "a verbose flag": "if config.verbose:\n    print(loss)  # <-",
    "a dry run": "if config.dry_run and step > 3:\n    print(loss)  # <-",
    "tracing": "if torch.jit.is_tracing():\n    print(loss)  # <-",
    "a memory switch": "if config.cpu_offload:\n    print(loss)  # <-",
    "a cache on the host": "if state.cpu_cache:\n    print(loss)  # <-",
    "another device": 'if x.device.type == "mps":\n    print(loss)  # <-',
    "one of other devices": 'if x.device.type in ("mps", "npu"):\n    print(loss)  # <-',
    "not on cuda": 'if x.device.type != "cpu":\n    pass\nelse:\n    print(loss)  # <-',
    "set up once: len": 'if len(state) == 0:\n    state["m"] = torch.zeros(3)  # <-',
    "set up once: not": 'if not state:\n    state["m"] = torch.zeros(3)  # <-',
    "set up once: not in": 'if "m" not in state:\n    state["m"] = torch.zeros(3)  # <-',
    "set up once: None": "if state.m is None:\n    state.m = torch.zeros(3)  # <-",
    "set up once: None, or of another size": (
        "if state.m is None or state.m.size(0) != size:\n    state.m = torch.zeros(size)  # <-"
    ),
    "a local that the first turn fills": "if best is None:\n    best = print(loss)  # <-",
    "a local that the first turn fills, on one rank": "if rank == 0 and best is None:\n    best = print(loss)  # <-",
    "a periodic flag": "if do_periodic_eval:\n    print(loss)  # <-",
    "set up once: hasattr": 'if not hasattr(state, "m"):\n    state.m = torch.zeros(3)  # <-',
    "except": "try:\n    pass\nexcept RuntimeError:\n    print(loss)  # <-",
    "before raise": "if config.broken:\n    print(loss)  # <-\n    raise RuntimeError",
    "before return": "if config.stopped:\n    print(loss)  # <-\n    return loss",
    "before break": "if config.stopped:\n    print(loss)  # <-\n    break",
    "before sys.exit": "if config.stopped:\n    print(loss)  # <-\n    sys.exit(1)",
    "after assert False": "assert False\nprint(loss)  # <-",
    "a profiler": "with torch.profiler.record(step):\n    print(loss)  # <-",
    "a profiler that is on": "with torch.autograd.profiler.profile(enabled=True):\n    print(loss)  # <-",
    "a profiler of activities": "with torch.profiler.profile(activities):\n    print(loss)  # <-",
    "a class body": "class Result:\n    value = print(loss)  # <-",
    "guarded twice over": "if config.wide:\n    if step % 10 == 0:\n        print(loss)  # <-",
    "a loop in a guard": "if step % 10 == 0:\n    for name in state:\n        print(name)  # <-",
}


@pytest.mark.parametrize("block", GUARDS.values(), ids=GUARDS)
def test_a_guarded_line_is_not_hot(block):
    assert hot_at(in_step_loop(block)) is None


OFTEN = {
    "a flag or anything else": "show = step % 10 == 0\nif show or config.wide:\n    print(loss)  # <-",
    "the other branch of a modulus": "if step % 10 == 0:\n    pass\nelse:\n    print(loss)  # <-",
    "an unequal modulus": "if step % 10 != 0:\n    print(loss)  # <-",
    "a bare modulus": "if step % 10:\n    print(loss)  # <-",
    "a negated modulus": "if not step % 10 == 0:\n    print(loss)  # <-",
    "not step % n: continue": "if not step % 10:\n    continue\nprint(loss)  # <-",
    "after a guarded block": "if step % 10 == 0:\n    pass\nprint(loss)  # <-",
    "== 0: continue": "if step % 10 == 0:\n    continue\nprint(loss)  # <-",
    "a profiler with a switch": "with torch.autograd.profiler.profile(args.profiled):\n    print(loss)  # <-",
    "a profiler that may be on": "with profiler.profile(enabled=args.profiled):\n    print(loss)  # <-",
    "a modulus or anything": "if step % 10 == 0 or config.wide:\n    print(loss)  # <-",
    "not debug": "if not config.debug:\n    print(loss)  # <-",
    "any test": "if config.wide:\n    print(loss)  # <-",
    "the other device": 'if x.device.type != "cpu":\n    print(loss)  # <-',
    "cuda": 'if x.device.type == "cuda":\n    print(loss)  # <-',
    "text formatted with %": 'if "%d" % step == config.name:\n    print(loss)  # <-',
    "a local that each turn empties": "if best is None:\n    best = print(loss)  # <-\nbest = None",
    "a local that starts as None, or anything": "if best is None or config.wide:\n    best = print(loss)  # <-",
    "what is missing stays missing": 'if len(state) == 0:\n    config["m"] = print(loss)  # <-',
    "try": "try:\n    print(loss)  # <-\nexcept RuntimeError:\n    pass",
    "finally": "try:\n    pass\nfinally:\n    print(loss)  # <-",
    "a loop in the step that is left": "for name in state:\n    print(name)  # <-\n    if name:\n        break",
    "the elif of a modulus": "if step % 10 == 0:\n    pass\nelif config.wide:\n    print(loss)  # <-",
    "a match case": "match config.mode:\n    case 1:\n        print(loss)  # <-",
}


@pytest.mark.parametrize("block", OFTEN.values(), ids=OFTEN)
def test_a_line_that_runs_on_most_turns_stays_hot(block):
    assert hot_at(in_step_loop(block)) is not None


def test_a_break_in_an_inner_loop_leaves_only_that_loop():
    """The code before the break runs once a step."""
    hot = hot_at(
        in_step_loop("for name in state:\n    if name == config.name:\n        print(name)  # <-\n        break")
    )
    assert hot is not None


def test_a_return_in_an_inner_loop_leaves_the_step_loop_too():
    block = "for name in state:\n    if name == config.name:\n        print(name)  # <-\n        return loss"
    assert hot_at(in_step_loop(block)) is None


@pytest.mark.parametrize(
    ("value", "hot"),
    [
        ("print(loss)  # <-\n    if step % 10 == 0\n    else None", False),
        ("print(loss)  # <-\n    if config.wide\n    else None", True),
        ("0\n    if not config.debug\n    else\n    print(loss)  # <-", False),
        ("0\n    if config.debug\n    else\n    print(loss)  # <-", True),
    ],
)
def test_a_conditional_expression_guards_too(value, hot):
    assert (hot_at(in_step_loop(f"value = (\n    {value}\n)")) is not None) is hot


@pytest.mark.parametrize(
    ("block", "optional"),
    [
        ("if meter is not None:\n    print(loss)  # <-", True),
        ("if meter:\n    print(loss)  # <-", True),
        ("if trace:\n    print(loss)  # <-", True),
        ("if meter and config.wide:\n    print(loss)  # <-", True),
        ("if size:\n    print(loss)  # <-", False),
        ("if config:\n    print(loss)  # <-", False),
        ("if meter is None:\n    print(loss)  # <-", False),
        ("print(loss)  # <-", False),
    ],
)
def test_a_branch_behind_a_parameter_that_is_off_by_default_is_optional(block, optional):
    hot = hot_at(in_step_loop(block))
    assert hot is not None
    assert hot.optional is optional


# -- functions -------------------------------------------------------------------------------------

ROLES = {
    "forward of a module": ("forward", "class Net(nn.Module):\n    def forward(self, x):\n        print(x)  # <-"),
    "forward of an indirect module": (
        "forward",
        "class Base(nn.Module):\n    pass\n\nclass Net(Base):\n    def forward(self, x):\n        print(x)  # <-",
    ),
    "training_step": ("step", "class Task:\n    def training_step(self, batch):\n        print(batch)  # <-"),
    "validation_step": ("eval", "class Task:\n    def validation_step(self, batch):\n        print(batch)  # <-"),
    "test_step": ("eval", "class Task:\n    def test_step(self, batch, batch_idx):\n        print(batch)  # <-"),
    "compute_loss": ("step", "class Task:\n    def compute_loss(self, batch):\n        print(batch)  # <-"),
    "a loss function": ("step", "def focal_loss(logits, y):\n    print(logits)  # <-"),
    "collate_fn": ("data", "def collate_fn(rows):\n    print(rows)  # <-"),
    "__getitem__ of a data set": (
        "data",
        "class Rows(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        print(i)  # <-",
    ),
    "step of an optimizer": (
        "update",
        "class Lion(torch.optim.Optimizer):\n    def step(self):\n        print(self)  # <-",
    ),
    "update of a meter": ("update", "class LossMeter:\n    def update(self, value):\n        print(value)  # <-"),
    "an autograd function": (
        "forward",
        "class Sign(torch.autograd.Function):\n    @staticmethod\n    def backward(ctx, g):\n        print(g)  # <-",
    ),
    "a function that trains without a loop": (
        "step",
        "def learn(model, x, optimizer):\n    loss = model(x)\n    loss.backward()\n    print(loss)  # <-",
    ),
}


@pytest.mark.parametrize(("kind", "code"), ROLES.values(), ids=ROLES)
def test_a_function_that_somebody_calls_per_step_is_hot(kind, code):
    hot = hot_at(code)
    assert hot is not None
    assert hot.kind == kind


COLD_FUNCTIONS = {
    "a test of a step": "class TestOptimizer:\n    def test_step(self):\n        print(self)  # <-",
    "a check of a pass": "def validate_backward_pass(model, x):\n    model(x).backward()\n    print(x)  # <-",
    "the constructor of a module": "class Net(nn.Module):\n    def __init__(self, x):\n        print(x)  # <-",
    "a method nobody calls": "class Net(nn.Module):\n    def sizes(self, x):\n        print(x)  # <-",
    "forward of no module": "class Player:\n    def forward(self, x):\n        print(x)  # <-",
    "update of no meter": "class Config:\n    def update(self, x):\n        print(x)  # <-",
    "step of no optimizer": "class Env:\n    def step(self, x):\n        print(x)  # <-",
    "a loss without gradients": "@torch.no_grad()\ndef val_loss(x):\n    print(x)  # <-",
    "after the guard in forward": (
        "class Net(nn.Module):\n    def forward(self, x):\n        if self.debug:\n            print(x)  # <-"
    ),
    "a module's repr": "class Net(nn.Module):\n    def extra_repr(self):\n        return str(self)  # <-",
}


@pytest.mark.parametrize("code", COLD_FUNCTIONS.values(), ids=COLD_FUNCTIONS)
def test_other_functions_are_not_hot(code):
    assert hot_at(code) is None


TRAIN = """
    from helpers import measure

    def train(model, loader, optimizer):
        for x in loader:
            loss = model(x)
            loss.backward()
            optimizer.step()
            measure(loss)
    """


def test_a_function_called_from_a_loop_in_another_file_is_hot_and_the_reason_names_the_loop():
    hot = hot_at({"helpers.py": "def measure(loss):\n    print(loss)  # <-", "train.py": TRAIN})
    assert hot is not None
    assert (hot.kind, hot.depth, hot.path) == ("step", 1, "train.py")
    assert "for x in loader" in hot.because
    assert f"train.py:{hot.line}" in hot.because
    assert f"train.py:{hot.line}" in hot.when


def test_the_reason_names_places_of_the_readers_own_file_by_line_only():
    hot = hot_at("""
        def measure(loss):
            print(loss)  # <-

        def train(model, loader):
            for x in loader:
                model(x).backward()
                measure(x)
        """)
    assert hot is not None
    assert f"line {hot.line}" in hot.because
    assert "a.py" not in hot.because


def test_hotness_passes_on_through_calls_and_tells_the_way():
    hot = hot_at(
        {
            "deep.py": "def show(loss):\n    print(loss)  # <-",
            "helpers.py": "from deep import show\n\ndef measure(loss):\n    show(loss)",
            "train.py": TRAIN,
        }
    )
    assert hot is not None
    assert hot.depth == 2
    assert "by `measure`" in hot.because
    assert "helpers.py:" in hot.because
    assert "for x in loader" in hot.because


NOT_PASSED_ON = {
    "behind a guard": "def measure(loss, step=0):\n    if step % 10 == 0:\n        show(loss)",
    "by a cold name": "def save_checkpoint(loss):\n    show(loss)\n\nmeasure = None",
    "in a handler": "def measure(loss):\n    try:\n        pass\n    except ValueError:\n        show(loss)",
    "never": "def measure(loss):\n    pass\n\ndef other(loss):\n    show(loss)",
}


@pytest.mark.parametrize("caller", NOT_PASSED_ON.values(), ids=NOT_PASSED_ON)
def test_hotness_is_not_passed_on(caller):
    code = {
        "deep.py": "def show(loss):\n    print(loss)  # <-",
        "helpers.py": f"from deep import show\n\n{caller}",
        "train.py": TRAIN,
    }
    assert hot_at(code) is None


@pytest.mark.parametrize("decorator", ["triton.jit", "T.prim_func", "cute.kernel", "numba.njit()", "wp.kernel"])
def test_what_is_compiled_for_the_device_is_not_hot_though_every_step_calls_it(decorator):
    code = {"helpers.py": "{}def measure(loss):\n    print(loss)  # <-", "train.py": TRAIN}
    kernel = {**code, "helpers.py": code["helpers.py"].format(f"@{decorator}\n")}
    scripted = {**code, "helpers.py": code["helpers.py"].format("@torch.jit.script\n")}
    assert hot_at(kernel) is None
    assert hot_at(scripted) is not None


def test_a_guarded_call_does_not_make_its_function_hot():
    guarded = TRAIN.replace(
        "            measure(loss)", "            if x.step % 10 == 0:\n                measure(loss)"
    )
    assert guarded != TRAIN
    assert hot_at({"helpers.py": "def measure(loss):\n    print(loss)  # <-", "train.py": guarded}) is None


@pytest.mark.parametrize("name", ["save_checkpoint", "data_aware_initialization", "_draw_marker", "draw_pred_boxes"])
def test_a_cold_name_stays_cold_when_called_every_step(name):
    code = TRAIN.replace("measure", name)
    assert hot_at({"helpers.py": f"def {name}(loss):\n    print(loss)  # <-", "train.py": code}) is None


def test_merging_of_adapters_is_not_hot_though_forward_calls_it():
    assert (
        hot_at("""
        class Lora(nn.Module):
            def unmerge(self):
                print(self)  # <-

            def forward(self, x):
                if self.merged:
                    self.unmerge()
                return x
        """)
        is None
    )


def test_a_training_loop_explains_more_than_an_evaluation_loop():
    hot = hot_at("""
        def measure(loss):
            print(loss)  # <-

        def evaluate(model, dataset):
            for x in DataLoader(dataset):
                measure(x)

        def train(model, xs):
            for x in xs:
                model(x).backward()
                measure(x)
        """)
    assert hot is not None
    assert hot.kind == "step"


def test_overrides_of_a_called_method_are_hot():
    hot = hot_at("""
        class Base:
            def advance(self, x):
                raise NotImplementedError

        class Child(Base):
            def advance(self, x):
                print(x)  # <-

        class Trainer:
            def __init__(self):
                self.agent = Base()

            def run(self, xs):
                for x in xs:
                    x.backward()
                    self.agent.advance(x)
        """)
    assert hot is not None
    assert hot.depth == 1


def test_a_submodule_called_by_forward_is_hot():
    hot = hot_at("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = Inner()

            def forward(self, x):
                return self.inner.attend(x)

        class Inner:
            def attend(self, x):
                print(x)  # <-
        """)
    assert hot is not None
    assert (hot.kind, hot.depth) == ("forward", 1)


def test_recursion_ends():
    hot = hot_at("""
        def walk(x):
            print(x)  # <-
            walk(x)
            step(x)

        def step(x):
            walk(x)

        def train(xs):
            for x in xs:
                x.backward()
                step(x)
        """)
    assert hot is not None
    assert hot.depth == 2


def test_a_comprehension_inside_the_step_is_as_hot_as_the_step():
    hot = hot_at(in_step_loop("values = [\n    print(v)  # <-\n    for v in state\n]"))
    assert hot is not None
    assert "enumerate(loader)" in hot.because


@pytest.mark.parametrize(
    ("head", "hot"),
    [
        ("for i in range(len(dataset)):", True),
        ("for i in range(rank, len(self.val_dataset), world):", True),
        ("for sample in tqdm(dataset):", True),
        ("for i, sample in enumerate(self.dataset):", True),
        ("for name in datasets:", False),
        ("for name in dataset.names:", False),
        ("for i in range(len(names)):", False),
    ],
)
def test_a_loop_over_a_data_set_that_runs_a_model_without_gradients(head, hot):
    found = hot_at(f"""
        class Model:
            def restore(self, x):
                with torch.no_grad():
                    return self.net(x)

            def go_through(self, dataset, datasets, names, rank, world):
                {head}
                    self.restore(names)
                    x = 1  # <-
        """)
    assert (found is not None) is hot
    assert found is None or found.kind == "eval"


MADE_IN_FORWARD = """
    class Mask{bases}:
        def __init__(self, n):
            self.mask = torch.ones(n)  # <-

    class Net(nn.Module):
        def forward(self, x):
            return x + {made}
    """


@pytest.mark.parametrize(
    ("bases", "made", "hot"),
    [
        ("", "Mask(3).mask", True),
        ("(torch.distributions.Distribution)", "Mask(3).mask", True),
        ("(nn.Module)", "Mask(3).mask", False),
        ("(torch.utils.data.Dataset)", "Mask(3).mask", False),
        ("", "self.kept", False),
    ],
)
def test_a_helper_object_made_in_hot_code_is_constructed_every_step(bases, made, hot):
    assert (hot_at(MADE_IN_FORWARD.format(bases=bases, made=made)) is not None) is hot


@pytest.mark.parametrize(
    ("name", "action", "hot"),
    [
        ("warmup_actor", "self.optim.step()", True),
        ("warmup_actor", "print()", False),
        ("warmup", "self.optim.step()", False),
    ],
)
def test_a_warm_up_that_trains_is_a_step(name, action, hot):
    code = f"""
        class Agent:
            def {name}(self, batch):
                {action}  # <-
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize("name", ["test_overflow", "convert_boxes", "from_corners"])
def test_a_function_that_hot_code_calls_is_hot_whatever_its_name_suggests(name):
    code = f"""
        def {name}(x):
            return x + 1  # <-

        class Net(nn.Module):
            def forward(self, x):
                return {{call}}
        """
    assert hot_at(code.format(call=f"{name}(x)")) is not None
    assert hot_at(code.format(call="x")) is None


@pytest.mark.parametrize(
    ("function", "target", "call", "hot"),
    [
        ("run_single_epoch", "batch", "step_fn(batch)", True),
        ("train", "(i, batch)", "train_step(batch)", True),
        ("evaluate", "batch", "self.eval_step(batch)", True),
        ("train", "item", "step_fn(item)", False),
        ("train", "batch", "print(batch)", False),
        ("collect", "batch", "step_fn(batch)", False),
    ],
)
def test_a_loop_that_hands_each_batch_to_a_step_is_hot_whatever_it_iterates(function, target, call, hot):
    code = f"""
        def {function}(self, iterator, step_fn):
            for {target} in iterator:
                {call}  # <-
        """
    found = hot_at(code)
    assert (found is not None) is hot
    assert found is None or found.confidence is Confidence.LIKELY


SAMPLER = """
class Sampler:
    def __init__(self, model: nn.Module):
        self.model = model

    def step(self, x, t):
        mean = {inner}
        return mean

    def mean(self, x, t):
        return self.model(x, t)

    {decorator}
    def sample(self, x, steps):
        for t in reversed(range(steps)):
            x = self.step(x, t)
            print(x)  # <-
        return x
"""


@pytest.mark.parametrize(
    ("inner", "decorator", "hot"),
    [
        ("self.model(x, t)", "@torch.no_grad()", True),
        ("self.mean(x, t)", "@torch.no_grad()", True),
        ("x + t", "@torch.no_grad()", False),
        ("self.model(x, t)", "", False),
        ("[self.model(y, t) for y in x]", "@torch.no_grad()", True),
    ],
)
def test_a_loop_whose_steps_run_a_module_is_a_rollout(inner, decorator, hot):
    found = hot_at(SAMPLER.format(inner=inner, decorator=decorator))
    assert (found is not None) is hot
    assert found is None or "which runs `self.model()`" in found.because


def test_a_module_that_samples_with_the_model_it_is_handed():
    hot = hot_at("""
        class Sampler(nn.Module):
            def __init__(self, model, turns):
                super().__init__()
                self.model, self.turns = model, turns

            @torch.no_grad()
            def sample(self, x):
                for t in reversed(range(self.turns)):
                    x = x - self.model(x, t)
                    kept = x.mean()  # <-
                return x
    """)
    assert hot is not None
    assert hot.kind == "rollout"


def test_two_objects_bound_at_once_are_known():
    hot = hot_at("""
        class Best:
            def observe(self, loss):
                self.best = loss  # <-

        class Stop:
            def observe(self, loss):
                pass

        def train(model, loader, optimizer):
            best, stop = Best(), Stop()
            for x in loader:
                loss = model(x)
                loss.backward()
                optimizer.step()
                best.observe(loss)
    """)
    assert hot is not None
    assert hot.kind == "step"


@pytest.mark.parametrize(
    ("iterable", "kind"),
    [("sentences", "eval"), ("self.chunks", "eval"), ("enumerate(image_paths)", "eval"), ("steps", "rollout"),
     ("enumerate(filelist)", "eval"), ("self.wav_list", "eval"), ("self.token_list", "rollout"),
     ("range(length)", "rollout")],
)  # fmt: skip
def test_a_loop_over_inputs_of_a_model_is_an_evaluation(iterable, kind):
    hot = hot_at(f"""
        class Net(nn.Module):
            @torch.no_grad()
            def speak(self, sentences, image_paths, steps, length):
                for each in {iterable}:
                    print(self.model(each))  # <-
    """)
    assert hot is not None
    assert hot.kind == kind


@pytest.mark.parametrize(("methods", "hot"), [("reset", True), ("step", False)])
def test_an_environment_renders_for_people(methods, hot):
    """A class with `reset` and `step` is one; a renderer with one of both may be a model's."""
    code = f"""
        class World:
            def reset(self):
                pass

            def {methods}(self, action):
                pass

            def render(self, state):
                print(state)  # <-

        def train(model, world: World, loader, optimizer):
            for x in loader:
                model(x).backward()
                optimizer.step()
                world.render(x)
    """
    assert (hot_at(code) is not None) == hot


# -- inline validation -----------------------------------------------------------------------------

INLINE_VALIDATION = """
    def train(model, loader, val_loader, optimizer, epochs, device):
        for epoch in range(epochs):
            for x, y in loader:
                loss = model(x.to(device), y)
                loss.backward()
                optimizer.step()
            if epoch % 5 == 0:
                model.eval()
                print(epoch){first}
                for x, y in val_loader:
                    with torch.no_grad():
                        model(x.to(device), y){second}
"""


def test_a_validation_loop_under_a_cadence_runs_every_batch_but_what_stands_beside_it_is_rare():
    inside = hot_at(INLINE_VALIDATION.format(first="", second="  # <-"))
    assert inside is not None
    assert inside.kind == "eval"
    assert hot_at(INLINE_VALIDATION.format(first="  # <-", second="")) is None


@pytest.mark.parametrize(
    ("call", "often"),
    [
        ("model.train_a_batch(x)", "every training step"),
        ("self.model.train_on_batch(x)", "every training step"),
        ("model.train_epoch(x)", None),
        ("train_a_batch(x)", None),
    ],
)
def test_a_method_that_trains_on_one_batch_by_its_name_makes_a_step_loop(call, often):
    code = f"""
        def run(self, model, stream, iterations):
            for turn in range(iterations):
                x = stream.draw().to(self.device)
                {call}  # <-
        """
    assert hot_at(code.replace(".to(self.device)", "")) is None
    hot = hot_at(code)
    assert (hot and hot.when.partition(" (")[0]) == often


@pytest.mark.parametrize(
    ("body", "hot"),
    [
        ("x, y = x.to(device), y.to(device)", True),
        ("x = x.cuda()", True),
        ("x = x * 2", False),
        ("other.to(device)", False),
    ],
)
def test_a_loop_without_gradients_that_moves_what_it_takes_goes_through_batches(body, hot):
    code = f"""
        def check(unmix, sampler, device, other):
            with torch.no_grad():
                for x, y in sampler:
                    {body}
                    out = unmix(x)  # <-
        """
    assert (hot_at(code) is not None) is hot
    assert hot_at(code.replace("in sampler", "in batch.items()")) is None
    assert hot_at(code.replace("in sampler", "in self.validation_metrics.losses_of_all_intervals.items()")) is None
    assert hot_at(code.replace("unmix(x)", "print(x)")) is None
    assert hot_at(code.replace("with torch.no_grad():", "if True:")) is None


def test_a_cadence_that_trains_says_how_often_a_model_learns():
    block = """\
if step % 5 == 0:
    for _ in range(2):
        adversary = meter(model(x))
        adversary.backward()
    optimizer.step()
    print(adversary)  # <-
"""
    assert hot_at(in_step_loop(block)) is not None
    assert hot_at(in_step_loop(block.replace("adversary.backward()", "meter(adversary)"))) is None
    shown = "    if step % 100 == 0:\n        print(adversary)  # <-"
    assert hot_at(in_step_loop(block.replace("    print(adversary)  # <-", shown))) is None


def test_a_name_may_be_a_cadence():
    block = """\
shown = (step + 1) % log_every == 0
if shown and meter:
    print(loss)  # <-
"""
    assert hot_at(in_step_loop(block)) is None
    assert hot_at(in_step_loop(block, before="shown = False")) is None
    assert hot_at(in_step_loop("shown = trace\n" + block)) is not None
    assert hot_at(in_step_loop(block.replace("(step + 1) % log_every == 0", "size > 3"))) is not None


LISTED = """\
def train(model, loaders, optimizer):
    for step in range(1000):
        for part in {}:
            loss = model(next(loaders[part]))
            loss.backward()
            optimizer.step()
            print(loss)  # <-
"""


def test_a_list_written_out_does_not_end_a_step():
    assert hot_at(LISTED.format("['faces', 'hands']")) is not None
    assert hot_at(LISTED.format("range(2)")) is None


def test_an_object_that_is_made_in_a_block_and_passed_on():
    """What stands in a block is read after what follows it, and so is what it imports."""
    files = {
        "average.py": """
            class Average:
                def update(self, model):
                    print(model)  # <-
            """,
        "main.py": """
            def main(args, model, loader, optimizer):
                if args.average:
                    from average import Average
                    average = Average()
                run(args, model, loader, optimizer, average)

            def run(args, model, loader, optimizer, average):
                for x in loader:
                    model(x).sum().backward()
                    optimizer.step()
                    average.update(model)
            """,
    }
    hot = hot_at(files)
    assert hot is not None
    assert hot.kind == "step"


def test_a_loop_over_the_parts_of_a_model_decodes_nothing():
    code = """
        @torch.no_grad()
        def calibrated(model: nn.Module, x, blocks):
            for block in {over}:
                x = model(x)
                print(x)  # <-
        """
    assert hot_at(code.format(over="enumerate(blocks)")) is None
    assert hot_at(code.format(over="range(x)")) is not None


@pytest.mark.parametrize(
    ("turn", "word"),
    [
        ("x = model(x)", "a loop that runs the model"),
        ("y = envs.step(model(x))", "step of the environment"),
        ("x = model.logits(x)", "decoding loop"),
    ],
)
def test_a_loop_without_gradients_is_called_what_it_is(turn, word):
    hot = hot_at(f"""
        @torch.no_grad()
        def played(model: nn.Module, x, envs):
            while x:
                {turn}
                print(x)  # <-
        """)
    assert hot is not None
    assert word in hot.when


def test_what_a_decorator_runs_once_is_cold():
    code = """
        class Data:
            {decorator}
            def train_next_batch(self):
                return self.points()  # <-

        def train(model, data, optimizer, steps):
            for i in range(steps):
                loss = model(data.train_next_batch())
                loss.backward()
                optimizer.step()
            return Data()
        """
    assert hot_at(code.format(decorator="@run_if_any_none('points')")) is None
    assert hot_at(code.format(decorator="@traced")) is not None


@pytest.mark.parametrize(("path", "hot"), [("pkg/unittests/checks.py", False), ("pkg/checks.py", True)])
def test_a_step_in_a_test_is_one_of_a_check(path, hot):
    code = """
        def compare_gradients(model, x):
            loss = model(x).mean()
            loss.backward()
            print(loss)  # <-
        """
    assert (hot_at({path: code}) is not None) is hot


OFFERED = {
    "pkg/ops.py": """
        import torch
        from pkg.parts import smooth

        def filtered(x: torch.Tensor, n) -> torch.Tensor:
            y = torch.zeros(n, device=x.device)
            return smooth(x + y)
        """,
    "pkg/parts.py": """
        def smooth(x):
            return x - x.mean()  # <-
        """,
}
LAYER = """
    from torch import nn
    from pkg.parts import smooth

    class Layer(nn.Module):
        def forward(self, x):
            return smooth(x)
    """


def test_what_an_operation_that_nobody_calls_runs_elsewhere_is_a_guess():
    hot = hot_at(OFFERED)
    assert hot is not None
    assert hot.confidence is Confidence.POSSIBLE


def test_a_guess_comes_after_what_is_known():
    hot = hot_at({**OFFERED, "pkg/zoo.py": LAYER})
    assert hot is not None
    assert hot.confidence is not Confidence.POSSIBLE
    assert "Layer.forward" in hot.because


def test_a_pass_that_calibrates_is_no_evaluation():
    code = """
        @torch.no_grad()
        def calibrate_model(model, {loader}):
            for images, _ in {loader}:
                model(images.cuda())  # <-
        """
    assert hot_at(code.format(loader="calib_loader")) is None
    assert hot_at(code.format(loader="loader")) is not None


@pytest.mark.parametrize(
    ("test", "body", "otherwise"),
    [("0", False, True), ("False", False, True), ("True", True, False), ("1", True, False)],
)
def test_a_branch_that_is_written_off_is_cold(test, body, otherwise):
    code = """
        class Net(nn.Module):
            def forward(self, x):
                if {test}:
                    print(x)  {first}
                else:
                    print(x.mean())  {second}
                return x
        """
    assert (hot_at(code.format(test=test, first="# <-", second="")) is not None) is body
    assert (hot_at(code.format(test=test, first="", second="# <-")) is not None) is otherwise


@pytest.mark.parametrize(("path", "hot"), [("pkg/layer_memory_tracking.py", False), ("pkg/features.py", True)])
def test_hooks_that_measure_a_model_are_taken_off_again(path, hot):
    code = """
        class Watcher:
            def watch(self, model):
                model.register_forward_hook(self.note)

            def note(self, module, given, out):
                print(out)  # <-
        """
    assert (hot_at({path: code}) is not None) is hot


@pytest.mark.parametrize(
    ("path", "hot"), [("demo/gradio_drag.py", False), ("pkg/gradio_app.py", False), ("pkg/run.py", True)]
)
def test_what_a_demonstration_calls_in_its_loop_is_for_people(path, hot):
    shown = """
        def picture(x):
            return x.cpu()  # <-
        """
    loop = """
        from pkg.shown import picture

        def drag(model, x, optimizer):
            while True:
                loss = model(x)
                loss.backward()
                optimizer.step()
                picture(x)
        """
    assert (hot_at({"pkg/shown.py": shown, path: loop}) is not None) is hot


@pytest.mark.parametrize(("path", "hot"), [("pkg/transforms/split.py", False), ("pkg/layers/split.py", True)])
def test_what_transforms_items_runs_once_an_item(path, hot):
    code = """
        class Split:
            def __call__(self, x):
                return self.forward(x)

            def forward(self, x):
                return x.mean()  # <-
        """
    assert (hot_at({path: code}) is not None) is hot


@pytest.mark.parametrize(
    ("path", "name", "hot"),
    [
        ("pkg/datasets/pascal.py", "process", False),
        ("pkg/datasets/pascal.py", "scores", True),
        ("pkg/pascal.py", "process", True),
    ],
)
def test_the_files_of_a_data_set_are_made_once(path, name, hot):
    code = f"""
        class Pascal:
            @torch.no_grad()
            def {name}(self, model, loader):
                for image in loader:
                    model(image.cuda())  # <-
        """
    assert (hot_at({path: code}) is not None) is hot


@pytest.mark.parametrize(
    ("given", "hot"), [("same.mean().item()", False), ("float(same.mean())", False), ("same", True)]
)
def test_a_number_is_the_result_of_the_whole(given, hot):
    code = f"""
        def homophily(edges, y):
            kept = torch.ones(4, device=y.device)
            same = kept * y  # <-
            return {given}
        """
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(
    ("name", "evaluates"), [("forward_inference", True), ("simple_test", True), ("forward_train", False)]
)
def test_what_forward_hands_on_to_where_it_does_not_train(name, evaluates):
    hot = hot_at(f"""
        class Editor(nn.Module):
            def forward(self, x, mode):
                return self.{name}(x)

            def {name}(self, x):
                return x.mean()  # <-
        """)
    assert hot is not None
    assert hot.evaluates is evaluates


ELSEWHERE = """
    def gpu(x):
        return x.roll(1)

    def cpu(x):
        return x.mean()  # <-

    class Shift(nn.Module):
        def forward(self, x):
            {bound}
            return shift(x)
    """


@pytest.mark.parametrize(
    ("bound", "hot"),
    [
        ("shift = gpu if x.device.type == 'cuda' else cpu", False),
        ("shift = cpu if not x.is_cuda else gpu", False),
        ("shift = gpu if x.ndim > 1 else cpu", True),
        ("shift = cpu if x.is_cuda else gpu", True),
        (
            "if torch.cuda.is_available() and x.is_cuda:\n                shift = gpu\n"
            "            else:\n                shift = cpu",
            False,
        ),
        ("if x.ndim:\n                shift = gpu\n            else:\n                shift = cpu", True),
    ],
)
def test_the_function_for_other_devices_is_cold(bound, hot):
    assert (hot_at(ELSEWHERE.format(bound=bound)) is not None) is hot


def test_the_branch_for_old_versions_is_cold():
    code = """
        class Loss(nn.Module):
            def forward(self, x):
                if digit_version(torch.__version__) > digit_version("1.6.0"):
                    loss = x.mean()  {new}
                else:
                    loss = x.sum()  {old}
                return loss
        """
    assert hot_at(code.format(new="# <-", old="")) is not None
    assert hot_at(code.format(new="", old="# <-")) is None


@pytest.mark.parametrize(("test", "hot"), [("i % LOG_EVERY == 0", False), ("i % 2 == 0", True), ("i == 1", True)])
def test_a_cadence_in_a_step_with_a_loop_of_its_own(test, hot):
    code = f"""
        class Trainer:
            def train_step(self, x, turns):
                for i in range(turns):
                    loss = self.model(x)
                    loss.backward()
                    self.optimizer.step()
                    if {test}:
                        print(loss)  # <-
        """
    assert (hot_at(code) is not None) is hot


def test_what_runs_where_memory_is_short_is_cold():
    code = """
        @torch.no_grad()
        def infer(model, loader, memory_threshold):
            for x in loader:
                model(x.cuda())
                if used() > memory_threshold:
                    gc.collect()  # <-
        """
    assert hot_at(code) is None


@pytest.mark.parametrize(("calls", "sure"), [(5, True), (6, False)])
def test_a_loop_that_many_calls_away_is_possible_only(calls, sure):
    chain = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n\n\n" for n in range(1, calls))
    loop = (
        "def train(loader, optimizer):\n    for x in loader:\n        f1(x).backward()\n        optimizer.step()\n\n\n"
    )
    last = f"def f{calls}(x):\n    return x.max().item()  # <-\n"
    hot = hot_at(f"{loop}{chain}{last}")
    assert hot is not None
    assert (hot.confidence is not Confidence.POSSIBLE) is sure
    module = "class Net(nn.Module):\n    def forward(self, x):\n        return f1(x)\n\n\n"
    of_module = hot_at(f"{module}{chain}{last}")
    assert of_module is not None
    assert of_module.confidence is not Confidence.POSSIBLE


@pytest.mark.parametrize(("given", "hot"), [("make()", False), ("None", True), ("teacher", True)])
def test_a_branch_of_a_loops_own_function_that_no_call_asks_for_is_cold(given, hot):
    code = (
        "def train(model, loader, teacher):\n    for x in loader:\n        loss = model(x)\n        loss.backward()\n"
        "        if teacher is not None:\n            teacher(x)\n        else:\n            print(loss)  # <-\n\n"
        f"def main(model, loader, teacher):\n    train(model, loader, {given})\n"
    )
    assert (hot_at(code) is not None) is hot


@pytest.mark.parametrize(("iterable", "hot"), [("loader", True), ("loader.dataset", False), ("loader.sampler", False)])
def test_what_a_loader_has_holds_no_batches(iterable, hot):
    code = f"""
    def prepare(loader: DataLoader):
        for part in {iterable}:
            part.setup()  # <-
    """
    assert (hot_at(code) is not None) is hot


def test_what_a_file_tests_itself_is_no_step():
    code = """
    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if __name__ == "__main__":
                assert x.min() >= 0  # <-
            return x.sigmoid()
    """
    assert hot_at(code) is None
    assert hot_at(code.replace('__name__ == "__main__"', "ctx.checks")) is not None


def test_a_loop_below_the_guard_of_a_program_is_a_step():
    code = """
    if __name__ == "__main__":
        for x in loader:
            loss = model(x)
            loss.backward()
            optimizer.step()
            print(loss)  # <-
    """
    assert hot_at(code) is not None


@pytest.mark.parametrize(
    ("read", "hot"), [("OmegaConf.load(path)", False), ("yaml.load(path)", False), ("np.load(path)", True)]
)
def test_a_file_of_networks_that_trains_on_random_numbers_tries_them(read, hot):
    code = f"""
    class Net(nn.Module):
        def forward(self, x):
            return x * 2

    if __name__ == "__main__":
        given = {read}
        x, model = torch.rand(8, 3), Net()
        for _ in range(given.steps):
            loss = model(x)
            loss.backward()
            optimizer.step()
            print(loss)  # <-
    """
    assert (hot_at(code) is not None) is hot


def test_without_gradients_only_evaluation_comes_there():
    code = """
    class Loss(nn.Module):
        def forward(self, x):
            if not torch.is_grad_enabled():
                return x.mean()  # <-
            return x
    """
    hot = hot_at(code)
    assert hot is not None
    assert hot.evaluates
    assert not hot_at(code.replace("not torch", "torch")).evaluates


def test_what_is_summed_up_on_the_spot_trains_by_its_method_alone():
    text = """
def train(model, loader):
    for x, y in loader:
        a = model(x).mean()
        (a + 2 * a).backward()
        print(a)  # <-
"""
    assert "which holds `backward()` (line " in hot_at(text).because


PARTS = """
class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = nn.Parameter(torch.zeros(8))
        self.own = torch.optim.SGD([self.codes])

    def {name}(self, x):
        loss = (x - self.codes).mean()
        loss.backward()
        self.own.step()
        print(x)  # <-
        return x

class Levels(nn.Module):
    def __init__(self):
        super().__init__()
        self.quantizer = Quantizer()

    def {outer}(self, x):
        for level in self.scales:
            x = self.quantizer{called}(x)
        return x
"""


def test_a_loop_in_a_pass_over_parts_that_train_themselves_is_no_loop_of_steps():
    assert "for level" not in hot_at(PARTS.format(name="forward", outer="forward", called="")).because


@pytest.mark.parametrize(("name", "outer"), [("fit_batch", "forward"), ("forward", "fit")])
def test_other_loops_that_call_what_trains_are_loops_of_steps(name, outer):
    called = "" if name == "forward" else f".{name}"
    assert "for level" in hot_at(PARTS.format(name=name, outer=outer, called=called)).because
