"""Loops over what is called a loader: by its name, by the key it is kept under, by what it hands out."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
    def run(engine, loaders, sets, device):
        results = []
        for x, y in {iterated}:
            x = torch.Tensor(x).to(device)
            results.append(engine.check(x, y))  # <-
        return results
"""


@pytest.mark.parametrize(
    ("iterated", "when"),
    [
        ("loaders['val'].get_iterator()", "every evaluation batch"),
        ("enumerate(sets['test_loader'].get_iterator())", "every evaluation batch"),
        ("sets['valid_loader']", "every evaluation batch"),
        ("sets['train_loader'].batches()", "every training step"),
        ("engine.loader.iterator()", "every batch"),
        ("loaders", None),
        ("sets['val'].get_words()", None),
        ("sets.get_iterator()", None),
        ("loaders[0]", "every batch"),
        ("sets['dataloaders']", None),
        ("loaders['test_loaders']", None),
        ("sets['val_loaders'].get_iterator()", None),
    ],
)
def test_the_key_says_whose_batches_they_are(iterated, when):
    hot = hot_at(CODE.replace("{iterated}", iterated))
    assert (hot and hot.when.partition(" (")[0]) == when


@pytest.mark.parametrize(
    ("iterated", "when"),
    [
        ("testloader", "every evaluation batch"),
        ("valdataloader", "every evaluation batch"),
        ("trainloader", "every training step"),
    ],
)
def test_a_name_in_one_word_says_it_too(iterated, when):
    code = CODE.replace("{iterated}", iterated).replace("run(", "analyze_training(")
    hot = hot_at(code.replace("(engine,", f"(engine, {iterated},"))
    assert (hot and hot.when.partition(" (")[0]) == when


ONE_NAME = """
    def run(engine, loaders, sets, device):
        model = engine.model.to(device)
        for {target} in {iterated}:
            loss = engine.criterion(model(torch.ones(3).to(device)))  # <-
            print(loss)
"""


@pytest.mark.parametrize(
    ("target", "iterated", "found"),
    [
        ("loader", "sets['dataloaders']", False),
        ("loader", "sets['loader']", False),
        ("name", "sets['loader']", False),
        ("i, test_loader", "enumerate(sets['test_loader'])", False),
        ("batch", "sets['loader']", True),
        ("name, image", "sets['loader']", True),
        ("loader_index, (x, y)", "enumerate(sets['loader'])", True),
        ("loader", "DataLoader(sets)", True),
    ],
)
def test_what_the_loop_takes_says_whether_they_are_batches(target, iterated, found):
    hot = hot_at(ONE_NAME.replace("{target}", target).replace("{iterated}", iterated))
    assert (hot is not None) is found


DRIVER = """
    {imported}

    class Trainer:
        def fit(self):
            for batch in self.train_dataloader:
                out = self.workers.update(batch){more}
                tell(out.mean())  # <-
"""


@pytest.mark.parametrize(
    ("imported", "more", "hot"),
    [
        ("import ray", "", False),
        ("from verl.single_controller.ray import RayWorkerGroup", "", False),
        ("from ray import tune", "", False),
        ("from utils.ray import get_rays", "", True),
        ("from .ray import march", "", True),
        ("import ray", "; out.loss.backward()", True),
        ("import ray", "; out = out.to(device)", True),
        ("import arrays", "", True),
    ],
)
def test_a_driver_of_remote_workers_computes_nothing(imported, more, hot):
    assert (hot_at(DRIVER.format(imported=imported, more=more)) is not None) is hot


@pytest.mark.parametrize(
    ("own", "imported", "hot"),
    [
        ("ray.py", "from ray import get_rays", True),
        ("nets/ray.py", "from nets.ray import RayBundle", True),
        ("nets/ray/__init__.py", "from nets.ray import RayWorkerGroup", False),
        ("nets/ray.py", "import ray", False),
    ],
)
def test_a_module_of_the_project_that_is_called_ray_is_another(own, imported, hot):
    files = {own: "class RayBundle: ...", "b.py": DRIVER.format(imported=imported, more="")}
    assert (hot_at(files) is not None) is hot


NAIVE = """
    def naive(self, ranker, data):
        total = 0.0
        for qid, rankings, stds in data:
            rankings, stds = rankings.to(self.device), stds.to(self.device)
            {taken} = {call}
            total += loss.item()  # <-
        return total
"""


@pytest.mark.parametrize(
    ("taken", "call", "when"),
    [
        ("loss, stop", "ranker.train(rankings, stds, qid=qid)", "every training step"),
        ("loss", "ranker.train_step(rankings, stds)", "every training step"),
        ("loss", "ranker.trained(rankings, stds)", None),
        ("loss", "ranker.score(rankings, stds)", None),
        ("score", "ranker.train(rankings, stds)", None),
    ],
)
def test_a_loss_of_what_trains_on_what_is_moved_is_a_step(taken, call, when):
    hot = hot_at(NAIVE.replace("{taken}", taken).replace("{call}", call))
    assert (hot and hot.when.partition(" (")[0]) == when
