"""`no_syncs()` in processes with a simulated device, and with torch's own callbacks fired by hand."""

import pickle

import pytest
from in_processes import python

import torchperf_lint
from torchperf_lint import CannotSeeSyncsError, SyncsFoundError, SyncSite, no_syncs
from torchperf_lint.errors import TorchPerfError

pytest.importorskip("torch")

START = """
import torch
from torchperf_lint import SyncsFoundError, no_syncs

x = torch.ones(4, device="cuda")

def seen(error):
    return [(s.path, s.line, s.what, s.count, s.function.rpartition(".")[2]) for s in error.sites]

"""
"""After the two lines that simulate a device, this ends at line 11."""


def run(tmp_path, code):
    return python(tmp_path, START + code)


def test_a_block_that_never_waits_passes(tmp_path):
    assert run(tmp_path, "with no_syncs() as block:\n    (x * 2).sum()\nprint(block.count, block.sites)") == ["0 ()"]


def test_every_line_is_named_with_how_often_and_for_what(tmp_path):
    code = """
try:
    with no_syncs():
        for _ in range(3):
            x.sum().item()
        torch.ones(3).cuda()
        x.nonzero()
except SyncsFoundError as error:
    print(seen(error), error.count, error.at_most)
    print(error)
"""
    sites, *message = run(tmp_path, code)
    expected = [("item", 16, 3), ("copy to device", 17, 1), ("nonzero", 18, 1)]
    assert sites == f"{[('code.py', line, what, count, '<module>') for what, line, count in expected]} 5 0"
    assert message == [
        "5 synchronisations with the simulated device where none is allowed:",
        "  code.py:16: 3 times, item",
        "    x.sum().item()",
        "  code.py:17: once, copy to device",
        "    torch.ones(3).cuda()",
        "  code.py:18: once, nonzero",
        "    x.nonzero()",
    ]


def test_as_many_as_allowed_pass_and_one_more_does_not(tmp_path):
    code = """
with no_syncs(at_most=2) as block:
    x.sum().item()
    x.sum().item()
print(block.count)
try:
    with no_syncs(at_most=1):
        x.sum().item()
        x.sum().item()
except SyncsFoundError as error:
    print(str(error).splitlines()[0])
"""
    assert run(tmp_path, code) == ["2", "2 synchronisations with the simulated device where at most 1 is allowed:"]


def test_functions_and_methods_are_guarded_call_by_call(tmp_path):
    code = """
class Model:
    @no_syncs(at_most=1)
    def step(self, times):
        '''Documented.'''
        for _ in range(times):
            x.sum().item()
        return times

    @no_syncs(at_most=1)
    def outer(self):
        return self.step(1)

model = Model()
print(model.step(1), model.step(1), model.outer(), Model.step.__name__, Model.step.__doc__)
try:
    model.step(2)
except SyncsFoundError as error:
    print(seen(error))
"""
    assert run(tmp_path, code) == ["1 1 1 step Documented.", "[('code.py', 18, 'item', 2, 'step')]"]


def test_a_wait_in_a_package_is_shown_there_with_the_line_that_led_to_it(tmp_path):
    package = tmp_path / "site-packages"
    package.mkdir()
    (package / "meters.py").write_text("def update(x):\n    return x.sum().item()\n", encoding="utf-8")
    code = """
import sys
sys.path.insert(0, "site-packages")
import meters
try:
    with no_syncs():
        meters.update(x)
except SyncsFoundError as error:
    print(error)
    print(error.sites[0].via)
"""
    assert run(tmp_path, code)[1:] == [
        "  in package meters.py:2: once, item, called from code.py:18",
        "    return x.sum().item()",
        "('code.py', 18)",
    ]


def test_an_exception_of_the_block_is_never_replaced(tmp_path):
    code = """
try:
    with no_syncs():
        x.sum().item()
        raise KeyError("own")
except KeyError as error:
    print(error, error.__context__)
with no_syncs():
    pass
"""
    assert run(tmp_path, code) == ["'own' None"]


def test_inner_blocks_count_for_outer_ones(tmp_path):
    code = """
with no_syncs(at_most=2) as outer:
    x.sum().item()
    with no_syncs(at_most=1) as inner:
        x.sum().item()
print(outer.count, inner.count)
try:
    with no_syncs():
        with no_syncs(at_most=1):
            x.sum().item()
except SyncsFoundError as error:
    print(error.count)
guard = no_syncs()
try:
    with guard, guard:
        pass
except RuntimeError as error:
    print(error)
"""
    refused = "this guard is open already: call no_syncs() again for a block within"
    assert run(tmp_path, code) == ["2 1", "1", refused]


def test_threads_of_the_block_count_and_others_do_not(tmp_path):
    code = """
import threading
go, done = threading.Event(), threading.Event()

def other():
    go.wait()
    x.sum().item()
    done.set()

thread = threading.Thread(target=other)
thread.start()
with no_syncs():
    go.set()
    done.wait()
thread.join()
try:
    with no_syncs():
        started = threading.Thread(target=lambda: x.sum().item())
        started.start()
        started.join()
except SyncsFoundError as error:
    print(seen(error))
"""
    assert run(tmp_path, code) == ["[('code.py', 29, 'item', 1, '<lambda>')]"]


def test_waits_of_the_backward_pass_stand_at_its_line(tmp_path):
    code = """
class Waits(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        grad.sum().item()
        return grad

y = torch.ones(2, device="cuda", requires_grad=True)
try:
    with no_syncs():
        (out := Waits.apply(y).sum()).backward()  # a graph that autograd's thread frees may meet the end of Python
except SyncsFoundError as error:
    print(seen(error))
"""
    assert run(tmp_path, code) == ["[('code.py', 20, 'item', 1, 'backward')]"]


def test_immediate_raises_at_the_line_and_restores_the_users_mode(tmp_path):
    code = """
import traceback, warnings

def wait():
    with no_syncs(immediate=True):
        with no_syncs(immediate=True):
            pass
        x.sum().item()
        print("not reached")

for mode in ("default", "error"):
    torch.cuda.set_sync_debug_mode(mode)
    try:
        wait()
    except RuntimeError as error:
        print(error, traceback.extract_tb(error.__traceback__)[1].lineno, torch.cuda.get_sync_debug_mode())
torch.cuda.set_sync_debug_mode(0)
try:
    with no_syncs(immediate=True):
        torch.cuda.synchronize()
except SyncsFoundError as error:
    print(seen(error))
x.sum().item()
"""
    said = "called a synchronizing CUDA operation 19"
    assert run(tmp_path, code) == [f"{said} 0", f"{said} 2", "[('code.py', 31, 'device-synchronize', 1, '<module>')]"]


def test_what_the_simulation_cannot_do_is_no_quiet_pass(tmp_path):
    code = """
import warnings
for _ in range(2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with no_syncs():
            torch.cuda.cudart().cudaHostRegister(0, 0, 0)
    print([str(w.message).partition(";")[0] for w in caught if w.filename.endswith("code.py")])
try:
    with no_syncs():
        torch.cuda.cudart().cudaHostRegister(0, 0, 0)
        x.sum().item()
except SyncsFoundError as error:
    print(str(error).splitlines()[-1].partition(";")[0])
"""
    warned = "['the count of synchronisations may lack some']"
    assert run(tmp_path, code) == [warned, warned, "There may be more"]


def test_where_nothing_can_see_it_does_not_begin(tmp_path):
    code = """
    import torch
    from torchperf_lint import no_syncs
    if torch.cuda.is_available():
        print("a device")
    else:
        try:
            with no_syncs():
                print("not reached")
        except torchperf_lint.CannotSeeSyncsError as error:
            print(error)
    """
    (line,) = python(tmp_path, code, simulate=False)
    assert line == "a device" or (
        line.startswith("nothing can see a synchronisation here: torch ") and "simulate" in line
    )


CALLBACKS = """
import torch
from torch.cuda import _gpu_trace
from torchperf_lint import SyncsFoundError, no_syncs
from torchperf_lint.runtime.probes import _listening

_listening.why_deaf = lambda: None
torch._C._activate_gpu_trace = lambda: None
fire = _gpu_trace.StreamSynchronizationCallbacks.fire_callbacks
others = []

def profiler():
    source = "def wait():\\n    fire(0)\\n"
    scope = {"fire": fire}
    exec(compile(source, torch.__path__[0] + "/autograd/profiler.py", "exec"), scope)
    scope["wait"]()

try:
    with no_syncs():
        fire(0)
        profiler()
        _gpu_trace.DeviceSynchronizationCallbacks.fire_callbacks()
except SyncsFoundError as error:
    print(error)
print(_gpu_trace.StreamSynchronizationCallbacks.callback_list)
fire(0)
"""


def test_a_real_device_is_heard_through_torchs_callbacks_which_are_left_as_they_were(tmp_path):
    assert python(tmp_path, CALLBACKS, simulate=False) == [
        "2 synchronisations with the device where none is allowed:",
        "  code.py:21: once, stream",
        "    fire(0)",
        "  code.py:23: once, device",
        "    _gpu_trace.DeviceSynchronizationCallbacks.fire_callbacks()",
        "[]",
    ]


async def coroutine():
    pass


def generator():
    yield


@pytest.mark.parametrize("function", [coroutine, generator, dict])
def test_what_runs_after_the_call_is_refused(function):
    with pytest.raises(TypeError, match="cannot guard"):
        no_syncs()(function)


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "1"])
def test_a_number_that_is_none_is_refused(wrong):
    with pytest.raises(TypeError, match="at_most"):
        no_syncs(wrong)


def test_other_mistakes_are_named():
    with pytest.raises(TypeError, match="with parentheses"):
        no_syncs(lambda: None)
    with pytest.raises(TypeError, match="cannot allow any"):
        no_syncs(1, immediate=True)


def test_errors_belong_to_our_tree_and_travel_between_processes():
    site = SyncSite("train.py", 3, "item", 2, "step", ("train.py", 9))
    error = pickle.loads(pickle.dumps(SyncsFoundError("said", (site,), 1)))
    assert (str(error), error.sites, error.at_most, error.count) == ("said", (site,), 1, 2)
    assert isinstance(error, AssertionError)
    assert issubclass(SyncsFoundError, TorchPerfError) and issubclass(CannotSeeSyncsError, TorchPerfError)


def test_the_package_says_what_it_offers():
    assert {"no_syncs", "watch", "simulate", "SyncsFoundError"} <= set(dir(torchperf_lint))
    with pytest.raises(AttributeError, match="no attribute 'nosyncs'"):
        _ = torchperf_lint.nosyncs


def test_importing_the_package_imports_no_torch(tmp_path):
    code = (
        "import sys\nfrom torchperf_lint import no_syncs, watch\nprint({'torch', 'libcst', 'rich'} & set(sys.modules))"
    )
    assert python(tmp_path, code, simulate=False) == ["set()"]
