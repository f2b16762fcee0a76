"""GPUs through a stand-in for NVML: the right card by its UUID, and what MIG and drivers keep back has a reason."""

import importlib
import os

import pytest
from fake_pynvml import Card, FakeNvml
from watching import wait_until

from torchperf_lint.runtime.nvml import Gpu
from torchperf_lint.runtime.sampler import Sampler

GET_SAMPLES, GET_RATES = "nvmlDeviceGetSamples", "nvmlDeviceGetUtilizationRates"
NOT_SUPPORTED = FakeNvml.NVML_ERROR_NOT_SUPPORTED


def watch(nvml, *gpus, then=None, samples=4):
    """What is said of `gpus`; `then` is called after a few samples, and followed by as many."""

    def import_module(name):
        return nvml if name == "pynvml" else importlib.import_module(name)

    one = Sampler(os.getpid(), period_s=0.01, import_module=import_module)
    one.watch_gpus(gpus)
    assert wait_until(lambda: one._gpus and one._samples >= samples)
    if then is not None:
        then()
        until = one._samples + samples
        assert wait_until(lambda: one._samples >= until)
    told = one.stop()
    assert nvml.open == 0
    return told


def test_cards_are_found_by_uuid_whatever_their_order():
    """As under CUDA_VISIBLE_DEVICES=1,0: CUDA's device 0 is NVML's second card."""
    first = Card("GPU-aa", "First", busy=10, memory=(1, 100), errors={GET_SAMPLES: NOT_SUPPORTED})
    second = Card("GPU-bb", "Second", busy=90, memory=(2, 200), errors={GET_SAMPLES: NOT_SUPPORTED})
    told = watch(FakeNvml(first, second), Gpu(0, "GPU-bb"), Gpu(1, "aa", "named"))
    assert told.series["gpu.0.busy_share"].mean == pytest.approx(0.9)
    assert told.series["gpu.1.busy_share"].mean == pytest.approx(0.1)
    assert told.series["gpu.0.memory_bytes"].max == 2
    assert [(gpu.index, gpu.name, gpu.memory_total_bytes, gpu.mig) for gpu in told.gpus] == [
        (0, "Second", 200, False),
        (1, "named", 100, False),
    ]
    assert {gpu.busy_from for gpu in told.gpus} == {GET_RATES}
    assert told.states["gpu"] == told.states["gpu.0"] == told.states["gpu.0.busy"] == "measured"


def test_all_that_a_card_tells():
    card = Card("GPU-aa", power_mw=250_500, clock_mhz=1755, throttle=0x4, errors={GET_SAMPLES: NOT_SUPPORTED})
    told = watch(FakeNvml(card), Gpu(0, "GPU-aa"))
    means = {name: summary.mean for name, summary in told.series.items() if name.startswith("gpu.")}
    assert means == {
        "gpu.0.busy_share": 0,
        "gpu.0.memory_bytes": 1 << 30,
        "gpu.0.power_w": 250.5,
        "gpu.0.sm_clock_mhz": 1755,
        "gpu.0.power_capped_share": 1,
        "gpu.0.heat_capped_share": 0,
    }
    assert all("gpu.0.busy_share" in point for point in told.course if "gpu.0.busy_share" in told.course[-1])


def test_nvmls_own_samples_are_preferred_and_those_from_before_the_run_left_out():
    card = Card("GPU-aa", busy=1, samples=[(10, 100), (20, 100)])
    told = watch(FakeNvml(card), Gpu(0, "GPU-aa"), then=lambda: card.samples.extend([(30, 20), (40, 40)]))
    assert told.gpus[0].busy_from == GET_SAMPLES
    busy = told.series["gpu.0.busy_share"]
    assert (busy.mean, busy.samples) == (pytest.approx(0.3), 1)


def test_without_a_single_sample_of_nvmls_there_is_no_number():
    told = watch(FakeNvml(Card("GPU-aa", busy=1)), Gpu(0, "GPU-aa"))
    assert told.gpus[0].busy_from == GET_SAMPLES
    assert "gpu.0.busy_share" not in told.series
    assert told.states["gpu.0.busy"].startswith("unavailable: ")


@pytest.mark.parametrize("card", [Card("MIG-cc", is_mig=True), Card("GPU-cc", mig_mode=1)], ids=["instance", "card"])
def test_mig_has_no_rates_and_says_so(card):
    names = (GET_SAMPLES, GET_RATES, "nvmlDeviceGetPowerUsage")
    card.errors = dict.fromkeys(names, NOT_SUPPORTED)
    told = watch(FakeNvml(card), Gpu(0, "GPU-cc"))
    reason = "unavailable: MIG (NVML says: Not Supported)"
    assert told.states["gpu.0.busy"] == told.states["gpu.0.power"] == reason
    assert told.gpus[0].mig is True
    assert told.series["gpu.0.memory_bytes"].mean == 1 << 30
    assert {"gpu.0.busy_share", "gpu.0.power_w"}.isdisjoint(told.series)


def test_each_call_fails_for_itself():
    errors = {"nvmlDeviceGetPowerUsage": NOT_SUPPORTED, "nvmlDeviceGetMigMode": NOT_SUPPORTED}
    card = Card("GPU-aa", busy=50, errors={**errors, GET_SAMPLES: NOT_SUPPORTED})
    told = watch(FakeNvml(card), Gpu(0, "GPU-aa"))
    assert told.states["gpu.0.power"] == "unavailable: NVML says: Not Supported"
    assert told.states["gpu.0.busy"] == "measured"
    assert told.gpus[0].mig is None


def test_a_card_that_is_lost_was_measured_until_then():
    card = Card("GPU-aa", busy=50, errors={GET_SAMPLES: NOT_SUPPORTED})

    def lose():
        card.errors[GET_RATES] = FakeNvml.NVML_ERROR_GPU_IS_LOST

    told = watch(FakeNvml(card), Gpu(0, "GPU-aa"), then=lose)
    assert told.states["gpu.0.busy"].startswith("measured until ")
    assert told.states["gpu.0.busy"].endswith(" s: NVML says: GPU is lost")
    assert told.series["gpu.0.busy_share"].mean == pytest.approx(0.5)


def test_a_missing_driver_is_the_reason():
    told = watch(FakeNvml(init_error=FakeNvml.NVML_ERROR_DRIVER_NOT_LOADED), Gpu(0, "GPU-aa"))
    assert told.states["gpu"] == "unavailable: NVML says: Driver Not Loaded"
    assert [gpu.busy_from for gpu in told.gpus] == [None]
    assert not any(name.startswith("gpu") for name in told.series)


def test_a_card_that_nvml_does_not_know_or_torch_does_not_name():
    told = watch(FakeNvml(Card("GPU-aa")), Gpu(0, "GPU-zz"), Gpu(1, None), Gpu(2, "GPU-aa"))
    assert told.states["gpu.0"] == "unavailable: NVML does not know GPU-zz: NVML says: Not Found"
    assert told.states["gpu.1"] == "unavailable: the script's torch does not tell the device's UUID"
    assert told.states["gpu.2"] == "measured"


def test_the_stand_in_has_only_names_that_the_real_module_has():
    pynvml = pytest.importorskip("pynvml")
    names = [name for name in vars(FakeNvml) if name.startswith(("nvmlClocks", "NVML_"))]
    names += ["nvmlDeviceGetName", "nvmlDeviceIsMigDeviceHandle", "nvmlDeviceGetMigMode", GET_SAMPLES, GET_RATES]
    names += ["nvmlDeviceGetMemoryInfo", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetClockInfo"]
    names += ["nvmlDeviceGetCurrentClocksThrottleReasons"]
    for name in names:
        real = getattr(pynvml, name)
        if isinstance(real, int):
            assert real == getattr(FakeNvml, name), name
    for value, text in FakeNvml.NVMLError.texts.items():
        error = pynvml.NVMLError(value)
        assert (error.value, str(error)) == (value, text)


def test_the_real_module_without_a_driver():
    pynvml = pytest.importorskip("pynvml")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        pass
    else:
        pynvml.nvmlShutdown()
        pytest.skip("there is a driver here")
    one = Sampler(os.getpid(), period_s=0.01)
    one.watch_gpus([Gpu(0, "GPU-aa")])
    assert wait_until(lambda: one._gpus)
    assert one.stop().states["gpu.0"].startswith("unavailable: NVML says: ")
