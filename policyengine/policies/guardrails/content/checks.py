"""What a number has to fulfil beside its shape: check digits, and values that are never given out.

Each check takes the text that a detector's expression found. Sources are named with each; separators never count.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import log2

_PLACEHOLDERS = (
    "example",
    "changeme",
    "placeholder",
    "redacted",
    "dummy",
    "your",
    "xxxx",
    "****",
    "password",
    "0123456789",
)
LEAST_BITS = 3.0  # of entropy a character, below which no generated secret of 16 characters or more lies


def _digits(text: str) -> list[int]:
    return [int(character) for character in text if "0" <= character <= "9"]


def _plain(text: str) -> str:
    return "".join(character for character in text if character.isalnum()).upper()


def _weighted(digits: Iterable[int], weights: Iterable[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(text: str) -> bool:
    """ISO/IEC 7812-1: payment cards, Canadian and Swedish numbers, IMEI."""
    digits = _digits(text)
    doubled = [digit if at % 2 == 0 else sum(divmod(digit * 2, 10)) for at, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(doubled) % 10 == 0


def iban(text: str) -> bool:
    """ISO 13616: the remainder of 97, and the length of the country where it is a known one."""
    value = _plain(text)
    if _IBAN_LENGTHS.get(value[:2], len(value)) != len(value):
        return False
    return int("".join(str(int(character, 36)) for character in value[4:] + value[:4])) % 97 == 1


_IBAN_LENGTHS: Mapping[str, int] = {
    "AT": 20, "BE": 16, "CH": 21, "CZ": 24, "DE": 22, "DK": 18, "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27,
    "HU": 28, "IE": 22, "IL": 23, "IT": 27, "LU": 20, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SA": 24,
    "SE": 24, "TR": 26, "AE": 23,
}  # fmt: skip


def us_ssn(text: str) -> bool:
    """Social Security Administration: areas, groups and serials that are never assigned, and published specimens."""
    value = "".join(map(str, _digits(text)))
    area, group, serial = value[:3], value[3:5], value[5:]
    specimens = {"078051120", "219099999", "123456789", "987654320"}
    return (
        len(set(value)) > 1
        and area not in ("000", "666")
        and area < "900"
        and group != "00"
        and serial != "0000"
        and value not in specimens
    )


def aba(text: str) -> bool:
    """American Bankers Association routing numbers: weights 3, 7, 1."""
    digits = _digits(text)
    return len(digits) == 9 and any(digits) and _weighted(digits, (3, 7, 1) * 3) % 10 == 0


def npi(text: str) -> bool:
    """National Provider Identifier (45 CFR 162.406): Luhn with the prefix 80840."""
    return len(set(text)) > 2 and luhn("80840" + text)


def uk_nhs(text: str) -> bool:
    """NHS number: modulus 11."""
    digits = _digits(text)
    check = 11 - _weighted(digits, range(10, 1, -1)) % 11
    return len(digits) == 10 and len(set(digits)) > 1 and digits[9] == check % 11 and check != 10


def au_abn(text: str) -> bool:
    """Australian Business Number: modulus 89."""
    digits = _digits(text)
    weights = (10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)
    return len(digits) == 11 and (_weighted(digits, weights) - weights[0]) % 89 == 0


def au_acn(text: str) -> bool:
    """Australian Company Number: modulus 10."""
    digits = _digits(text)
    return len(digits) == 9 and any(digits) and (10 - _weighted(digits, range(8, 0, -1)) % 10) % 10 == digits[8]


def au_medicare(text: str) -> bool:
    """Australian Medicare card: the ninth digit checks the eight before it."""
    digits = _digits(text)
    return len(digits) in (10, 11) and 2 <= digits[0] <= 6 and _weighted(digits, (1, 3, 7, 9) * 2) % 10 == digits[8]


def verhoeff(text: str) -> bool:
    """Aadhaar (UIDAI): the dihedral group of order ten."""
    check = 0
    digits = _digits(text)
    for at, digit in enumerate(reversed(digits)):
        for _ in range(at % 8):
            digit = _PERMUTED[digit]  # noqa: PLW2901  the permutation is applied as often as the place says
        check = _product(check, digit)
    return check == 0 and len(set(digits)) > 1


_PERMUTED = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def _product(one: int, other: int) -> int:
    """Multiply in D5: rotations are 0 to 4, reflections 5 to 9."""
    if one < 5:
        return (one + other) % 5 if other < 5 else (one + other) % 5 + 5
    return (one - other) % 5 + 5 if other < 5 else (one - other) % 5


def es_nif(text: str) -> bool:
    """Spanish NIF and NIE: a letter by the remainder of 23."""
    value = _plain(text)
    number = value[:-1].translate(str.maketrans("XYZ", "012"))
    return number.isdigit() and "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == value[-1]


def it_fiscal_code(text: str) -> bool:
    """Italian codice fiscale (D.M. 23/12/1976): a letter by the sum of two tables."""
    value = _plain(text)
    total = sum(
        _ODD[character] if at % 2 == 0 else int(character, 36) % 36 - (10 if character.isalpha() else 0)
        for at, character in enumerate(value[:15])
    )
    return len(value) == 16 and chr(ord("A") + total % 26) == value[15]


_ODD = dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)) | dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
        strict=True,
    )
)


def fi_hetu(text: str) -> bool:
    """Finnish personal identity code: a character by the remainder of 31."""
    value = text.upper()
    return "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(value[:6] + value[7:10]) % 31] == value[10]


def pl_pesel(text: str) -> bool:
    """Polish PESEL: weights 1, 3, 7, 9, and a date."""
    digits = _digits(text)
    month = (digits[2] * 10 + digits[3]) % 20
    day = digits[4] * 10 + digits[5]
    fits = _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0
    return fits and 1 <= month <= 12 and 1 <= day <= 31


def se_personnummer(text: str) -> bool:
    """Swedish personnummer: Luhn over the last ten digits, and a date."""
    digits = _digits(text)[-10:]
    month, day = digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]
    return 1 <= month <= 12 and 1 <= day % 60 <= 31 and luhn("".join(map(str, digits)))


def sg_nric(text: str) -> bool:
    """Singaporean NRIC and FIN: a letter by the remainder of 11."""
    value = text.upper()
    total = _weighted(_digits(value), (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(value[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "F": "XWUTRQPNMLK", "G": "XWUTRQPNMLK", "M": "XWUTRQPNJLK"}
    at = 10 - total % 11 if value[0] == "M" else total % 11
    return letters[value[0]][at] == value[-1]


def kr_rrn(text: str) -> bool:
    """Korean resident and foreigner numbers: a date, and a century digit."""
    digits = _digits(text)
    month, day = digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]
    return 1 <= month <= 12 and 1 <= day <= 31


def tr_id(text: str) -> bool:
    """Turkish identity number: two check digits."""
    digits = _digits(text)
    tenth = (sum(digits[0:9:2]) * 7 - sum(digits[1:8:2])) % 10
    return len(digits) == 11 and digits[0] != 0 and digits[9] == tenth and sum(digits[:10]) % 10 == digits[10]


def th_id(text: str) -> bool:
    """Thai identity number: modulus 11."""
    digits = _digits(text)
    return len(digits) == 13 and digits[0] != 0 and (11 - _weighted(digits, range(13, 1, -1)) % 11) % 10 == digits[12]


def za_id(text: str) -> bool:
    """South African identity number: a date, citizenship, and Luhn."""
    digits = _digits(text)
    month, day = digits[2] * 10 + digits[3], digits[4] * 10 + digits[5]
    return 1 <= month <= 12 and 1 <= day <= 31 and digits[10] in (0, 1, 2) and luhn(text)


def de_tax_id(text: str) -> bool:
    """German Steueridentifikationsnummer (ISO 7064 MOD 11, 10)."""
    digits = _digits(text)
    if len(digits) != 11 or digits[0] == 0:
        return False
    product = 10
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = total * 2 % 11
    return (11 - product) % 10 == digits[10]


def bitcoin(text: str) -> bool:
    """Base58Check: the last four bytes are those of a double SHA-256."""
    number = 0
    for character in text:
        number = number * 58 + _BASE58.index(character)
    data = number.to_bytes(25, "big") if number < 1 << 200 else b""
    return len(data) == 25 and hashlib.sha256(hashlib.sha256(data[:21]).digest()).digest()[:4] == data[21:]


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def public_address(text: str) -> bool:
    """An IPv4 address that is somebody's: not private, loopback, link-local, documentation or of no host."""
    parts = _digits_of_parts(text)
    first, second = parts[0], parts[1]
    private = first in (0, 10, 127) or first >= 224 or (first == 172 and 16 <= second <= 31)
    private = private or (first, second) in ((192, 168), (169, 254)) or parts[:3] in _DOCUMENTATION
    return max(parts) <= 255 and not private


_DOCUMENTATION = ([192, 0, 2], [198, 51, 100], [203, 0, 113])  # RFC 5737


def _digits_of_parts(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def random_text(text: str) -> bool:
    """Text as a generator makes it: digits and letters, many different ones, and no word for a stand-in.

    Entropy is counted over the characters of the text alone, so it says little of short ones; words have no digits.
    """
    lowered = text.lower()
    kinds = {"digit" if character.isdigit() else "letter" for character in lowered if character.isalnum()}
    if len(kinds) < 2 or any(word in lowered for word in _PLACEHOLDERS):
        return False
    bits = -sum(count / len(text) * log2(count / len(text)) for count in Counter(text).values())
    return bits >= LEAST_BITS


CHECKS: Mapping[str, Callable[[str], bool]] = {
    check.__name__.replace("_", "-"): check
    for check in (
        luhn, iban, us_ssn, aba, npi, uk_nhs, au_abn, au_acn, au_medicare, verhoeff, es_nif, it_fiscal_code, fi_hetu,
        pl_pesel, se_personnummer, sg_nric, kr_rrn, tr_id, th_id, za_id, de_tax_id, bitcoin, public_address,
        random_text,
    )
}  # fmt: skip
