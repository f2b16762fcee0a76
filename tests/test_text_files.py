"""Shell scripts, Dockerfiles, yaml and .env files: what is found in them, what is not, and how they are treated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchperf_lint.adapters.cli import main
from torchperf_lint.facts.processes.text_files import kind_of
from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings


def found(directory: Path, name: str, text: str, settings: Settings | None = None) -> list[tuple[str, int]]:
    """(code, line) of each finding and of the places merged into it."""
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    report = lint(Target(directory, settings or Settings(), (path,)))
    assert report.problems == ()
    return sorted((f.code, at.line) for f in report.findings for at in (f.location, *(r.location for r in f.related)))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("train.sh", "#!/bin/bash\nexport CUDA_LAUNCH_BLOCKING=1\npython train.py\n", [("TPL552", 2)]),
        ("train.sh", "CUDA_LAUNCH_BLOCKING='1' python train.py\n", [("TPL552", 1)]),
        ("train.sh", "cd src && CUDA_LAUNCH_BLOCKING=1 python train.py\n", [("TPL552", 1)]),
        ("train.sh", "A=1 \\\n  CUDA_LAUNCH_BLOCKING=1 \\\n  torchrun train.py\n", [("TPL552", 2)]),
        ("train.sh", "CUDA_LAUNCH_BLOCKING=1\nexport CUDA_LAUNCH_BLOCKING\n", [("TPL552", 1)]),
        ("train.sh", "set -a\nCUDA_LAUNCH_BLOCKING=1\n", [("TPL552", 2)]),
        ("run.sh", "docker run --gpus all -e CUDA_LAUNCH_BLOCKING=1 image\n", [("TPL552", 1)]),
        ("job.sbatch", "export TORCH_DISTRIBUTED_DEBUG=DETAIL\n", [("TPL762", 1)]),
        ("job.slurm", "export NCCL_DEBUG=TRACE NCCL_BLOCKING_WAIT=1\n", [("TPL762", 1), ("TPL762", 1)]),
        ("run.sh", "# export TORCH_DISTRIBUTED_DEBUG=OFF\nexport TORCH_DISTRIBUTED_DEBUG=DETAIL\n", [("TPL762", 2)]),
        ("run.bash", "for s in 1 2; do\n  CUDA_LAUNCH_BLOCKING=1 python train.py $s\ndone\n", [("TPL552", 2)]),
        (
            "run.sh",
            "CUDA_LAUNCH_BLOCKING=1 python a.py\nCUDA_LAUNCH_BLOCKING=1 python b.py\n",
            [("TPL552", 1), ("TPL552", 2)],
        ),
        ("Dockerfile", "FROM x\nENV CUDA_LAUNCH_BLOCKING=1\n", [("TPL552", 2)]),
        ("Dockerfile.gpu", "ENV CUDA_LAUNCH_BLOCKING 1\n", [("TPL552", 1)]),
        ("Dockerfile", "ENV A=1 \\\n    # more\n    PYTORCH_NO_CUDA_MEMORY_CACHING=1 \\\n    B=2\n", [("TPL407", 3)]),
        ("Dockerfile", "ENV PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64\n", [("TPL407", 1)]),
        ("c.yaml", 'env:\n  CUDA_LAUNCH_BLOCKING: "1"\n', [("TPL552", 2)]),
        ("c.yml", "environment:\n  - CUDA_LAUNCH_BLOCKING=1\n", [("TPL552", 2)]),
        ("c.yml", "env: {A: 1, CUDA_LAUNCH_BLOCKING: 1}\n", [("TPL552", 1)]),
        ("k8s.yaml", '  - name: TORCH_DISTRIBUTED_DEBUG\n    value: "DETAIL"\n', [("TPL762", 1)]),
        ("sky.yaml", "run: |\n  export CUDA_LAUNCH_BLOCKING=1\n  python train.py\n", [("TPL552", 2)]),
        ("sky.yaml", "run: CUDA_LAUNCH_BLOCKING=1 python train.py\n", [("TPL552", 1)]),
        (".env", "CUDA_LAUNCH_BLOCKING=1\n", [("TPL552", 1)]),
        ("run.sh", "CUDA_VISIBLE_DEVICES=-1 python train.py\n", [("TPL560", 1)]),
        ("run.sh", 'export CUDA_VISIBLE_DEVICES=""\npython -m pkg.train --lr 1\n', [("TPL560", 1)]),
        ("Dockerfile", 'RUN pip install torch==2.3.0+cpu\nCMD ["python", "train.py"]\n', [("TPL560", 1)]),
        (
            "setup.sh",
            "pip install torch --index-url https://download.pytorch.org/whl/cpu\ntorchrun scripts/finetune.py\n",
            [("TPL560", 1)],
        ),
        ("gpu.env", 'export PYTORCH_NO_CUDA_MEMORY_CACHING="1"  # x\n', [("TPL407", 1)]),
    ],
)
def test_a_setting_of_every_run_is_found(tmp_path, name, text, expected):
    assert found(tmp_path, name, text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.sh", "# export CUDA_LAUNCH_BLOCKING=1\n"),
        ("train.sh", "export CUDA_LAUNCH_BLOCKING=0\n"),
        ("train.sh", "export CUDA_LAUNCH_BLOCKING=${CUDA_LAUNCH_BLOCKING:-1}\n"),
        ("train.sh", "export CUDA_LAUNCH_BLOCKING=$BLOCKING\n"),
        ("train.sh", "export MY_CUDA_LAUNCH_BLOCKING=1\n"),
        ("train.sh", "CUDA_LAUNCH_BLOCKING=1\npython train.py\n"),
        ("train.sh", "export CUDA_LAUNCH_BLOCKING=1\nunset CUDA_LAUNCH_BLOCKING\npython train.py\n"),
        ("train.sh", 'if [ -n "$D" ]; then\n  export CUDA_LAUNCH_BLOCKING=1\nfi\n'),
        ("train.sh", 'if [ -n "$D" ]; then export CUDA_LAUNCH_BLOCKING=1; fi\n'),
        ("train.sh", '[ -n "$D" ] && export CUDA_LAUNCH_BLOCKING=1\n'),
        ("train.sh", 'case "$1" in\n  --debug) export CUDA_LAUNCH_BLOCKING=1 ;;\nesac\n'),
        ("train.sh", "blocking() {\n  export CUDA_LAUNCH_BLOCKING=1\n}\n"),
        ("train.sh", "cat <<EOF\nexport CUDA_LAUNCH_BLOCKING=1\nEOF\n"),
        ("train.sh", 'echo "export CUDA_LAUNCH_BLOCKING=1"\n'),
        ("train.sh", "echo retry with CUDA_LAUNCH_BLOCKING=1 set\n"),
        ("train.sh", 'usage="\n  CUDA_LAUNCH_BLOCKING=1 python train.py\n"\n'),
        ("train.sh", "CUDA_LAUNCH_BLOCKING=1 pytest tests\n"),
        ("train.sh", "PYTORCH_NO_CUDA_MEMORY_CACHING=1 compute-sanitizer python train.py\n"),
        ("train.sh", "# the training will hang without it\nexport CUDA_LAUNCH_BLOCKING=1\n"),
        ("train.sh", "export NCCL_P2P_DISABLE=1 NCCL_DEBUG=INFO\n"),
        ("train.sh", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"),
        ("debug_train.sh", "export CUDA_LAUNCH_BLOCKING=1\n"),
        ("tests/run.sh", "export CUDA_LAUNCH_BLOCKING=1\n"),
        (".github/workflows/gpu.yml", "env:\n  CUDA_LAUNCH_BLOCKING: 1\n"),
        ("Dockerfile", "RUN CUDA_LAUNCH_BLOCKING=1 python setup.py\n"),
        ("Dockerfile", "RUN pip install x && \\\n    CUDA_LAUNCH_BLOCKING=1 python setup.py\n"),
        ("Dockerfile", "ARG CUDA_LAUNCH_BLOCKING=1\n"),
        ("c.yaml", "description: set CUDA_LAUNCH_BLOCKING=1 to look for errors\n"),
        ("c.yaml", "env:\n  CUDA_LAUNCH_BLOCKING: ${{ inputs.blocking }}\n"),
        ("c.yaml", "{{- if .Values.slow }}\n  CUDA_LAUNCH_BLOCKING: 1\n{{- end }}\n"),
        ("c.yaml", "  # CUDA_LAUNCH_BLOCKING: 1\n"),
        (".env", "# CUDA_LAUNCH_BLOCKING=1\nCUDA_LAUNCH_BLOCKING=\n"),
        ("run.sh", "CUDA_VISIBLE_DEVICES=-1 python export.py\npython train.py\n"),
        ("run.sh", "CUDA_VISIBLE_DEVICES=0 python train.py\n"),
        ("run.sh", "CUDA_VISIBLE_DEVICES= python -m pytest tests/test_train.py\n"),
        ("Dockerfile", 'RUN pip install torch==2.3.0+cpu\nCMD ["python", "serve.py"]\n'),
        ("setup.sh", "pip install torch --index-url https://download.pytorch.org/whl/cu128\npython train.py\n"),
        ("notes.txt.yaml", ""),
    ],
)
def test_near_misses(tmp_path, name, text):
    assert found(tmp_path, name, text) == []


def test_a_reason_makes_it_possible_only(tmp_path):
    text = "export CUDA_LAUNCH_BLOCKING=1  # workaround for a hang\n"
    assert found(tmp_path, "a.sh", text, Settings(confidence=Confidence.POSSIBLE)) == [("TPL552", 1)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.sh", "export CUDA_LAUNCH_BLOCKING=1  # noqa: TPL552\n"),
        ("a.sh", "# torchperf-lint: ignore[TPL552]\nexport CUDA_LAUNCH_BLOCKING=1\n"),
        ("a.sh", "# noqa: TPL552\nA=1 \\\n  CUDA_LAUNCH_BLOCKING=1 \\\n  python a.py\n"),
        ("a.sh", "# torchperf-lint: ignore-file[TPL552]\n\nexport CUDA_LAUNCH_BLOCKING=1\n"),
        ("Dockerfile", "# noqa: TPL552\nENV CUDA_LAUNCH_BLOCKING=1\n"),
        ("c.yaml", "env:\n  CUDA_LAUNCH_BLOCKING: 1  # torchperf-lint: ignore[TPL552] it's asked for\n"),
    ],
)
def test_comments_silence_findings(tmp_path, name, text):
    assert found(tmp_path, name, text) == []


def test_a_comment_silences_its_own_statement_only(tmp_path):
    text = "# noqa: TPL552\nexport A=1\nexport CUDA_LAUNCH_BLOCKING=1\n"
    assert found(tmp_path, "a.sh", text) == [("TPL001", 1), ("TPL552", 3)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.sh", "python train.py  # noqa: TPL552\n", [("TPL001", 1)]),
        ("a.sh", "# torchperf-lint: ignore-file[TPL762]\nexport A=1\n", [("TPL001", 1)]),
        ("a.sh", "# torchperf-lint: ignore\nexport A=1\n", [("TPL001", 1)]),
        ("Dockerfile", "# noqa: TPL552, TPL762\nENV CUDA_LAUNCH_BLOCKING=1\n", [("TPL001", 1)]),
        ("c.yaml", "env:\n  CUDA_LAUNCH_BLOCKING: 0  # noqa: TPL552\n", [("TPL001", 2)]),
        ("a.sh", "export A=1  # noqa: TPL999\n", [("TPL001", 1)]),
        # What is needed, what others judge, and what may be for the Python that a script writes.
        ("a.sh", "# noqa: TPL552 - a workaround for a hang\nexport CUDA_LAUNCH_BLOCKING=1\n", []),
        ("a.sh", "export CUDA_LAUNCH_BLOCKING=1  # noqa: TPL5\n", []),
        ("a.sh", "export A=1  # noqa: E501\nexport B=1  # noqa\n", []),
        ("a.sh", "export A=1  # noqa: TPL552,TPL001\n", []),
        ("a.sh", "cat > a.py <<EOF\nx = y.item()  # noqa: TPL101\nEOF\n", []),
        (".pre-commit-config.yaml", "- id: torchperf-lint  # ignore what is old\n", []),
    ],
)
def test_comments_that_silence_nothing(tmp_path, name, text, expected):
    assert found(tmp_path, name, text) == expected


def test_a_comment_for_a_rule_that_did_not_run_is_not_judged(tmp_path):
    text = "export A=1  # noqa: TPL552\n"
    assert found(tmp_path, "a.sh", text, Settings(ignore=("TPL552",))) == []
    assert found(tmp_path, "a.sh", text, Settings(ignore=("TPL001",))) == []
    assert found(tmp_path, "a.sh", text, Settings(per_file_ignores=(("a.sh", ("TPL552",)),))) == []


def test_settings_speak_about_these_files_too(tmp_path):
    text = "export CUDA_LAUNCH_BLOCKING=1\n"
    assert found(tmp_path, "a.sh", text, Settings(ignore=("TPL5",))) == []
    assert found(tmp_path, "jobs/a.sh", text, Settings(per_file_ignores=(("jobs/", ("TPL552",)),))) == []


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00 CUDA_LAUNCH_BLOCKING", b"a: '\n" * 3, b"", b'"""\nCUDA_LAUNCH_BLOCKING=1']
)
def test_whatever_the_bytes_nothing_breaks(tmp_path, data):
    (tmp_path / "a.yaml").write_bytes(data)
    report = lint(Target(tmp_path, Settings(), (tmp_path / "a.yaml",)))
    assert report.problems == ()
    assert report.findings == ()


@pytest.mark.parametrize("given", [".", "a.sh"])
def test_the_command_line_reads_them(tmp_path, monkeypatch, capsys, given):
    (tmp_path / "a.sh").write_text("export CUDA_LAUNCH_BLOCKING=1\n")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "b.sh").write_text("export CUDA_LAUNCH_BLOCKING=1\n")
    monkeypatch.chdir(tmp_path)
    assert main([given, "--output-format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert (finding["path"], finding["line"], finding["column"], finding["code"]) == ("a.sh", 1, 8, "TPL552")


def test_fixing_and_silencing_leave_them_alone(tmp_path, monkeypatch, capsys):
    script = tmp_path / "a.sh"
    script.write_text("export CUDA_LAUNCH_BLOCKING=1\n")
    monkeypatch.chdir(tmp_path)
    assert main(["--fix", "--unsafe-fixes", "."]) == 1
    main(["--add-noqa", "reason", "."])
    capsys.readouterr()
    assert script.read_text() == "export CUDA_LAUNCH_BLOCKING=1\n"


@pytest.mark.parametrize("name", ["a.py", "Dockerfile.py", "a.ipynb", "sh", "script", "environment", "a.shx"])
def test_other_names_are_not_these_files(name):
    assert kind_of(name) is None
