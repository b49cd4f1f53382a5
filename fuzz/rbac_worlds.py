"""Small random worlds of roles: a Casbin model, its policy lines, and requests that come close to them.

Biased to what is easily got wrong: chains of roles around the depth limit, cycles, globs and prefixes, denials beside
grants, domains, `*` as a value, names that end in slashes or begin with dots, or hold what keys are made with.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import NamedTuple

from policyengine.policies.rbac import DEPTH

NAMES = (
    "mcp__github__get",
    "mcp__github__",
    "mcp__gitlab__get",
    "mcp__",
    "bash",
    "b",
    "bash/",
    ".bash",
    "a/b",
    "*",
    "a*b",
)
MARKED = (
    "\0bash",
    "bash\0",
    "\1",
    "b\0invoke\0",
    "\x012\1b",
    "\x013\1mcp__",
)  # with what keys of an index are made with
PREFIXES = ("mcp__github__*", "mcp__git*", "mcp__*", "*", "bash", "b*", "bash*", "mcp__github__get", "a*")
GLOBS = (*PREFIXES, "mcp__*__get", "?ash", "b?s?", "*s*", "*a*h", "mcp__*t*__*", ".b*", "*h")
PYCASBIN_GLOBS = (*GLOBS, "a/*", "[ab]ash", "{bash}", "**")  # these are left to pycasbin
ACTIONS = ("invoke", "use", "read")
DOMAINS = ("shop", "bank", "*")
EFFECTS = (
    "some(where (p.eft == allow))",
    "some(where (p.eft == allow)) && !some(where (p.eft == deny))",
    "!some(where (p.eft == deny))",
)
PRIORITY = "priority(p.eft) || deny"
OTHER_MATCHERS = (  # no index for these
    'r.sub == p.sub && r.act == p.act && regexMatch(r.name, "mcp.*")',
    'g(r.sub, p.sub) && r.act == p.act || r.sub == "root"',
    "g(r.sub, p.sub) && keyMatch2(r.name, p.name) && r.act != p.act",
)


class World(NamedTuple):
    """A model, its lines, and requests. `fault` names what has to be refused; empty where nothing has to be."""

    model: str
    policy: str
    requests: tuple[tuple[str, ...], ...]
    depth: int
    only_denies: bool
    fault: str


class _Field(NamedTuple):
    name: str
    term: str
    said: tuple[str, ...]
    asked: tuple[str, ...]


def world(chance: random.Random, requests: int = 50) -> World:
    """Make up a world."""
    domains = chance.random() < 0.4
    chain = [f"r{number}" for number in range(chance.choice((3, 8, 9, 10, 11, 11, 12, 12)))]
    fields = _fields(chance, domains, chain)
    effect = chance.choices((*EFFECTS, PRIORITY), (4, 8, 2, 1))[0]
    with_effect = effect != EFFECTS[0] or chance.random() < 0.5
    matcher = " && ".join(field.term for field in chance.sample(fields, len(fields)))
    if not domains and chance.random() < 0.1:
        matcher = chance.choice(OTHER_MATCHERS)
    roles = {"g": domains} if "g(" in matcher or "g2(" in matcher else {}  # Casbin reads no g2 without g
    roles |= {"g2": False} if "g2(" in matcher else {}
    lines = [_line(chance, fields, effect, with_effect) for _ in range(chance.randint(1, 10))]
    if effect == EFFECTS[2]:
        lines.append(_line(chance, fields, "", False) + ", deny")
    for name, has_domain in roles.items():
        lines += _links(chance, name, has_domain, chain if name == "g" else list(GLOBS[:5]))
    fault = chance.choice(FAULTS) if chance.random() < 0.05 else ""
    chance.shuffle(lines)
    return World(
        model=_model([field.name for field in fields], with_effect, roles, effect, matcher),
        policy="\n".join(_faulty(chance, lines, fault, len(fields), with_effect)),
        requests=tuple(tuple(chance.choice(field.asked) for field in fields) for _ in range(requests)),
        depth=DEPTH if chance.random() < 0.7 else chance.randint(1, 12),
        only_denies=effect == EFFECTS[2],
        fault=fault,
    )


def _fields(chance: random.Random, domains: bool, chain: list[str]) -> list[_Field]:
    people = (*[chain[0]] * 4, *chain[:2], *chain[-3:], "stranger", "root")
    subject = 'g(r.sub, p.sub, r.dom) || g(r.sub, p.sub, "*")' if domains else 'g(r.sub, p.sub) || p.sub == "*"'
    plain = (
        "g(r.sub, p.sub, r.dom)" if domains else chance.choice(("g(r.sub, p.sub)", "g(r.sub, p.sub)", "r.sub == p.sub"))
    )
    term = f"({subject})" if chance.random() < 0.4 else plain
    fields = [_Field("sub", term, (*chain[-4:], *chain[-3:], *chain[:1], "*" if "*" in term else "root"), people)]
    if domains:
        term = chance.choice(("r.dom == p.dom", "keyMatch(r.dom, p.dom)", '(r.dom == p.dom || p.dom == "*")'))
        fields.append(_Field("dom", term, DOMAINS, (*DOMAINS, "")))
    if chance.random() < 0.3:
        fields.append(_Field("kind", '(p.kind == "*" || p.kind == r.kind)', ("tool", "model", "*"), ("tool", "model")))
    term, said = chance.choice((
        ("r.name == p.name", NAMES[:6]),
        ("keyMatch(r.name, p.name)", (*PREFIXES, "*", "*", "mcp__*", *(MARKED if chance.random() < 0.1 else ()))),
        ("globMatch(r.name, p.name)", (*GLOBS, "*", "mcp__*") if chance.random() < 0.8 else PYCASBIN_GLOBS),
        ("g2(r.name, p.name)", GLOBS),
    ))  # fmt: skip
    fields.append(_Field("name", term, said, (*NAMES, *MARKED[:2], chance.choice(MARKED))))
    fields.append(
        _Field(
            "act",
            chance.choice(("r.act == p.act", "keyMatch(r.act, p.act)")),
            ("invoke", "invoke", *ACTIONS, "*"),
            ("invoke", *ACTIONS),
        )
    )
    return fields


def _line(chance: random.Random, fields: list[_Field], effect: str, with_effect: bool) -> str:
    said = [chance.choice(field.said) for field in fields]
    return ", ".join(("p", *said, *([chance.choice(("allow", "allow", "deny"))] if with_effect else ())))


def _links(chance: random.Random, name: str, has_domain: bool, chain: list[str]) -> list[str]:
    """A chain, some of it missing, with short cuts and ways back."""
    pairs = [pair for pair in pairwise(chain) if chance.random() < 0.99]
    pairs += [(chance.choice(chain), chance.choice(chain)) for _ in range(chance.randint(0, 2))]
    pairs.append(("root", chain[0]))
    domain = chance.choice(DOMAINS)
    other = chance.choice((domain, domain, domain, chance.choice(DOMAINS)))
    return [
        ", ".join((name, *pair, *([domain if at < len(chain) // 2 else other] if has_domain else ())))
        for at, pair in enumerate(pairs)
    ]


def _model(names: list[str], with_effect: bool, roles: dict[str, bool], effect: str, matcher: str) -> str:
    definitions = "\n".join(f"{name} = _, _{', _' if has_domain else ''}" for name, has_domain in roles.items())
    return "\n".join((
        "[request_definition]", f"r = {', '.join(names)}",
        "[policy_definition]", f"p = {', '.join((*names, *(['eft'] if with_effect else ())))}",
        *(("[role_definition]", definitions) if roles else ()),
        "[policy_effect]", f"e = {effect}",
        "[matchers]", f"m = {matcher}",
    ))  # fmt: skip


# What pycasbin takes and we refuse.
FAULTS = ("empty", "short", "long", "type", "eval", "effect", "quote", "comment")


def _faulty(chance: random.Random, lines: list[str], fault: str, size: int, with_effect: bool) -> list[str]:
    fields = ["x"] * size
    effect = ["allow"] if with_effect else []
    wrong = {
        "empty": "",
        "short": ["p", *fields, *effect][:-1],
        "long": ["p", *fields, *effect, "more"],
        "type": ["p7", *fields, *effect],
        "eval": ["p", *fields[1:], "eval(x)", *effect],
        "effect": ["p", *fields, "denied"] if with_effect else ["q", *fields],
        "quote": ["p", *fields[1:], '"x"', *effect],
        "comment": ["p", *fields[1:], "x # all of them", *effect],
    }
    if not fault:
        return lines
    if fault == "empty":
        return ["# nothing"]
    return [*lines, ", ".join(wrong[fault])]
