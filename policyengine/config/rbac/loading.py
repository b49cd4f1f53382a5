"""From a model and lines to a policy: the index where the model compiles, pycasbin's Enforcer where not."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence, Set
from itertools import repeat

from policyengine.config.rbac.checking import checker_of
from policyengine.config.rbac.conf import Model, model_of
from policyengine.config.rbac.installed import check_installed
from policyengine.config.rbac.lines import Row, Source
from policyengine.config.rbac.matcher import shape_of
from policyengine.errors import LoadError
from policyengine.model import Outcome
from policyengine.policies.rbac import (
    DEPTH,
    NOWHERE,
    SOURCES,
    Answers,
    Builder,
    Combining,
    Hierarchy,
    Lines,
    Links,
    Match,
    NotIndexable,
    Rbac,
    Roles,
    Shape,
    picker,
)
from policyengine.policies.rbac import Source as Field
from policyengine.records import NamedTuple, Record


class Settings(Record):
    """What a model and its lines do not say.

    Attributes:
        depth: names in a chain of roles, the subject included; pycasbin's own limit is 10.
        id_prefix: what stands before a principal's id where policy lines name people; "" for plain ids, which
            then share one namespace with roles.
        domain: the attribute of a principal that names its domain.
        default_role: what a missing role is replaced with when principals are built.
    """

    depth: int = DEPTH
    id_prefix: str = "user:"
    domain: str = "domain"
    default_role: str = ""


DEFAULTS = Settings()


class Compiled(NamedTuple):
    """Answers for one policy, and the names that are subjects in it. `indexed` says which machinery answers."""

    answers: Answers
    subjects: Set[str]
    indexed: bool


def rbac_of(model_text: str, model_file: str, source: Source, settings: Settings = DEFAULTS) -> Rbac:
    """Make a policy of a model and lines.

    Raises:
        LoadError: model, lines or settings are refused.
    """
    model = model_of(model_text, model_file)
    fields = tuple(_field(model, name) for name in model.request)
    if Field.SUBJECT not in fields:
        raise model.error("a request without a subject: it would give everybody the same", "r", "r = sub, …")
    if len(set(fields)) < len(fields):
        raise model.error("two fields that the same of a request goes into", "r", "each once")
    compiled = compiled_of(model, source, settings.depth, fields)
    if settings.default_role and settings.default_role not in compiled.subjects:
        raise LoadError(
            f"the default role `{settings.default_role}` is not in the policy",
            file=source.file, field="default_role", expected=_few(compiled.subjects),
        )  # fmt: skip
    return Rbac(
        Lines(
            answers=compiled.answers,
            has_object=Field.OBJECT in fields,
            subjects=compiled.subjects,
            otherwise=Outcome.ALLOW if model.combining is Combining.DENY_ONLY else Outcome.DENY,
            digest=_digest(model_text, source.digest(), settings),
            place=lambda number: f"{source.file}:{number}",
            id_prefix=settings.id_prefix,
            domain=settings.domain,
            default_role=settings.default_role,
        )
    )


def compiled_of(model: Model, source: Source, depth: int = DEPTH, fields: Sequence[Field] = ()) -> Compiled:
    """Check lines and make them answer.

    Args:
        model: how they are asked.
        source: where they come from.
        depth: names in a chain of roles.
        fields: what goes into the fields of a request; then `decide` takes what `Field` numbers, and otherwise the
            fields themselves.

    Raises:
        LoadError: a line is refused, or the policy as a whole.
    """
    check_installed()
    if depth < 1:
        raise LoadError(f"a depth of roles of {depth}", field="depth", expected="1 or more")
    shape = shape_of(model)
    subject = fields.index(Field.SUBJECT) if fields else None
    if shape is not None and _looks_up(shape, subject):
        places = [field.value for field in fields] or list(range(len(model.request)))
        try:
            return _indexed(model, _placed(shape, places), source, depth, None if subject is None else places[subject])
        except NotIndexable:
            pass  # a glob of another kind; pycasbin reads it
    return _enforced(model, source, depth, fields)


def _looks_up(shape: Shape, subject: int | None) -> bool:
    """Whether the subject is looked up by name: then the index knows all subjects."""
    return subject is None or any(
        term.request == subject and term.match in (Match.ROLE, Match.EQUAL) for term in shape.terms
    )


def _placed(shape: Shape, places: Sequence[int]) -> Shape:
    """The shape over the places that a request's fields are at."""
    terms = tuple(
        term._replace(request=places[term.request], domain=None if term.domain is None else places[term.domain])
        for term in shape.terms
    )
    return shape._replace(terms=terms)


def _indexed(model: Model, shape: Shape, source: Source, depth: int, subject: int | None) -> Compiled:
    checker, links = checker_of(model, shape, source.file), _links(model)
    builder, counts = Builder(shape, subject), Counter[str]()
    alone: dict[str, Roles] = {}
    for block in source.blocks():
        for columns in checker.columns(block):
            if columns.kind == "p":
                builder.add(columns.fields, columns.numbers)
                counts += _effects(columns.fields, shape.effect)
            else:
                _link(links[columns.kind], columns.fields, alone)
    _check_counts(model, source, counts)
    index = builder.build({name: Hierarchy(found, depth) for name, found in links.items()})
    return Compiled(index, index.subjects, True)


def _effects(columns: Sequence[Sequence[str]], effect: int | None) -> Counter[str]:
    return Counter(allow=len(columns[0])) if effect is None else Counter(columns[effect])


def _enforced(model: Model, source: Source, depth: int, fields: Sequence[Field]) -> Compiled:
    from policyengine.config.rbac.enforcer import Enforced  # noqa: PLC0415  casbin, 200 ms

    checker, counts = checker_of(model, None, source.file), Counter[str]()
    rows: list[Row] = []
    for block in source.blocks():
        for columns in checker.columns(block):
            if columns.kind == "p":
                counts += _effects(columns.fields, model.effect)
        rows += block.rows()
    _check_counts(model, source, counts)
    pick = picker(fields) if fields else tuple
    subject = model.request[fields.index(Field.SUBJECT)] if fields else ""
    return Compiled(Enforced(model, rows, depth, pick), _subjects(model, rows, subject), False)


def _check_counts(model: Model, source: Source, counts: Counter[str]) -> None:
    if not counts.total():
        raise LoadError(
            "no policy lines", file=source.file, field="p", expected=f"lines `p, {', '.join(model.policy)}`"
        )
    if model.combining is Combining.DENY_ONLY and not counts["deny"]:
        raise LoadError("an effect that only denies, and no line that does: everybody would be allowed everything",
                        file=source.file, field="p", expected="a line that denies")  # fmt: skip


def _links(model: Model) -> dict[str, Links]:
    return {name: {} for name in model.roles}


def _link(links: Links, columns: Sequence[Sequence[str]], alone: dict[str, Roles]) -> None:
    """Add links; the tuples of names with one role are kept once for each role."""
    below, roles = columns[0], columns[1]
    domains = columns[2] if len(columns) > 2 else repeat(NOWHERE)
    for role in set(roles):
        alone.setdefault(role, (role,))
    for name, role, domain in zip(below, roles, domains):  # noqa: B905  one may be endless
        direct = links.get(domain)
        if direct is None:
            direct = links[domain] = {}
        known = direct.setdefault(name, alone[role])
        if known is not alone[role]:
            direct[name] = (*known, role)


def _subjects(model: Model, rows: Sequence[Row], subject: str) -> frozenset[str]:
    """Names in the column that is called like the request's subject (or is the first), and in lines of roles."""
    column = model.policy.index(subject) if subject in model.policy else 0
    named = {fields[column] for _, kind, fields in rows if kind == "p"}
    return frozenset(named | {name for _, kind, fields in rows if kind == "g" for name in fields[:2]})


def _field(model: Model, name: str) -> Field:
    if name not in SOURCES:
        raise model.error(f"a field `{name}` that nothing of a request goes into", "r", ", ".join(SOURCES))
    return SOURCES[name]


def _digest(model: str, lines: str, settings: Settings) -> str:
    parts = (model, lines, str(settings.depth), settings.id_prefix, settings.domain, settings.default_role)
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()


def _few(names: Set[str]) -> str:
    shown = sorted(names)[:20]
    return f"one of {', '.join(shown)}" + (" …" if len(names) > len(shown) else "")
