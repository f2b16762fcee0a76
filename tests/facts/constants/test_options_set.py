"""Whether anything sets an option to another number than 0."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.programs import Beside
from torchperf_lint.facts.constants.options_set import files_with, is_set, is_set_on_objects
from torchperf_lint.facts.files.project import Project


def told(text, *flags, settings=None, commands=""):
    project = Project.of_texts({"a.py": f"workers = 0\n{text}\n"})
    project.hotness.programs.beside = Beside(settings, commands=commands)
    return is_set(project, "workers", flags)


@pytest.mark.parametrize(
    "text",
    [
        "args.workers = 8",
        "args.workers += n",
        "parser.set_defaults(lr=1, workers=8)",
        "parser.set_defaults(lr=float('1e-3'), betas=(0.9, float(str(b))),\n    workers=8)",
        "parser.set_defaults(**{'workers': 8})",
        "setattr(args, 'workers', 8)",
        "object.__setattr__(self.args, 'workers', n)",
        "vars(args)['workers'] = 8",
        "args.__dict__.update({'workers': 8})",
        "vars(args).update(workers=n)",
        "parser.parse_args(namespace=argparse.Namespace(workers=8))",
        "args = dataclasses.replace(args, workers=8)",
        "run('train.py --workers 8')",
        "run(f'train.py --workers={n}')",
        "run([python, 'train.py', '--workers', '8'])",
        "run([python, 'train.py', \"--workers\", str(n)])",
        "run(['--workers', f'{n}'])",
        "command = 'train.py --workers %d' % n",
    ],
)
def test_set(text):
    assert told(text)


@pytest.mark.parametrize(
    "text",
    [
        "args.workers = 0",
        "parser.set_defaults(lr=1)\nshow(workers=8)",
        "parser.set_defaults(lr=float('1'), workers=0)",
        "setattr(args, 'workers', 0)",
        "setattr(args, 'worker', 8)",
        "vars(args)['workers'] = 0",
        "if vars(args)['workers'] == 8: pass",
        "run.config.update({'workers': args.workers})",
        "Namespace(workers=self.args.workers)",
        "run(['--workers', '0'])",
        "parser.add_argument('--workers', type=int, default=0)",
        "parser.add_argument('--workers', '-w', default=0)",
        "if args.workers == 4: pass",
        "run('train.py --threads 8')",
    ],
)
def test_not_set(text):
    assert not told(text)


def test_what_the_command_line_calls_it_and_settings():
    assert told("run('train.py --load-threads 8')", "load_threads")
    assert told("", settings="workers: 8")
    assert told("", settings="python train.py --workers 8")
    assert not told("", settings="epochs: 8")


def test_files_that_name_it():
    project = Project.of_texts({"a.py": "load_threads = 0", "b.py": "x = '--load-threads'", "c.py": "threads = 0"})
    assert files_with(project, "load_threads") == ("a.py", "b.py")


def test_looked_for_once(monkeypatch):
    project = Project.of_texts({f"m{i}.py": "args.workers = 0\n" for i in range(4)})
    read = []
    text = project.text
    monkeypatch.setattr(project, "text", lambda path: read.append(path) or text(path))
    assert not any(is_set(project, "workers") for _ in range(5))
    assert len(read) <= 12


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("data.workers = 8", True),
        ("self.data.workers = 8", True),
        ("setattr(data, 'workers', 8)", True),
        ("self.workers = 8", False),
        ("data.workers = 0", False),
        ("data.workers == 8", False),
    ],
)
def test_set_on_objects(text, expected):
    assert is_set_on_objects(Project.of_texts({"a.py": text}), "workers") is expected


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ("deepspeed main.py \\\n    --loader_workers=8 \\\n", True),
        ("python main.py --loader-workers 4", True),
        ("python main.py --loader_workers 0", False),
        ("python main.py --load workers", False),
    ],
)
def test_command_lines_that_are_written_down_set_an_option(commands, expected):
    assert told("", "loader_workers", commands=commands) is expected
