"""Where a loader was made, with what settings, and how long the loop waited for it; each in a forked child."""

import json

import pytest
from builders import watch

from torchperf_lint.events import SUFFIX, read

LOADERS = """
    import os, sys, json, threading, time, queue
    import torch
    from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

    torch.set_num_threads(1)

    class Slow(Dataset):
        def __init__(self, n=40, seconds=0.005):
            self.n, self.seconds = n, seconds
        def __len__(self):
            return self.n
        def __getitem__(self, index):
            time.sleep(self.seconds)
            return index

    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(12))
        def __len__(self):
            raise RuntimeError("nobody may ask")

    class Uncountable(Dataset):
        def __len__(self):
            raise TypeError("unknown")
        def __getitem__(self, index):
            return index

    class Mine(DataLoader):
        pass

    def sleeps():
        for _ in DataLoader(Slow(128), batch_size=4):
            pass

    def computes():
        class Busy(Slow):
            def __getitem__(self, index):
                end = time.thread_time() + 0.005
                while time.thread_time() < end:
                    pass
                return index
        for _ in DataLoader(Busy(64), batch_size=4):
            pass

    def background():
        loader, batches = DataLoader(Slow(40), batch_size=4), queue.Queue(2)
        def read():
            for batch in loader:
                batches.put(batch)
            batches.put(None)
        threading.Thread(target=read).start()
        weight = torch.zeros(1, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.1)
        while batches.get() is not None:
            (weight * 2).sum().backward()
            optimizer.step()

    def iterable():
        for _ in DataLoader(Stream(), batch_size=4):
            pass

    def unbatched():
        for _ in DataLoader(Slow(10), batch_size=None):
            pass

    def persistent():
        loader = DataLoader(Slow(8, 0), batch_size=2, num_workers=1, persistent_workers=True)
        for _ in range(3):
            for _ in loader:
                pass

    def init_fails():
        def init(worker):
            raise ValueError("no worker today")
        try:
            for _ in DataLoader(Slow(8), num_workers=1, worker_init_fn=init):
                pass
        except ValueError as error:
            assert "no worker today" in str(error), error
        else:
            raise AssertionError("the worker's error did not come through")

    def pinned():
        import warnings
        warnings.simplefilter("ignore")
        for _ in DataLoader(Slow(8, 0), pin_memory=True):
            pass

    def uncountable():
        loader = DataLoader(Uncountable(), batch_sampler=[[0, 1], [2, 3]])
        assert [b.tolist() for b in loader] == [[0, 1], [2, 3]]

    def subclass():
        for _ in Mine(Slow(6, 0), batch_size=3, drop_last=True):
            pass

    def unread():
        DataLoader(Slow(6, 0), batch_size=3)

    def left_early():
        for index, _ in enumerate(DataLoader(Slow(100, 0), batch_size=2)):
            if index == 4:
                break

    def workers():
        for _ in DataLoader(Slow(16, 0.01), batch_size=2, num_workers=2, prefetch_factor=3):
            pass

    ALL = (sleeps, computes, background, iterable, unbatched, persistent, init_fails, pinned, uncountable, subclass,
           unread, left_early, workers)
    pids, running = {}, []
    for action in ALL:
        pid = os.fork()
        if not pid:
            try:
                action()
                code = 0
            except BaseException:
                import traceback
                traceback.print_exc()
                code = 1
            sys.stdout.flush()
            os._exit(code)
        pids[action.__name__] = pid, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(json.dumps(pids))
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("loaders")


@pytest.fixture(scope="module")
def ran(directory):
    return watch(directory, LOADERS)


@pytest.fixture(scope="module")
def pids(ran):
    assert ran.returncode == 0, ran.err
    return json.loads(ran.out.splitlines()[0])


@pytest.fixture(scope="module")
def loaders(directory, ran, pids):
    """Name -> (what is recorded of the loader, the run); None where the child left no file."""
    found = {}
    for name, (pid, _) in pids.items():
        path = directory / f"run.{pid}{SUFFIX}"
        run = read(str(path)) if path.exists() else None
        found[name] = (next(iter(run.loaders.values()), None), run) if run is not None else (None, None)
    return found


def line_of(text):
    return next(n for n, line in enumerate(LOADERS.splitlines(), 1) if text in line)


def test_no_script_was_disturbed(pids, ran):
    assert {name: code for name, (_, code) in pids.items()} == dict.fromkeys(pids, 0), ran.err


def test_the_line_that_makes_it(loaders):
    loader, run = loaders["sleeps"]
    site = run.sites[loader["site"]]
    assert (site["path"], site["line"], site["function"]) == ("run.py", line_of("DataLoader(Slow(128)"), "sleeps")
    subclass, run = loaders["subclass"]
    assert run.sites[subclass["site"]]["line"] == line_of("Mine(Slow")


def test_settings(loaders):
    kept = ("class", "dataset", "samples", "num_workers", "batch_size", "pin_memory", "prefetch_factor")
    settings = {name: tuple(loader[k] for k in kept) for name, (loader, _) in loaders.items() if loader}
    assert settings["sleeps"] == ("DataLoader", "Slow", 128, 0, 4, False, None)
    assert settings["workers"] == ("DataLoader", "Slow", 16, 2, 2, False, 3)
    assert settings["subclass"][:3] == ("Mine", "Slow", 6)
    assert settings["iterable"][1:3] == ("Stream", None)
    assert settings["uncountable"][1:3] == ("Uncountable", None)
    assert settings["unbatched"][4] is None
    assert settings["pinned"][5] is True
    assert loaders["persistent"][0]["persistent_workers"] is True


def test_batches_and_passes(loaders):
    found = {name: (loader["batches"], loader["epochs"]) for name, (loader, _) in loaders.items() if loader}
    assert found == {
        "sleeps": (32, 1),
        "computes": (16, 1),
        "background": (10, 1),
        "iterable": (3, 1),
        "unbatched": (10, 1),
        "persistent": (12, 3),
        "pinned": (8, 1),
        "uncountable": (2, 1),
        "subclass": (2, 1),
        "left_early": (5, 1),
        "workers": (8, 1),
    }


def test_a_child_that_reads_no_batch_leaves_no_file(loaders):
    assert loaders["unread"] == loaders["init_fails"] == (None, None)


def test_the_wait_is_what_the_data_costs(loaders):
    loader, _ = loaders["sleeps"]
    assert loader["steady_batches"] == 22
    assert loader["steady_wait_ms"] / loader["steady_batches"] == pytest.approx(20, rel=0.3)
    assert loader["wait_ms"] / loader["batches"] == pytest.approx(20, rel=0.3)
    assert loader["first_wait_ms"] < loader["wait_ms"] / 4


def test_cpu_time_tells_computing_from_sleeping(loaders):
    asleep, busy = loaders["sleeps"][0], loaders["computes"][0]
    assert asleep["cpu_ms"] < 0.2 * asleep["wait_ms"]
    assert asleep["cpu_of_ms"] == pytest.approx(asleep["wait_ms"], rel=0.01)
    assert busy["cpu_ms"] == pytest.approx(16 * 20, rel=0.3)


def test_a_loader_read_by_a_background_thread_is_flagged(loaders):
    loader, run = loaders["background"]
    assert loader["background"] is True
    assert loaders["sleeps"][0]["background"] is False
    assert run.steps["steps"] == 10
    assert run.steps["train_batches"] + run.steps["eval_batches"] == 0


def test_no_probe_failed(loaders):
    states = {
        p["name"]: p["reason"]
        for _, run in loaders.values()
        if run
        for p in run.probes.values()
        if p["state"] == "failed"
    }
    assert states == {}


def test_workers_write_no_file(directory, ran, pids):
    known = {f"run{SUFFIX}"} | {f"run.{pid}{SUFFIX}" for pid, _ in pids.values()}
    assert {path.name for path in directory.glob(f"*{SUFFIX}")} <= known
