import io
import os
import socket
import tokenize
from pathlib import Path

import pytest

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.syntax import text

DECODABLE = [
    b"",
    b"x = 1",
    b"x = 1\r\ny = 2\r\n",
    b"\xef\xbb\xbfx = 1\n",
    b"\xef\xbb\xbf# coding: utf-8\nx = 1\n",
    b"# coding: latin-1\nx = '\xe9'\n",
    b"#!/usr/bin/env python\n# -*- coding: iso-8859-15 -*-\nx = '\xa4'\n",
    b"\n# vim: set fileencoding=cp1252 :\nx = '\x80'\n",
    b"\x0c\n# coding: latin-1\nx = '\xe9'\n",
    b"x = 1\n# coding: latin-1\n",
    b"x = 1  # coding: latin-1\n",
    b"# one\n# two\n# coding: klingon\n",
    "x = 'é € 🙂'\n".encode(),
]


@pytest.mark.parametrize("data", DECODABLE)
def test_decode_agrees_with_python(data: bytes) -> None:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    assert text.decode(data) == data.decode(encoding)


@pytest.mark.parametrize(
    ("data", "reason", "line"),
    [
        (b"a\nb\xe9\n", "not UTF-8 (byte 0xe9 in line 2) and declares no other encoding", 2),
        (b"a\r\rb\xe9", "not UTF-8 (byte 0xe9 in line 3) and declares no other encoding", 3),
        (b"#!x\n# coding: klingon\n", "declares the unknown encoding klingon", 2),
        (b"# coding: rot13\n", "not in the encoding it declares, rot13", 1),
        (b"# coding: utf-16\n", "declares utf-16, which cannot be the encoding of source", 1),
        (b"# coding: ascii\n\xe9", "not in the encoding it declares, ascii", 1),
        (b"# coding: utf-8\n\xe9", "not UTF-8 (byte 0xe9 in line 2)", 2),
        (b"\xef\xbb\xbf# coding: latin-1\n", "starts with a UTF-8 byte order mark but declares latin-1", 1),
        (b"x = 1\n\0", "holds NUL bytes", 2),
        ("x = 1\n".encode("utf-16"), "holds NUL bytes", 1),
        (b"\x7fELF\x02\x01\x01\0", "holds NUL bytes", 1),
    ],
)
def test_decode_says_what_is_wrong(data: bytes, reason: str, line: int) -> None:
    with pytest.raises(CannotCheck) as caught:
        text.decode(data)
    assert caught.value.reason.startswith(reason)
    assert caught.value.line == line


def test_read_keeps_newlines(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\rc\n")
    assert text.read(path) == "a\r\nb\rc\n"


def _reason(path: Path) -> str:
    with pytest.raises(CannotCheck) as caught:
        text.read(path)
    return caught.value.reason


def test_read_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "dir.py").mkdir()
    assert _reason(tmp_path / "dir.py") == "a directory, not a file"
    assert _reason(tmp_path / "missing.py") == "no such file"
    assert _reason(tmp_path / "missing.py" / "a.py") == "no such file"
    assert _reason(Path("a\0b")).startswith("cannot be opened")
    assert _reason(Path(os.devnull)) == "a device, not a file"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_read_does_not_wait_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert _reason(tmp_path / "pipe.py") == "a named pipe, not a file"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="this system has no sockets in the file system")
def test_read_refuses_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may be no longer than about a hundred bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.py")
        assert _reason(Path("socket.py")) == "a socket, not a file"


def test_read_refuses_a_loop_of_links(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("b.py")
    (tmp_path / "b.py").symlink_to("a.py")
    assert _reason(tmp_path / "a.py").startswith("cannot be read: ")


def test_read_has_a_fixed_cap(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"#" * text.MAX_BYTES)
    assert len(text.read(path)) == text.MAX_BYTES
    path.write_bytes(b"#" * (text.MAX_BYTES + 1))
    assert _reason(path) == "larger than 5 MB, the most that is read of one file"


def test_read_names_the_refusal_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = 1\n")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    assert _reason(path) == "cannot be read: permission denied"


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\n", ["a", ""]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("a\x0cb\x1cc\u2028d\x85e\n", ["a\x0cb\x1cc\u2028d\x85e"]),
        ("\r", [""]),
    ],
)
def test_split_lines(source: str, lines: list[str]) -> None:
    assert text.split_lines(source) == lines
