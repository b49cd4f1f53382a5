"""What a node of the tree is."""

from __future__ import annotations

from typing import TypeVar, dataclass_transform

from policyengine.records import named_tuple

Node = TypeVar("Node")


@dataclass_transform(frozen_default=True)
def node(cls: type[Node]) -> type[Node]:
    """Make a class of annotated fields a named tuple: cheapest to build, with equality, hashing and `_fields` for free.

    To a type checker it is a frozen dataclass: recursive tuples it would compare field by field, without end.
    """
    own = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    made: type[Node] = named_tuple(cls.__name__, own)
    return made
