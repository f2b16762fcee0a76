"""The packages the benchmarks read: pinned wheels, fetched and unpacked, never installed or run."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
"""The environment in which `torchperf_lint` is the one beside the benchmarks."""
TRUTH = Path(__file__).parent / "truth"
PINNED = tuple((TRUTH / "packages.txt").read_text(encoding="utf-8").split())


def fetch(target: Path) -> None:
    """Unpack each package to `target/NAME-VERSION`. Wheels only: pip would run a source distribution's setup.py."""
    wheels = target / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--quiet", "--dest", str(wheels)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, *PINNED], check=True)
    for wheel in sorted(wheels.glob("*.whl")):
        unpacked = target / "-".join(wheel.name.split("-")[:2])
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(unpacked)
        print(unpacked)


def unpacked(target: Path) -> dict[str, Path]:
    """`NAME-VERSION` -> directory, of the pinned packages that lie in `target`; stops where one is missing."""
    found = {pin.replace("==", "-"): target / pin.replace("==", "-") for pin in PINNED}
    missing = [name for name, path in found.items() if not path.is_dir()]
    if missing:
        raise SystemExit(
            f"not in {target}: {', '.join(missing)}; `python benchmarks/packages.py {target}` fetches them"
        )
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    fetch(parser.parse_args().directory)
