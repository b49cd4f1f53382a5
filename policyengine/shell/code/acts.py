"""What code in another language does, as far as it was understood: acts, which the interpreter turns into effects."""

from __future__ import annotations

from enum import Enum, auto

from policyengine.records import NamedTuple
from policyengine.shell.values import Value

ARGUMENT = "\0argument "  # begins a text that stands for the program's argument of the number behind it


class Kind(Enum):
    """What is done with the act's value."""

    SHELL = auto()  # text handed to a shell
    COMMAND = auto()  # words started as a program (`words`)
    READ = auto()
    WRITE = auto()
    APPEND = auto()
    LINK = auto()  # a link to the one word
    UNPACK = auto()  # a directory that an archive (the one word) is unpacked into
    DELETE = auto()
    DELETE_TREE = auto()
    ATTRIBUTE = auto()  # `more` is (attribute, value)
    CHDIR = auto()
    CONNECT = auto()  # host; `more` is (port,)
    LISTEN = auto()
    DRIVEN = auto()  # a shell or interpreter whose ends are a connection: host; `more` is (port,)
    FETCH = auto()  # a URL; `more` is (method,)
    SEND = auto()  # a URL or host that data goes to
    SCRIPT = auto()  # a file that is run as code; `more` is (language,)
    MODULE = auto()  # a module that is imported, by its path; `more` is (language,)
    CODE = auto()  # text of a language evaluated by the program; `more` is (language,)
    VARIABLE = auto()  # an environment variable is set; `more` is (name,)
    SIGNAL = auto()  # a process is signalled
    DATABASE = auto()  # a statement; `more` is (system, action)
    EXHAUST = auto()  # `more` is (how,)
    ESCALATE = auto()  # `more` is (method,)
    OPAQUE = auto()  # not understood: `more` is (why,)
    TRIED = auto()  # text, or `words`, that code which is not understood may hand to a shell

    @property
    def opaque(self) -> bool:
        """Whether the reader did not understand this."""
        return self is Kind.OPAQUE


LOOKING = frozenset({Kind.READ, Kind.MODULE})  # what code may do that prints texts and changes nothing


class Act(NamedTuple):
    """One thing that code does. `start` and `end` are offsets into the code."""

    kind: Kind
    value: Value = Value("")
    more: tuple[str, ...] = ()
    words: tuple[Value, ...] = ()
    start: int = 0
    end: int = 0
