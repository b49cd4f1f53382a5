"""A matcher's terms (`policies.rbac.shape`), or None where only pycasbin can evaluate it.

What pycasbin would not notice until a decision fails, or would get wrong, is refused for every matcher.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from policyengine.config.rbac.conf import Model
from policyengine.policies.rbac import Combining, Match, Shape, Term

FUNCTIONS = frozenset({
    "keyMatch", "keyMatch2", "keyMatch3", "keyMatch4", "keyMatch5",
    "regexMatch", "ipMatch", "globMatch", "timeMatch",
})  # fmt: skip
_CALLS = {"keyMatch": Match.KEY, "globMatch": Match.GLOB}
_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")
_NOT = re.compile(r"!(?!=)")
_STAR = "*"


def shape_of(model: Model) -> Shape | None:
    """Give the terms of a model's matcher where it compiles.

    Raises:
        LoadError: the matcher is no expression, evaluates text of policy lines, or names what is not there.
    """
    tree = _parsed(model)
    _check_names(model, tree)
    if model.combining is Combining.OTHER:
        return None
    terms = []
    for part in _conjuncts(tree):
        term = _term(model, part)
        if term is None:
            return None
        terms.append(term)
    return Shape(tuple(terms), model.combining, model.effect) if _are_apart(terms) else None


def _are_apart(terms: list[Term]) -> bool:
    """Whether no field is compared twice, one comparison is literal, and domains are the request's own."""
    requests, policies = {term.request for term in terms}, {term.policy for term in terms}
    roles = {term.request for term in terms if term.match is Match.ROLE}
    literal = any(term.match in (Match.ROLE, Match.EQUAL) for term in terms)
    domains = {term.domain for term in terms if term.domain is not None}
    return len(requests) == len(policies) == len(terms) and literal and not roles & domains


def _parsed(model: Model) -> ast.expr:
    """The tree that pycasbin evaluates. It replaces operators in the text, and so in the texts within it too."""
    text = model.matcher
    if any(sign in quoted for quoted in _TEXTS.findall(text) for sign in ("&&", "||", "!")):
        raise model.error(
            "a text with an operator in it, which Casbin would replace", "m", "texts without `&&`, `||`, `!`"
        )
    try:
        return ast.parse(_NOT.sub("not ", text.replace("&&", "and").replace("||", "or")).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise model.error("no expression", "m", "a condition over r and p") from error


def _check_names(model: Model, tree: ast.expr) -> None:
    functions = FUNCTIONS | set(model.roles)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
            if name == "eval":
                raise model.error("`eval()` makes code of policy lines", "m", "conditions in the matcher itself")
            if name not in functions:
                raise model.error(f"a function `{name}` that no file can give", "m", ", ".join(sorted(functions)))
        elif isinstance(node, ast.Attribute):
            raise model.error(f"`{ast.unparse(node)}`: requests are texts, which have no attributes", "m", "`r.FIELD`")
        elif isinstance(node, ast.Name) and id(node) not in called and _place(model, node) is None:
            expected = ", ".join((*(f"r.{name}" for name in model.request), *(f"p.{name}" for name in model.policy)))
            raise model.error(f"a name `{node.id}` that is not defined", "m", expected)


def _place(model: Model, node: ast.expr) -> tuple[str, int] | None:
    """Whose field a name is, and which."""
    if not isinstance(node, ast.Name):
        return None
    owner, underscore, field = node.id.partition("_")
    fields = {"r": model.request, "p": model.policy}.get(owner, ()) if underscore else ()
    return (owner, fields.index(field)) if field in fields else None


def _conjuncts(tree: ast.expr) -> Iterator[ast.expr]:
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for value in tree.values:
            yield from _conjuncts(value)
    else:
        yield tree


def _term(model: Model, tree: ast.expr) -> Term | None:
    if isinstance(tree, ast.BoolOp) and len(tree.values) == 2:  # an `or`: conjunctions are taken apart already
        return _alternative(model, *tree.values)
    if isinstance(tree, ast.Compare):
        return _comparison(model, tree)
    return _call(model, tree) if isinstance(tree, ast.Call) and not tree.keywords else None


def _comparison(model: Model, tree: ast.Compare) -> Term | None:
    if len(tree.ops) != 1 or not isinstance(tree.ops[0], ast.Eq):
        return None
    places = dict(place for side in (tree.left, tree.comparators[0]) if (place := _place(model, side)))
    return Term(Match.EQUAL, places["r"], places["p"]) if len(places) == 2 else None


def _call(model: Model, tree: ast.Call) -> Term | None:
    assert isinstance(tree.func, ast.Name)  # `_check_names`
    name, places = tree.func.id, [_place(model, argument) for argument in tree.args]
    owners = [place[0] for place in places if place is not None]
    fields = [place[1] for place in places if place is not None]
    if len(fields) != len(places) or owners[:2] != ["r", "p"]:
        return None
    if name in _CALLS and len(fields) == 2:
        return Term(_CALLS[name], fields[0], fields[1])
    if model.roles.get(name) == len(fields) and owners[2:] in ([], ["r"]):
        return Term(Match.ROLE, fields[0], fields[1], roles=name, domain=fields[2] if fields[2:] else None)
    return None


def _alternative(model: Model, one: ast.expr, other: ast.expr) -> Term | None:
    for first, second in ((one, other), (other, one)):
        term = _term(model, first)
        if term is None or term.star or term.everywhere:
            continue
        if _says_star(model, second) == term.policy and term.match in (Match.EQUAL, Match.ROLE):
            return term._replace(star=True)
        if term.domain is not None and _is_everywhere(model, term, second):
            return term._replace(everywhere=True)
    return None


def _says_star(model: Model, tree: ast.expr) -> int | None:
    """Which policy field is compared with the text `*`."""
    if not (isinstance(tree, ast.Compare) and len(tree.ops) == 1 and isinstance(tree.ops[0], ast.Eq)):
        return None
    for field, text in ((tree.left, tree.comparators[0]), (tree.comparators[0], tree.left)):
        place = _place(model, field)
        if place is not None and place[0] == "p" and isinstance(text, ast.Constant) and text.value == _STAR:
            return place[1]
    return None


def _is_everywhere(model: Model, term: Term, tree: ast.expr) -> bool:
    """Whether this is the same question about roles, in the domain `*`."""
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and len(tree.args) == 3):
        return False
    places = [_place(model, argument) for argument in tree.args[:2]]
    domain = tree.args[2]
    same = tree.func.id == term.roles and places == [("r", term.request), ("p", term.policy)]
    return same and not tree.keywords and isinstance(domain, ast.Constant) and domain.value == _STAR
