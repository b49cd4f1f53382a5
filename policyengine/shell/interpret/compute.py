"""Programs whose output is a simple function of constants: decoders and text tools that hide what will run.

Each takes the arguments and the whole input text, and gives the output or None where it does not compute it.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Sequence

from policyengine.patterns import lazily
from policyengine.shell.interpret.streams import MAX_TEXT, Stream
from policyengine.shell.paths import Place, base_name, resolve
from policyengine.shell.values import Value

_ALPHANUMERIC = lazily(r"[^A-Za-z0-9+/=]+")
_RANGE = lazily(r"(\\[0-7]{1,3}|\\.|[^\\])-(\\[0-7]{1,3}|\\.|[^\\])|(\\[0-7]{1,3}|\\.|[^\\])", re.DOTALL)
_CLASSES = {
    "upper": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "lower": "abcdefghijklmnopqrstuvwxyz",
    "digit": "0123456789",
    "space": " \t\n\r\v\f",
}
_CLASSES["alpha"] = _CLASSES["upper"] + _CLASSES["lower"]
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
MAX_SET = 256  # characters of one operand of tr


def _texts(arguments: list[Value]) -> list[str] | None:
    return [value.text for value in arguments] if all(value.exact for value in arguments) else None


def _decoded(data: bytes) -> str | None:
    if len(data) > MAX_TEXT:
        return None
    return data.decode("utf-8", "replace")


def _base64(arguments: list[Value], text: str) -> str | None:
    words = _texts(arguments) or []
    if not any(word in ("-d", "-D", "--decode", "-di", "-id") for word in words):
        return base64.b64encode(text.encode("utf-8", "replace")).decode() + "\n"
    compact = _ALPHANUMERIC.sub("", text)
    try:
        return _decoded(base64.b64decode(compact + "=" * (-len(compact) % 4)))
    except (binascii.Error, ValueError):
        return None


def _base32(arguments: list[Value], text: str) -> str | None:
    try:
        return _decoded(base64.b32decode("".join(text.split())))
    except (binascii.Error, ValueError):
        return None


def _xxd(arguments: list[Value], text: str) -> str | None:
    flags = "".join(word for word in _texts(arguments) or [] if word.startswith("-"))
    if "r" not in flags or "p" not in flags:
        return None
    try:
        return _decoded(bytes.fromhex("".join(text.split())))
    except ValueError:
        return None


def _rev(arguments: list[Value], text: str) -> str | None:
    del arguments
    return "\n".join([line[::-1] for line in text.split("\n")])


def _tac(arguments: list[Value], text: str) -> str | None:
    del arguments
    return "".join(line + "\n" for line in reversed(text.splitlines()))


def _tr(arguments: list[Value], text: str) -> str | None:
    words = _texts(arguments)
    if words is None:
        return None
    flags = "".join(word[1:] for word in words if word.startswith("-") and len(word) > 1)
    sets = [_characters(word) for word in words if not (word.startswith("-") and len(word) > 1)]
    if not sets or flags not in ("", "d") or None in sets:
        return None
    source, target = sets[0] or "", (sets[1] or "") if len(sets) > 1 else ""
    if flags == "d":
        return text.translate({ord(char): None for char in source})
    if not target:
        return None
    target += target[-1] * (len(source) - len(target))
    return text.translate({ord(a): b for a, b in zip(source, target, strict=False)})


def _characters(word: str) -> str | None:
    for name, members in _CLASSES.items():
        word = word.replace(f"[:{name}:]", members)
    if len(word) > MAX_SET:
        return None
    found: list[str] = []
    for low, high, single in _RANGE.findall(word):
        found.append(
            _one(single) if single else "".join(map(chr, range(ord(_one(low)), ord(_one(high)) + 1)[:MAX_SET]))
        )
    return "".join(found)


def _one(text: str) -> str:
    if text[0] != "\\" or len(text) == 1:
        return text
    return chr(int(text[1:], 8) & 255) if text[1].isdigit() and text[1] < "8" else _ESCAPES.get(text[1], text[1])


def _gunzip(arguments: list[Value], text: str) -> str | None:
    del arguments
    try:
        data = zlib.decompressobj(wbits=47).decompress(text.encode("latin-1"), MAX_TEXT)
    except (zlib.error, ValueError):
        return None
    return _decoded(data)


def _whole(arguments: list[Value], text: str) -> str | None:
    """`cat`: exactly what it reads, unless an option numbers or marks the lines."""
    words = _texts(arguments)
    return text if words is not None and not any(word.startswith("-") and len(word) > 1 for word in words) else None


def _tee(arguments: list[Value], text: str) -> str | None:
    del arguments
    return text


_EXCHANGED = lazily(r"s([^\w\s\\])([^\\.*\[\]^$+?(){}|\n]+?)\1([^\\&\n]*?)\1(g?)p?;?\Z")


def _sed(arguments: list[Value], text: str) -> str | None:
    """One substitution of a text that holds no pattern (`s/a/b/g`)."""
    words = _texts(arguments) or []
    scripts = [word for word in words if word not in ("-e", "-E", "-r", "-n", "-u", "-s")]
    found = _EXCHANGED.match(scripts[0]) if scripts and not scripts[0].startswith("-") else None
    if found is None or len(scripts) > 2:
        return None
    lines = [line.replace(found[2], found[3], -1 if found[4] else 1) for line in text.split("\n")]
    return (
        "\n".join(lines)
        if "-n" not in words
        else "".join([after + "\n" for before, after in zip(text.split("\n"), lines, strict=True) if before != after])
    )


COMPUTED: dict[str, Callable[[list[Value], str], str | None]] = {
    "base64": _base64,
    "base32": _base32,
    "xxd": _xxd,
    "rev": _rev,
    "tac": _tac,
    "tr": _tr,
    "gunzip": _gunzip,
    "zcat": _gunzip,
    "cat": _whole,
    "tee": _tee,
    "sed": _sed,
}


def printed(name: str, arguments: Sequence[Value], cwd: Place, home: str) -> Stream | None:
    """What programs print that look at nothing but their arguments; None for all others."""
    maker = _PRINTED.get(name)
    words = _texts(list(arguments)) if maker is not None else None
    if maker is None or words is None:
        return None
    given = [word for word in words if not word.startswith("-") or len(word) == 1]
    return maker(given, words, cwd, home)


def _line(text: str) -> Stream:
    return Stream(text + "\n")


def _dirname(given: list[str], words: list[str], cwd: Place, home: str) -> Stream | None:
    del words, cwd, home
    if len(given) != 1:
        return None
    head, slash, _ = given[0].rstrip("/").rpartition("/")
    return _line(head.rstrip("/") or slash or ".")


def _basename(given: list[str], words: list[str], cwd: Place, home: str) -> Stream | None:
    del cwd, home
    if not given or len(given) > 2 or len(words) != len(given):
        return None
    name = base_name(given[0]) or "/"
    return _line(name.removesuffix(given[1]) if len(given) == 2 and name != given[1] else name)


def _realpath(given: list[str], words: list[str], cwd: Place, home: str) -> Stream | None:
    """Lexically: symbolic links are not followed."""
    del words, home
    found = resolve(given[0], cwd) if len(given) == 1 else None
    return None if found is None or found.unknown else _line(found.path)


def _which(given: list[str], words: list[str], cwd: Place, home: str) -> Stream | None:
    """The program of that name, where such mostly lie."""
    del words, cwd, home
    return _line(given[0] if "/" in given[0] else f"/usr/bin/{given[0]}") if len(given) == 1 else None


def _whoami(given: list[str], words: list[str], cwd: Place, home: str) -> Stream | None:
    del given, words, cwd
    return _line(base_name(home))


def _seq(given: list[str], words: list[str], cwd: Place, home: str) -> Stream | None:
    del cwd, home
    if len(words) != len(given) or not 1 <= len(given) <= 3 or not all(_INTEGER.match(word) for word in given):
        return None
    numbers = [int(word) for word in given]
    first, step, last = (
        (1, 1, *numbers) if len(numbers) == 1 else (numbers[0], 1, numbers[1]) if len(numbers) == 2 else numbers
    )
    count = (last - first) // step + 1 if step else 0
    lines = [f"{first + at * step}\n" for at in range(min(count, MAX_SET))]  # more of them say nothing more
    return Stream("".join(lines)) if count > 0 else None


_INTEGER = lazily(r"-?\d{1,9}\Z")
_PRINTED: dict[str, Callable[[list[str], list[str], Place, str], Stream | None]] = {
    "dirname": _dirname,
    "basename": _basename,
    "realpath": _realpath,
    "which": _which,
    "whoami": _whoami,
    "seq": _seq,
}
