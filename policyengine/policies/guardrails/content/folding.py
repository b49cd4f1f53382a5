"""Text as a reader takes it: look-alikes, invisible characters and entities folded, each place known in the original.

A model reads a tag in wide brackets, with Cyrillic letters or with an invisible character in its name as it reads the
plain one, and `&lt;system&gt;` too. Folding is one character for one, so that places stay, except for entities and
escapes, whose places are kept in a list. Sources: Unicode UTS 39 (confusables), UAX 15, HTML 13.5 (named references),
RFC 8259 7 (escapes), RFC 3986 2.1 (percent-encoding).
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator

from policyengine.records import NamedTuple

UNSEEN = "\0"  # stands for a character that shows nothing
MAX_KNOWN = 20_000  # folded characters that are remembered

_LOOK_ALIKES = {
    "a": "\u0430\u0251\u03b1\u1ea1\u0101\uff41\u1d00",
    "b": "\u042c\u0184\u0299\u13cf",
    "c": "\u0441\u03f2\u1d04\u217d\u03c2",
    "d": "\u0501\u0257\u217e\u1d05",
    "e": "\u0435\u0454\u04bd\u03b5\u1d07",
    "f": "\u0192\u03dd\u0493",
    "g": "\u0261\u0581\u0262",
    "h": "\u04bb\u0570\u043d\u029c",
    "i": "\u0456\u0131\u03b9\u0269\u04cf\u2170\u0406\u026a",
    "j": "\u0458\u029d\u03f3",
    "k": "\u043a\u03ba\u1d0b",
    "l": "\u217c\u04cf\u029f",
    "m": "\u043c\u217f\u1d0d",
    "n": "\u043f\u0578\u03b7\u0274",
    "o": "\u043e\u03bf\u0585\u03c3\u1d0f",
    "p": "\u0440\u03c1\u1d18",
    "q": "\u051b\u0563",
    "r": "\u0433\u1d26\u0280",
    "s": "\u0455\ua731\u0282",
    "t": "\u0442\u03c4\u1d1b",
    "u": "\u03c5\u057d\u0446\u1d1c",
    "v": "\u0475\u03bd\u2174\u1d20",
    "w": "\u0461\u051d\u03c9\u1d21",
    "x": "\u0445\u03c7\u2179",
    "y": "\u0443\u04af\u03b3\u028f",
    "z": "\u1d22\u0290",
    "<": "\u2039\u3008\u27e8\u1438\u02c2\u276e\u276c\uff1c\ufe64\u227a",
    ">": "\u203a\u3009\u27e9\u1433\u02c3\u276f\u276d\uff1e\ufe65\u227b",
    "/": "\u2044\u2215\u29f8\uff0f\u2571",
    "[": "\uff3b\u27e6\u3010\u3014",
    "]": "\uff3d\u27e7\u3011\u3015",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d\u2500\u2501\u2e3a",
    "_": "\u2581\uff3f\ufe4d",
    "|": "\uff5c\u2223\u01c0\u2502\xa6",
    ":": "\uff1a\u2236\u02d0",
}  # fmt: skip
_FOLDED = {ord(look): letter for letter, looks in _LOOK_ALIKES.items() for look in looks}
_INVISIBLE = frozenset({"Cf", "Mn", "Me", "Cc", "Cs"})
_FILLERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5")


class _Fold(dict[int, str]):
    """Code point → the ASCII character that it looks like, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = _folded(chr(code))
        if len(self) < MAX_KNOWN:
            self[code] = folded
        return folded


def _folded(character: str) -> str:
    known = _FOLDED.get(ord(character))
    if known is not None:
        return known
    if character in "\t\n\r":
        return character
    category = unicodedata.category(character)
    if category in _INVISIBLE or character in _FILLERS:
        return UNSEEN
    if category == "Zs":
        return " "
    plain = unicodedata.normalize("NFKD", character)[:1]
    return plain if plain.isascii() else character


_fold = _Fold()
_UNUSUAL = re.compile(r"[^\t\n\r -~]")
_ENTITY = re.compile(
    r"&(?:(?:amp|AMP|#38|#[xX]26);){0,4}"
    r"(?:#0{0,8}([0-9]{2,7})|#[xX]0{0,8}([0-9a-fA-F]{2,6})|(lt|gt|LT|GT|lbrack|rbrack|lsqb|rsqb|sol|vert|verbar|hyphen"
    r"|dash|lowbar|colon|nbsp|zwnj|zwj|shy|lang|rang));?"
    r"|\\{1,4}u\{?0{0,4}([0-9a-fA-F]{2,6})\}?|\\{1,4}x([0-9a-fA-F]{2})|%(?:25){0,4}([0-7][0-9a-fA-F])"
)
_NAMED = {
    "lt": "<", "gt": ">", "LT": "<", "GT": ">", "lbrack": "[", "lsqb": "[", "rbrack": "]", "rsqb": "]", "sol": "/",
    "vert": "|", "verbar": "|", "hyphen": "-", "dash": "-", "lowbar": "_", "colon": ":", "nbsp": " ", "zwnj": UNSEEN,
    "zwj": UNSEEN, "shy": UNSEEN, "lang": "<", "rang": ">",
}  # fmt: skip
LONGEST_CODED = 40  # characters of one entity or escape


class Folded(NamedTuple):
    """Folded text. Where `places` is empty its places are those of the original."""

    text: str
    places: tuple[tuple[int, int], ...] = ()  # (place in the folded text, place in the original) behind each entity

    def original(self, place: int) -> int:
        """Where a place of the folded text lies in the original; within an entity, at its beginning."""
        at = bisect_right(self.places, (place, 1 << 62)) - 1
        if at < 0:
            return place
        folded, original = self.places[at]
        return original + place - folded

    def joined(self) -> Folded:
        """The same without what shows nothing: words that it split are whole."""
        pieces = self.text.split(UNSEEN)
        if len(pieces) == 1:
            return self
        places: list[tuple[int, int]] = []
        start = length = at = 0
        for piece in pieces:
            places.append((length, self.original(start)))
            while at < len(self.places) and self.places[at][0] <= start + len(piece):
                if self.places[at][0] > start:
                    places.append((length + self.places[at][0] - start, self.places[at][1]))
                at += 1
            start += len(piece) + 1
            length += len(piece)
        return Folded("".join(pieces), tuple(places))


def folded(text: str) -> Folded:
    """Fold a text."""
    plain = text.translate(_fold) if _UNUSUAL.search(text) else text
    if "&" not in plain and "\\" not in plain and "%" not in plain:
        return Folded(plain)
    pieces: list[str] = []
    places: list[tuple[int, int]] = []
    last = length = 0
    for start, end, character in _coded(plain):
        pieces += (plain[last:start], character)
        length += start - last + 1
        last = end
        places.append((length, end))
    return Folded("".join([*pieces, plain[last:]]), tuple(places))


def _coded(text: str) -> Iterator[tuple[int, int, str]]:
    """Every entity and escape that stands for an ASCII character or nothing: its place, and the character."""
    for match in _ENTITY.finditer(text):
        decimal, hexadecimal, named, unicode, byte, percent = match.groups()
        if named:
            character = _NAMED[named]
        else:
            code = int(decimal) if decimal else int(hexadecimal or unicode or byte or percent, 16)
            character = _fold[code] if 0x20 <= code <= 0x10FFFF else " "
        if character.isascii():
            yield match.start(), match.end(), character
