"""A stand-in for the module pynvml: the cards a test gives it, in NVML's order."""

from dataclasses import dataclass, field
from types import SimpleNamespace


@dataclass
class Card:
    """What one device answers; a number is an NVML error to raise."""

    uuid: str
    name: str = "NVIDIA Test"
    busy: int = 0
    """Per cent, of the rate."""
    samples: list = field(default_factory=list)
    """(microseconds, per cent) that NVML has kept; or an error."""
    memory: tuple = (1 << 30, 8 << 30)
    """Used and total, in bytes."""
    power_mw: int = 300_000
    clock_mhz: int = 1980
    throttle: int = 0
    mig_mode: int = 0
    is_mig: bool = False
    errors: dict = field(default_factory=dict)
    """Name of a function -> the error it raises."""


class FakeNvml:
    """The module. `init_error` is what nvmlInit raises."""

    NVML_SUCCESS = 0
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_NOT_FOUND = 6
    NVML_ERROR_DRIVER_NOT_LOADED = 9
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_GPU_UTILIZATION_SAMPLES = 1
    NVML_CLOCK_SM = 1
    nvmlClocksThrottleReasonSwPowerCap = 0x4  # noqa: N815
    nvmlClocksThrottleReasonSwThermalSlowdown = 0x20  # noqa: N815
    nvmlClocksThrottleReasonHwThermalSlowdown = 0x40  # noqa: N815
    nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80  # noqa: N815

    class NVMLError(Exception):
        texts = {3: "Not Supported", 6: "Not Found", 9: "Driver Not Loaded", 15: "GPU is lost"}

        def __init__(self, value):
            super().__init__(self.texts[value])
            self.value = value

    def __init__(self, *cards, init_error=None):
        self._cards = cards
        self._init_error = init_error
        self.open = 0

    def nvmlInit(self):  # noqa: N802 -- NVML's names
        if self._init_error is not None:
            raise self.NVMLError(self._init_error)
        self.open += 1

    def nvmlShutdown(self):  # noqa: N802
        self.open -= 1

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        for card in self._cards:
            if card.uuid == uuid:
                return card
        raise self.NVMLError(self.NVML_ERROR_NOT_FOUND)

    def __getattr__(self, name):
        answers = {
            "nvmlDeviceGetName": lambda card: card.name,
            "nvmlDeviceIsMigDeviceHandle": lambda card: int(card.is_mig),
            "nvmlDeviceGetMigMode": lambda card: [card.mig_mode, card.mig_mode],
            "nvmlDeviceGetUtilizationRates": lambda card: SimpleNamespace(gpu=card.busy, memory=0),
            "nvmlDeviceGetMemoryInfo": lambda card: SimpleNamespace(used=card.memory[0], total=card.memory[1]),
            "nvmlDeviceGetPowerUsage": lambda card: card.power_mw,
            "nvmlDeviceGetClockInfo": lambda card, kind: card.clock_mhz,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda card: card.throttle,
            "nvmlDeviceGetSamples": self._samples_since,
        }
        if name not in answers:
            raise AttributeError(name)

        def call(card, *rest):
            if name in card.errors:
                raise self.NVMLError(card.errors[name])
            return answers[name](card, *rest)

        return call

    def _samples_since(self, card, kind, since):
        found = [
            SimpleNamespace(timeStamp=at, sampleValue=SimpleNamespace(uiVal=value))
            for at, value in card.samples
            if at > since
        ]
        if not found:
            raise self.NVMLError(self.NVML_ERROR_NOT_FOUND)
        return kind, found
