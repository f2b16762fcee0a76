"""torch's table of callbacks, played: pointers to pointers to functions, as C++ would follow them."""

import ctypes
import threading
import types

import pytest

from torchperf_lint.runtime.probes import _quiet

SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ulong)
NAMES = ("MemoryAllocation", "MemoryDeallocation", "EventRecord")


class Played:
    """An interpreter whose table has a function for each registry, among others that nobody may call."""

    def __init__(self, before=5, behind=7):
        self.called = []
        self.registries = {
            name: types.SimpleNamespace(fire_callbacks=self.hearing(name)) for name in (*NAMES, "Stream")
        }
        self.functions = [SIGNATURE(self.never)] * before
        self.at = {}
        for name, registry in self.registries.items():
            self.at[name] = len(self.functions)
            self.functions.append(SIGNATURE(lambda *_, registry=registry: registry.fire_callbacks()))
        self.functions += [SIGNATURE(self.never)] * behind + [SIGNATURE()] * 64
        self.table = (ctypes.c_void_p * len(self.functions))(
            *(ctypes.cast(function, ctypes.c_void_p).value for function in self.functions)
        )
        self.holder = (ctypes.c_void_p * 1)(ctypes.addressof(self.table))
        self.interpreter = (ctypes.c_void_p * 1)(ctypes.addressof(self.holder))
        self.state = ctypes.c_void_p(ctypes.addressof(self.interpreter))
        self.does = list(NAMES)

    def hearing(self, name):
        return lambda *_: self.called.append(name)

    def never(self, *_):
        self.called.append("never")

    def call(self, name):
        """What C++ does to call back."""
        holder = ctypes.c_void_p.from_address(self.state.value).value
        table = ctypes.c_void_p.from_address(holder).value
        function = ctypes.c_void_p.from_address(table + ctypes.sizeof(ctypes.c_void_p) * self.at[name]).value
        SIGNATURE(function)(holder, 1)

    def exercise(self):
        for name in self.does:
            self.call(name)

    def quiet(self):
        return _quiet.Quiet(self.state, {name: self.registries[name] for name in NAMES}, self.exercise)


@pytest.fixture
def played():
    return Played()


def test_what_is_silenced_is_not_called_any_more(played):
    assert played.quiet().begin()
    played.exercise()
    assert played.called == []


def test_what_is_not_silenced_is_still_called(played):
    assert played.quiet().begin()
    played.call("Stream")
    assert played.called == ["Stream"]


def test_torchs_own_table_stays_as_it_is(played):
    before = bytes(played.table)
    played.quiet().begin()
    assert bytes(played.table) == before


def test_the_end_gives_torch_its_own_table_back(played):
    real = played.state.value
    quiet = played.quiet()
    quiet.begin()
    quiet.end()
    played.exercise()
    assert (played.state.value, played.called) == (real, list(NAMES))


@pytest.mark.parametrize("does", [NAMES[:2], ()])
def test_what_cannot_all_be_found_is_left_alone(played, does):
    real = played.state.value
    played.does = list(does)
    assert not played.quiet().begin()
    assert played.state.value == real


def test_one_function_for_two_registries_is_left_alone(played):
    played.at["EventRecord"] = played.at["MemoryAllocation"]
    both = [played.registries[name] for name in ("MemoryAllocation", "EventRecord")]
    shared = SIGNATURE(lambda *_: [registry.fire_callbacks() for registry in both])
    played.table[played.at["MemoryAllocation"]] = ctypes.cast(shared, ctypes.c_void_p).value
    real = played.state.value
    assert not played.quiet().begin()
    assert played.state.value == real


def test_who_listens_on_another_thread_confuses_nobody(played):
    alone = played.exercise

    def exercise():
        other = threading.Thread(target=played.registries["EventRecord"].fire_callbacks)
        other.start()
        other.join()
        alone()

    played.exercise = exercise
    assert played.quiet().begin()
    played.called.clear()
    alone()
    assert played.called == []


def test_an_exercise_that_fails_leaves_torchs_own_table(played):
    real = played.state.value

    def exercise():
        raise RuntimeError("no such device")

    played.exercise = exercise
    assert not played.quiet().begin()
    assert played.state.value == real


def test_an_interrupt_leaves_torchs_own_table_and_goes_on(played):
    real = played.state.value

    def exercise():
        raise KeyboardInterrupt

    played.exercise = exercise
    with pytest.raises(KeyboardInterrupt):
        played.quiet().begin()
    assert played.state.value == real


def test_the_registries_are_left_as_they_were(played):
    before = {name: registry.fire_callbacks for name, registry in played.registries.items()}
    played.quiet().begin()
    assert {name: registry.fire_callbacks for name, registry in played.registries.items()} == before


def test_this_torch_shows_its_table():
    torch = pytest.importorskip("torch")
    library = ctypes.CDLL(f"{torch.__path__[0]}/lib/libc10.so")
    assert ctypes.c_void_p.in_dll(library, _quiet._STATE) is not None


def test_without_activation_there_is_nothing_to_copy():
    torch = pytest.importorskip("torch")
    assert _quiet.Quiet.of(torch, {}) is None or torch.cuda.is_available()
