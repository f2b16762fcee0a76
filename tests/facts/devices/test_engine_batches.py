"""What ignite's engines hand to their update functions is the loader's batch, on the host."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.loaders import batch_copy
from torchperf_lint.facts.loaders.pinning import pinning_of

CODE = """
    {imports}

    def create(model, optimizer, device):
        def _update({parameters}):
            x, y = batch
            loss = model(x.to(device)).mean()
            loss.backward()
            optimizer.step()
        return Engine(_update)

    def main(data, model, optimizer):
        loader = {loader}
        trainer = create(model, optimizer, "cuda")
        {runs}
    """
PINNED = "DataLoader(data, 8, num_workers=4, pin_memory=True)"
UNPINNED = "DataLoader(data, 8, num_workers=4)"


def copied(
    imports="from ignite.engine import Engine",
    parameters="engine, batch",
    loader=UNPINNED,
    runs="trainer.run(loader, max_epochs=2)",
):
    code = CODE.format(imports=imports, parameters=parameters, loader=loader, runs=runs)
    site = site_of(code, "x.to(device)")
    value = batch_copy(site.file.project.values, site.call, site.frame)
    return value, pinning_of(site.file.project, value.origins if value is not None else ())


@pytest.mark.parametrize(
    "runs",
    [
        "trainer.run(loader, max_epochs=2)",
        "trainer.run(data=loader)",
        "create(model, optimizer, device).run(loader)",
        "def again():\n            trainer.run(loader)",
    ],
)
def test_an_engine_hands_over_the_batches_of_what_it_runs_over(runs):
    value, pinning = copied(runs=runs)
    assert value is not None
    assert value.device == "host"
    assert "an ignite engine" in value.because
    assert len(pinning.unpinned) == 1


def test_a_loader_that_pins():
    value, pinning = copied(loader=PINNED)
    assert value is not None
    assert not pinning.unpinned


def test_an_engine_that_nothing_here_runs():
    assert copied(runs="pass")[0] is None


def test_a_loader_that_the_function_is_given():
    assert copied(runs="trainer.run(data)")[0] is not None


@pytest.mark.parametrize(
    "runs",
    [
        "trainer.run(Moving(loader))",
        "trainer.run(map(to_device, loader))",
        "trainer.run([(x.cuda(), y.cuda()) for x, y in loader])",
        "data = moving(data)\n        trainer.run(data)",
        "trainer.run(loader)\n        trainer.run(Moving(loader))",
    ],
)
def test_what_may_hand_over_moved_batches(runs):
    assert copied(runs=runs)[0] is None


def test_other_engines_are_none_of_ignites():
    value, _ = copied(imports="from mine import Engine")
    assert value is None or "ignite" not in value.because


def test_functions_of_other_parameters():
    assert copied(parameters="batch, engine")[0] is None
    assert copied(parameters="engine, batch, extra")[0] is None


def test_batches_that_accelerate_moves():
    imports = "from ignite.engine import Engine\n    from accelerate import Accelerator"
    assert copied(imports=imports, loader=f"Accelerator().prepare({UNPINNED})")[0] is None


def test_a_function_that_the_project_calls_itself():
    code = """
        from ignite.engine import Engine

        def update(engine, batch):
            loss = engine.model(batch.to("cuda")).mean()
            loss.backward()
            engine.optimizer.step()

        def main(engine, queue):
            while True:
                update(engine, queue.get().cuda(non_blocking=True))
        """
    site = site_of(code, "batch.to('cuda')")
    assert batch_copy(site.file.project.values, site.call, site.frame) is None
