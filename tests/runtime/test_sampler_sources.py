"""The sampler's sources on made-up machines: control groups, pressure, counters, and a tree of processes."""

import contextlib
import os
from collections import namedtuple
from types import SimpleNamespace

import pytest

from torchperf_lint.runtime import cgroup, host
from torchperf_lint.runtime.cgroup import AllowedCores, allowed_cores
from torchperf_lint.runtime.pressure import Pressure
from torchperf_lint.runtime.processes import KEPT, Tree

PID = 1 << 30
"""No process has so high a number, so nothing is read from the real /proc."""


def machine(root, membership, **files):
    for path, text in {f"proc/{PID}/cgroup": membership, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def _many_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)), raising=False)


V1 = "sys/fs/cgroup/cpu"


@pytest.mark.usefixtures("_many_cores")
@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("", {}, AllowedCores(64, "affinity")),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "150000 100000\n"}, AllowedCores(1.5, "cgroup v2 quota")),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, AllowedCores(64, "affinity")),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "9900000 100000\n"}, AllowedCores(64, "affinity")),
        (
            "0::/job/step\n",
            {"sys/fs/cgroup/job/step/cpu.max": "max 100000", "sys/fs/cgroup/job/cpu.max": "800000 100000"},
            AllowedCores(8, "cgroup v2 quota"),
        ),
        ("0::/host/path\n", {"sys/fs/cgroup/cpu.max": "200000 100000"}, AllowedCores(2, "cgroup v2 quota")),
        (
            "3:cpuset:/\n1:cpu,cpuacct:/docker/1\n0::/\n",
            {f"{V1}/docker/1/cpu.cfs_quota_us": "250000\n", f"{V1}/docker/1/cpu.cfs_period_us": "100000\n"},
            AllowedCores(2.5, "cgroup v1 quota"),
        ),
        (
            "1:cpu:/docker/1\n",
            {f"{V1}/cpu.cfs_quota_us": "-1\n", f"{V1}/cpu.cfs_period_us": "100000\n"},
            AllowedCores(64, "affinity"),
        ),
        (
            "1:cpu:/\n0::/\n",
            {
                f"{V1}/cpu.cfs_quota_us": "400000",
                f"{V1}/cpu.cfs_period_us": "100000",
                "sys/fs/cgroup/unified/cpu.max": "300000 100000",
            },
            AllowedCores(3, "cgroup v2 quota"),
        ),
        ("nonsense\n", {"sys/fs/cgroup/cpu.max": "1 1"}, AllowedCores(64, "affinity")),
    ],
)
def test_the_smallest_limit_on_cores_is_named(membership, files, expected, tmp_path):
    assert allowed_cores(PID, machine(tmp_path, membership, **files)) == expected


def test_a_system_without_affinities_counts_its_cores(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(cgroup.os, "cpu_count", lambda: 5)
    assert allowed_cores(PID, tmp_path) == AllowedCores(5, "cpu count")


def stalled(root, **totals):
    for resource, total in totals.items():
        text = f"some avg10=9.99 avg60=9.99 avg300=9.99 total={total}\nfull avg10=0.00 avg60=0 avg300=0 total=7\n"
        (root / resource).write_text(text, encoding="ascii")


def test_pressure_is_the_share_of_time_since_the_last_sample(tmp_path):
    stalled(tmp_path, cpu=1_000_000, io=5, memory=0)
    pressure = Pressure(tmp_path)
    stalled(tmp_path, cpu=1_100_000, io=400_005, memory=0)
    expected = {"pressure.cpu_share": 0.25, "pressure.io_share": 1.0, "pressure.memory_share": 0.0}
    assert pressure.sample(0.4) == pytest.approx(expected)
    stalled(tmp_path, cpu=1_100_000, io=600_005, memory=0)
    assert pressure.sample(0.4)["pressure.io_share"] == pytest.approx(0.5)


def test_a_kernel_without_pressure_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        Pressure(tmp_path)


CpuTimes = namedtuple("CpuTimes", "user system idle iowait guest")


def test_guests_are_not_counted_twice_and_waiting_for_disks_is_not_busy():
    times = [CpuTimes(0, 0, 0, 0, 0), CpuTimes(20, 10, 60, 10, 15), CpuTimes(20, 10, 60, 10, 15)]
    cpu = host.MachineCpu(SimpleNamespace(cpu_times=lambda: times.pop(0)))
    assert cpu.sample(1.0) == pytest.approx({"cpu.machine_share": 0.3, "cpu.iowait_share": 0.1})
    assert cpu.sample(1.0) == {}


def test_rates_are_per_second_and_survive_a_device_that_goes_away():
    counts = [(1000, 50), (3000, 50), (200, 90)]

    def read():
        received, written = counts.pop(0)
        return SimpleNamespace(read_bytes=received, write_bytes=written)

    disk = host.disk(SimpleNamespace(disk_io_counters=read))
    assert disk.sample(0.5) == {"disk.read_bytes_per_s": 4000, "disk.written_bytes_per_s": 0}
    assert disk.sample(0.5) == {"disk.read_bytes_per_s": 0, "disk.written_bytes_per_s": 80}


class FakePsutil:
    """Processes that a test lets start, work and end."""

    STATUS_DISK_SLEEP, STATUS_ZOMBIE = "disk-sleep", "zombie"

    class NoSuchProcess(Exception):  # noqa: N818 -- psutil's names
        pass

    class ZombieProcess(NoSuchProcess):
        pass

    class AccessDenied(Exception):  # noqa: N818
        pass

    def __init__(self):
        self.table = {}

    def start(self, pid, **facts):
        self.table[pid] = {"cpu": 0.0, "status": "running", "rss": 100, "threads": 1, "read": 0, **facts}

    def Process(self, pid):  # noqa: N802 -- psutil's name
        if pid not in self.table:
            raise self.NoSuchProcess(pid)
        return _FakeProcess(self, pid)


class _FakeProcess:
    def __init__(self, psutil, pid):
        self._psutil, self.pid = psutil, pid

    def _fact(self, name):
        if self.pid not in self._psutil.table:
            raise self._psutil.NoSuchProcess(self.pid)
        return self._psutil.table[self.pid][name]

    def oneshot(self):
        return contextlib.nullcontext()

    def children(self, recursive):
        assert recursive
        return [_FakeProcess(self._psutil, pid) for pid in self._psutil.table if pid != self.pid]

    def name(self):
        return f"p{self.pid - PID}"

    def cpu_times(self):
        return SimpleNamespace(user=self._fact("cpu"), system=0.0, children_user=99.0)

    def status(self):
        return self._fact("status")

    def memory_info(self):
        return SimpleNamespace(rss=self._fact("rss"))

    def num_threads(self):
        return self._fact("threads")

    def io_counters(self):
        if self._fact("read") is None:
            raise self._psutil.AccessDenied
        return SimpleNamespace(read_bytes=self._fact("read"))


@pytest.fixture
def fake():
    psutil = FakePsutil()
    psutil.start(PID, threads=7)
    return psutil


def test_the_main_process_and_its_descendants_are_kept_apart(fake):
    tree = Tree(fake, PID)
    tree.sample(0.5)
    fake.start(PID + 1, cpu=0.1, rss=50, read=1000)
    fake.table[PID].update(cpu=0.25, read=500)
    assert tree.sample(0.5) == {
        "cpu.main_cores": 0.5,
        "cpu.others_cores": 0.2,
        "cpu.main_threads": 7,
        "memory.main_rss_bytes": 100,
        "memory.tree_rss_bytes": 150,
        "processes.others": 1,
        "disk.tree_read_bytes_per_s": 3000,
    }
    del fake.table[PID + 1]
    after = tree.sample(0.5)
    assert (after["cpu.others_cores"], after["processes.others"], after["memory.tree_rss_bytes"]) == (0, 0, 100)


def test_samples_in_disk_sleep_are_counted_for_each_process(fake):
    fake.start(PID + 1, status="disk-sleep")
    tree = Tree(fake, PID)
    for status in ("disk-sleep", "sleeping", "disk-sleep"):
        fake.table[PID + 1]["status"] = status
        tree.sample(0.2)
    main, worker = tree.processes()
    assert (main.in_disk_sleep, main.samples) == (0, 3)
    assert (worker.in_disk_sleep, worker.samples) == (2, 3)


def test_reads_that_may_not_be_seen_are_unknown_for_the_whole_tree(fake):
    fake.start(PID + 1, read=None)
    tree = Tree(fake, PID)
    assert "disk.tree_read_bytes_per_s" not in tree.sample(0.2)
    assert [process.read_bytes for process in tree.processes()] == [0, None]


@pytest.mark.parametrize("how", ["gone", "zombie"])
def test_after_the_main_process_there_is_nothing(fake, how):
    tree = Tree(fake, PID)
    fake.table[PID]["cpu"] = 0.5
    tree.sample(0.2)
    if how == "gone":
        del fake.table[PID]
    else:
        fake.table[PID]["status"] = "zombie"
    assert tree.sample(0.2) == {}
    assert tree.sample(0.2) == {}
    assert [(process.main, process.cpu_s) for process in tree.processes()] == [(True, 0.5)]


def test_many_ended_workers_become_one_sum(fake):
    tree = Tree(fake, PID)
    for number in range(1, 201):
        fake.start(PID + number, cpu=number / 100, read=10)
        tree.sample(0.2)
        del fake.table[PID + number]
    tree.sample(0.2)
    main, *others = tree.processes()
    assert main.main
    assert len(others) == KEPT
    assert sum(process.processes for process in others) == 200
    assert sum(process.cpu_s for process in others) == pytest.approx(sum(range(1, 201)) / 100)
    assert sum(process.read_bytes for process in others) == 2000
    assert sum(process.samples for process in others) == 200
    assert [process.pid for process in others].count(None) == 1


def test_a_process_that_is_gone_before_the_start_is_an_error(fake):
    with pytest.raises(FakePsutil.NoSuchProcess):
        Tree(fake, PID + 5)
