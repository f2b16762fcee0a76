"""Live: how much of a batch is its samples and how much putting them together, and whose code that is."""

import pytest
from builders import watch

SCRIPT = """
    import functools, time
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

    class Leaves(Dataset):
        def __len__(self):
            return 40
        def __getitem__(self, index):
            time.sleep(0.002)
            return index

    def pad(samples, by):
        time.sleep(0.024)
        return torch.tensor(samples) + by

    class Pad:
        def __call__(self, samples):
            return pad(samples, 1)

    class Batches(IterableDataset):
        def __iter__(self):
            return iter([torch.zeros(3)] * 4)

    if __name__ == "__main__":
        parts = Subset(Leaves(), range(16))
        total = 0
        for loader in (
            DataLoader(parts, batch_size=4, collate_fn=functools.partial(pad, by=1)),
            DataLoader(parts, batch_size=4, collate_fn=Pad(), num_workers=2),
            DataLoader(TensorDataset(torch.arange(16)), batch_size=8),
            DataLoader(Batches(), batch_size=None),
        ):
            for batch in loader:
                total += int((batch[0] if isinstance(batch, list) else batch).sum())
        print(total)
"""


@pytest.fixture(scope="module")
def loaders(tmp_path_factory):
    ran = watch(tmp_path_factory.mktemp("parts"), SCRIPT)
    assert (ran.returncode, ran.out.splitlines()[0]) == (0, str(136 + 136 + 120)), ran.err
    run = ran.record
    return run, list(run.loaders.values())


def test_both_parts_are_timed_in_the_training_process(loaders):
    figures = loaders[1][0]
    assert figures["collated"] == 16
    # 4 samples of 2 ms, then 24 ms; a loaded machine makes all of it longer.
    assert 4 * 24 <= figures["collate_ms"] < figures["wait_ms"] - 4 * 4 * 2 + 1


def test_both_parts_are_timed_in_workers(loaders):
    figures = loaders[1][1]["worker"]
    assert (figures["batches"], figures["collated"]) == (4, 16)
    assert 4 * 24 <= figures["collate_ms"] < figures["wall_ms"] - 4 * 4 * 2 + 1
    assert loaders[1][1]["collated"] == 0


def test_whose_code_it_is(loaders):
    run, (first, second, third, fourth) = loaders
    lines = {name: run.sites[first[name]]["line"] for name in ("items_site", "collate_site")}
    assert (first["items"], first["collate"]) == ("Leaves.__getitem__", "pad")
    assert lines == {"items_site": 9, "collate_site": 13}
    assert (second["collate"], run.sites[second["collate_site"]]["line"]) == ("Pad", 18)
    assert (third["items"], third["items_site"]) == ("TensorDataset.__getitem__", None)
    assert (third["collate"], third["collate_site"]) == ("default_collate", None)
    assert fourth["items"] == "Batches.__iter__"


def test_what_gives_whole_batches_has_nothing_to_put_together(loaders):
    fourth = loaders[1][3]
    assert (fourth["batches"], fourth["collated"], fourth["collate_ms"]) == (4, 0, 0)
