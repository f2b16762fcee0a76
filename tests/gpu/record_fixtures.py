"""Records runs of the fixtures' scripts on a card: record_fixtures.py FOLDER [train/mnist_like.py ...].

Each becomes FOLDER/train-mnist_like.events.jsonl, its header saying where it is from: device, driver, torch, date, the
hash of the script and of the record. What names the machine is taken out: its folders, its kernel, its host. Nothing
is written where there is no card: a record is never called one of a card that is not.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
SCRIPTS = ("train", "simulate")
NOT_ONE_PROCESS = ("two_ranks.py", "reads_argv.py")
TIMEOUT_S = 60
_UUID = re.compile(rb"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CARD = b"GPU-%08d-0000-0000-0000-000000000000"
DRIVE = ROOT / "tests" / "runtime" / "drive.py"


def origin() -> dict[str, str | None]:
    """Where this machine's records come from. Raises RuntimeError without a card."""
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("needs a CUDA device")
    return {
        "device": torch.cuda.get_device_name(0),
        "driver": driver(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "date": datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
    }


def driver() -> str | None:
    """The driver's version, None where NVML does not tell."""
    try:
        import pynvml

        pynvml.nvmlInit()
        version = pynvml.nvmlSystemGetDriverVersion()
    except Exception:  # noqa: BLE001 -- the package, the library or the driver may be missing
        return None
    return version if isinstance(version, str) else version.decode()


def tidied(record: bytes, root: str, packages: str) -> bytes:
    """A record without the folders of the machine that made it, this repository's and that of installed packages.

    Its cards are numbered from 0 in place of their own numbers.
    """
    cards: dict[bytes, int] = {}
    numbered = _UUID.sub(lambda found: _CARD % cards.setdefault(found.group(), len(cards)), record)
    return numbered.replace(packages.encode(), b"/site-packages").replace(root.encode(), b"/repo")


def stamp(record: Path, script: Path, where: dict[str, str | None]) -> None:
    """Say in the record's header where it is from."""
    whole = tidied(record.read_bytes(), str(ROOT), sysconfig.get_paths()["purelib"])
    first, _, rest = whole.partition(b"\n")
    hashes = {"script_sha256": hashlib.sha256(script.read_bytes()).hexdigest()}
    hashes["record_sha256"] = hashlib.sha256(rest).hexdigest()
    header = json.loads(first) | {"recorded": where | hashes, "host": None}
    if "platform" in header:
        header["platform"] = f"{platform.system()} {platform.machine()}"
    record.write_bytes(json.dumps(header, separators=(",", ":")).encode() + b"\n" + rest)


def command(script: Path, record: Path) -> list[str]:
    """The whole tool where it can run; its launcher alone, which finds nothing, where libcst is missing."""
    try:
        import libcst  # noqa: F401
    except ImportError:
        return [sys.executable, str(DRIVE), str(record), str(record.with_suffix(".ended")), str(script)]
    return [sys.executable, "-m", "torchperf_lint", "--runtime", "--isolated", "--events", str(record), str(script)]


def record(script: Path, folder: Path, where: dict[str, str | None]) -> str:
    """Run one script; the answer is what to print of it."""
    out = folder / f"{script.parent.name}-{script.stem}.events.jsonl"
    out.unlink(missing_ok=True)
    try:
        done = subprocess.run(
            command(script, out.resolve()), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return f"{script.name}: took longer than {TIMEOUT_S} s"
    if not out.exists():
        return f"{script.name}: exit {done.returncode}, nothing recorded: {done.stderr.strip()[-300:]}"
    stamp(out, script, where)
    out.with_suffix(".report.txt").write_text(done.stderr, encoding="utf-8")
    return f"{script.name}: exit {done.returncode}, {out.stat().st_size} bytes"


def main() -> None:
    folder, wanted = Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        where = origin()
    except RuntimeError as error:
        sys.exit(str(error))
    scripts = [FIXTURES / name for name in wanted] or [
        script
        for name in SCRIPTS
        for script in sorted((FIXTURES / name).glob("*.py"))
        if script.name not in NOT_ONE_PROCESS
    ]
    for script in scripts:
        print(record(script, folder, where), flush=True)


if __name__ == "__main__":
    main()
