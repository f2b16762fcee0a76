"""What a batch costs in a worker, under every way to start one: 4 samples of 10 ms each, asleep and computing."""

import json

import pytest
from builders import watch

from torchperf_lint.events import SUFFIX, read

WORKERS = """
    import json, os, sys, time
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Asleep(Dataset):
        def __len__(self):
            return 48
        def __getitem__(self, index):
            time.sleep(0.01)
            return index

    class Busy(Asleep):
        def __getitem__(self, index):
            end = time.thread_time() + 0.01
            while time.thread_time() < end:
                pass
            return index

    def read(method):
        for data in (Asleep(), Busy()):
            total = sum(int(b.sum()) for b in DataLoader(data, batch_size=4, num_workers=1,
                                                         multiprocessing_context=method))
            assert total == sum(range(48)), total

    if __name__ == "__main__":
        torch.set_num_threads(1)
        pids = {}
        for method in ("fork", "spawn", "forkserver"):
            pid = os.fork()
            if not pid:
                try:
                    read(method)
                    code = 0
                except BaseException:
                    import traceback
                    traceback.print_exc()
                    code = 1
                os._exit(code)
            pids[method] = pid
        ends = {m: os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for m, pid in pids.items()}
        print(json.dumps([pids, ends]))
"""
METHODS = ("fork", "spawn", "forkserver")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("workers")


@pytest.fixture(scope="module")
def pids(directory):
    ran = watch(directory, WORKERS)
    assert ran.returncode == 0, ran.err
    pids, ends = json.loads(ran.out.splitlines()[0])
    assert ends == dict.fromkeys(METHODS, 0), ran.err
    return pids


@pytest.fixture(scope="module")
def costs(directory, pids):
    """(method, data set) -> the loader's record."""
    runs = {method: read(str(directory / f"run.{pid}{SUFFIX}")) for method, pid in pids.items()}
    return {(method, loader["dataset"]): loader for method, run in runs.items() for loader in run.loaders.values()}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("data", ["Asleep", "Busy"])
def test_batches_of_workers_are_counted_and_timed(costs, method, data):
    loader = costs[method, data]
    worker = loader["worker"]
    assert worker["batches"] == 12
    assert loader["start_method"] == method
    each = worker["wall_ms"] / 12
    # Three workers share two cores while they compute, and other work shares the machine.
    assert 38 < each < (60 if data == "Asleep" else 400)


@pytest.mark.parametrize("method", METHODS)
def test_cpu_time_tells_computing_from_sleeping(costs, method):
    asleep, busy = costs[method, "Asleep"]["worker"], costs[method, "Busy"]["worker"]
    assert asleep["cpu_ms"] < 0.2 * asleep["wall_ms"]
    assert busy["cpu_ms"] == pytest.approx(12 * 40, rel=0.25)
    assert busy["cpu_ms"] + busy["queued_ms"] == pytest.approx(busy["wall_ms"], rel=0.2)


@pytest.mark.parametrize("method", METHODS)
def test_the_first_wait_has_the_workers_start_in_it(costs, method):
    loader = costs[method, "Asleep"]
    assert loader["first_wait_ms"] > 30
    assert loader["first_wait_ms"] <= loader["wait_ms"]


def test_workers_leave_no_file_of_their_own(directory, pids):
    known = {f"run{SUFFIX}"} | {f"run.{pid}{SUFFIX}" for pid in pids.values()}
    assert {path.name for path in directory.glob(f"*{SUFFIX}")} == known
