"""Which tools there are in which circumstances: lists of names, and the depth, tags and model for which they hold.

Every layer that holds is asked: what one of them denies, or leaves out of its list, is hidden and refused. So layers
only narrow, and those of a parent go on to hold for its sub-agents, whatever model or tags these have (`inheriting`).

Codes: `selection.denied`, `selection.not-allowed`; the rule's id is `selection.` and the layer's source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import compress, repeat

from policyengine.effects import Facts
from policyengine.errors import UsageError
from policyengine.model import Context, Finding, Frozen, Outcome, Request, ResourceKind, Severity, Verdict, digest_of
from policyengine.patterns import glob_test
from policyengine.records import NamedTuple, Record
from policyengine.state import RunState

NAME = "selection"
_ALLOWED = Verdict(policy=NAME, outcome=Outcome.ALLOW)
MAX_KEPT = 1024  # verdicts, one for each combination of layers that object
_INSTEAD = "Use one of the tools that are offered."


class When(Record):
    """The circumstances in which a layer holds; what is not set is met by all.

    Attributes:
        tags: at least one of them is among the run's.
        least_depth: how deep a sub-agent has to be; the main agent is at 0.
        models: globs, one of which matches the model that is asked for. Where that is not known, the layer holds.
    """

    tags: frozenset[str] = frozenset()
    least_depth: int = 0
    models: tuple[str, ...] = ()

    def holds(self, context: Context) -> bool:
        """Whether a context is one of these circumstances."""
        if context.depth < self.least_depth or (self.tags and self.tags.isdisjoint(context.tags)):
            return False
        return not self.models or not context.model or any(glob_test(glob)(context.model) for glob in self.models)


ALWAYS = When()


class Layer(Record):
    """One pair of lists; names may be globs of `*` and `?` (`mcp__github__*`), and count as they are written.

    Attributes:
        source: who says so, for findings and the audit log.
        allow: the only tools that there are; None for no such list, and an empty one allows nothing.
        deny: tools that there are not; they come before `allow`.
        when: the circumstances in which it holds.

    Raises:
        UsageError: a list is one text, which would be a list of its letters, or holds something that is no name.
    """

    source: str
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    when: When = ALWAYS

    def __post_init__(self) -> None:
        for names in (self.allow, self.deny):
            if isinstance(names, str) or not all(isinstance(name, str) and name for name in names or ()):
                raise UsageError("a list of tools has to be a list of names")


class Names:
    """A list of names and globs, made ready."""

    __slots__ = ("_beginnings", "_exact", "_globs")

    def __init__(self, names: Iterable[str]) -> None:
        listed = tuple(names)
        self._exact = frozenset(listed)  # a tool may be called like a glob
        globs = [name for name in listed if "*" in name or "?" in name]
        self._beginnings = tuple(glob[:-1] for glob in globs if glob.find("*") == len(glob) - 1 and "?" not in glob)
        self._globs = [glob_test(glob) for glob in globs if glob[:-1] not in self._beginnings]

    def among(self, names: Set[str]) -> set[str]:
        """Give those of some names that are listed."""
        found = set(self._exact & names)
        if self._beginnings:
            found.update(compress(names, map(str.startswith, names, repeat(self._beginnings))))
        for matches in self._globs:
            found.update(filter(matches, names))
        return found

    def missing(self, names: Set[str]) -> Set[str]:
        """Give those of some names that are not listed."""
        found = self.among(names)
        return names - found if len(found) < len(names) else frozenset()


class _Ready(NamedTuple):
    """A layer with its lists made ready, and its two answers."""

    when: When
    allow: Names | None
    deny: Names
    denied: Finding
    left_out: Finding


class Selection:
    """Layers that all hold, each in its circumstances.

    Args:
        layers: the parent's first, as `inheriting` puts them.
    """

    __slots__ = ("_ready", "_verdicts", "layers", "name")

    def __init__(self, layers: Iterable[Layer]) -> None:
        self.name = NAME
        self.layers = tuple(layers)
        self._ready = tuple(map(_ready, self.layers))
        self._verdicts: dict[int, Verdict] = {}

    @property
    def digest(self) -> str:
        """Name the layers."""
        return digest_of(tuple(map(_plain, self.layers)))

    def inherited(self, context: Context) -> Selection:
        """Give what the sub-agents of a run have to obey: the layers that hold for it hold for them in any case.

        The other layers stay as they are, since they may come to hold further down.
        """
        return Selection(
            Layer(source=one.source, allow=one.allow, deny=one.deny) if one.when.holds(context) else one
            for one in self.layers
        )

    def evaluate(self, request: Request, facts: Facts, state: RunState) -> Verdict:
        """Judge a tool; its arguments do not count."""
        return self.bounds(request, (request.resource.id,), state)[0]

    def bounds(self, request: Request, names: Sequence[str], state: RunState) -> list[Verdict]:
        """Judge a catalogue: for each name what `evaluate` says."""
        if request.resource.kind is not ResourceKind.TOOL:
            return [_ALLOWED] * len(names)
        objections: dict[str, int] = {}
        tools = frozenset(names)
        for number, one in enumerate(self._ready):
            if one.when.holds(request.context):
                denied = one.deny.among(tools)
                left_out = () if one.allow is None else one.allow.missing(tools) - denied
                for which, listed in enumerate((denied, left_out)):
                    for name in listed:
                        objections[name] = objections.get(name, 0) | 1 << 2 * number + which
        if not objections:
            return [_ALLOWED] * len(names)
        made = {against: self._verdicts.get(against) or self._made(against) for against in set(objections.values())}
        verdicts = {name: made[against] for name, against in objections.items()}
        return list(map(verdicts.get, names, repeat(_ALLOWED)))

    def _made(self, against: int) -> Verdict:
        """The verdict for objections: two bits for each layer, that it denies and that it leaves out."""
        found = tuple(
            finding
            for number, one in enumerate(self._ready)
            for which, finding in enumerate((one.denied, one.left_out))
            if against >> 2 * number + which & 1
        )
        verdict = Verdict(policy=NAME, outcome=Outcome.DENY, findings=found)
        if len(self._verdicts) < MAX_KEPT:
            self._verdicts[against] = verdict
        return verdict


def inheriting(parent: Selection, context: Context, child: Selection) -> Selection:
    """Give a sub-agent's selection: what its parent denies in its context is denied, what both allow is allowed."""
    return Selection((*parent.inherited(context).layers, *child.layers))


def _ready(layer: Layer) -> _Ready:
    return _Ready(
        when=layer.when,
        allow=None if layer.allow is None else Names(layer.allow),
        deny=Names(layer.deny),
        denied=_finding(layer, "selection.denied", "This tool is denied here"),
        left_out=_finding(layer, "selection.not-allowed", "This tool is not among those that are allowed here"),
    )


def _finding(layer: Layer, code: str, message: str) -> Finding:
    return Finding(
        rule=f"selection.{layer.source}",
        code=code,
        message=f"{message} ({layer.source}).",
        outcome=Outcome.DENY,
        severity=Severity.MEDIUM,
        instead=_INSTEAD,
    )


def _plain(layer: Layer) -> Frozen:
    when = layer.when
    return (layer.source, layer.allow, layer.deny, tuple(sorted(when.tags)), when.least_depth, when.models)
