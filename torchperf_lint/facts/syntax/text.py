"""Bytes on disk to the text every other part reads, and that text to lines."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from torchperf_lint.errors import CannotCheck, CannotFix
from torchperf_lint.patterns import pattern

MAX_BYTES = 5 * 1024 * 1024
"""Larger files are not read. Fixed, so that an answer never depends on the machine."""

STRING = (
    r'"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*(?:"""|\Z)'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*(?:'''|\Z)"
    r'|"(?:\\\r\n|\\.|[^"\\\r\n])*"'
    r"|'(?:\\\r\n|\\.|[^'\\\r\n])*'"
)
"""A pattern (with re.DOTALL) of a string literal, for scanners that must not look into strings.

An unclosed triple quote runs to the end of the text, so that nothing is scanned twice.
"""
NEWLINE = r"\r\n|\r|\n"
"""A pattern of what ends a line."""

_BOM = codecs.BOM_UTF8
_COOKIE = pattern(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_NO_CODE = pattern(rb"[ \t\f]*(?:#|$)")
_NEWLINE = pattern(NEWLINE)
_NEWLINE_BYTES = pattern(NEWLINE.encode())
_KINDS = (
    (stat.S_ISDIR, "a directory, not a file"),
    (stat.S_ISFIFO, "a named pipe, not a file"),
    (stat.S_ISSOCK, "a socket, not a file"),
)
# Waits for no writer should a pipe take the file's place after the check; no newline translation on Windows.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class Stored:
    """A file's bytes, and the text that they are."""

    data: bytes
    text: str

    def encoded(self, text: str) -> bytes:
        """Another text as bytes, written as this one is. Raises CannotFix where not every byte would be kept."""
        declared = _declared_encoding(self.data)
        mark = _BOM if self.data.startswith(_BOM) else b""
        name = "utf-8" if mark or declared is None or _is_utf8(*declared) else declared[0]
        try:
            data = mark + text.encode(name)
            if mark + self.text.encode(name) == self.data and decode(data) == text:
                return data
        except (ValueError, CannotCheck) as error:
            raise CannotFix(f"the change cannot be written as {name}: {error}") from None
        raise CannotFix(f"it would not be the same bytes when it is written as {name} again")


def read(path: Path) -> str:
    """The text of a Python file, newlines as they are, without a byte order mark.

    Raises CannotCheck for what is missing, unreadable, not a regular file, over MAX_BYTES, or not text.
    """
    return stored(path).text


def read_mentioning(path: Path, words: Iterable[bytes]) -> str:
    """The text of a file in whatever encoding; empty where it has none of `words`, or is too large to be looked at.

    Raises CannotCheck for what is missing, unreadable or not a regular file.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            return ""
        data = _read_bytes(path)
    except OSError as error:
        raise CannotCheck(_os_reason(error)) from None
    return data.decode("utf-8-sig", "replace") if any(word in data for word in words) else ""


def stored(path: Path) -> Stored:
    """The text of a Python file with its bytes. Raises CannotCheck, as `read` does."""
    try:
        data = _read_bytes(path)
        return Stored(data, decode(data))
    except OSError as error:
        raise CannotCheck(_os_reason(error)) from None
    except ValueError as error:  # a path with a NUL
        raise CannotCheck(f"cannot be opened: {error}") from None


def decode(data: bytes) -> str:
    """`data` as Python decodes source (PEP 263), newlines as they are, without a byte order mark.

    Raises CannotCheck for NUL bytes, an encoding that does not exist, and bytes that are not in it.
    """
    nul = data.find(b"\0")
    if nul >= 0:
        raise CannotCheck("holds NUL bytes: binary, or not in an encoding Python reads", _line_of(data, nul))
    declared = _declared_encoding(data)
    if data.startswith(_BOM):
        if declared is not None and not _is_utf8(*declared):
            raise CannotCheck(f"starts with a UTF-8 byte order mark but declares {declared[0]}", declared[1])
        data, declared = data[len(_BOM) :], None
    if declared is None or _is_utf8(*declared):
        return _decode_utf8(data)
    return _decode_declared(data, *declared)


def split_lines(text: str) -> list[str]:
    r"""The lines of `text` as Python counts them, without their ends.

    Only \n, \r\n and \r end a line: not the form feed or U+2028, where str.splitlines would split. A newline
    at the end of the text ends its last line and begins no other; the empty text has no lines.
    """
    lines = _NEWLINE.split(text) if "\r" in text else text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _read_bytes(path: Path) -> bytes:
    _refuse_irregular(path.stat())
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        _refuse_irregular(os.fstat(file.fileno()))
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise CannotCheck(_too_large())
    return data


def _refuse_irregular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        reasons = [reason for is_kind, reason in _KINDS if is_kind(status.st_mode)]
        raise CannotCheck(reasons[0] if reasons else "a device, not a file")
    if status.st_size > MAX_BYTES:
        raise CannotCheck(_too_large())


def _too_large() -> str:
    return f"larger than {MAX_BYTES // 1024 // 1024} MB, the most that is read of one file"


def _os_reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    return f"cannot be read: {(error.strerror or str(error)).lower()}"


def _declared_encoding(data: bytes) -> tuple[str, int] | None:
    """The encoding declared in the first two lines, and the line; the first must be without code for the second."""
    for number, line in enumerate(_NEWLINE_BYTES.split(data.removeprefix(_BOM), maxsplit=2)[:2], 1):
        cookie = _COOKIE.match(line)
        if cookie:
            return cookie.group(1).decode("ascii", "replace"), number
        if not _NO_CODE.match(line):
            return None
    return None


def _is_utf8(name: str, line: int) -> bool:
    try:
        return codecs.lookup(name).name == "utf-8"
    except LookupError:
        raise CannotCheck(f"declares the unknown encoding {name}", line) from None


def _decode_utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = _line_of(data, error.start)
        byte = data[error.start]
        raise CannotCheck(
            f"not UTF-8 (byte 0x{byte:02x} in line {line}) and declares no other encoding", line
        ) from None


def _decode_declared(data: bytes, name: str, line: int) -> str:
    try:
        if "coding".encode(name) != b"coding":  # such a declaration cannot be true: it could not be read
            raise CannotCheck(f"declares {name}, which cannot be the encoding of source", line)
        text = data.decode(name)
        text.encode("utf-8")
    except (LookupError, ValueError) as error:
        raise CannotCheck(f"not in the encoding it declares, {name}: {error}", line) from None
    return text


def _line_of(data: bytes, offset: int) -> int:
    """The 1-based line of a byte."""
    return len(_NEWLINE_BYTES.findall(data, 0, offset)) + 1
