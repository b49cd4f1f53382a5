"""Shell text: reading it, and (in `interpret` and `programs`) what it would do.

parse(text)           a Script, or ParseError; no size cap, MAX_DEPTH levels
read(text, …)         as much of a Script as there is, with the fault that ended it, under limits
split_commands(text)  the splitter on its own; never raises
"""

from policyengine.shell.reading import MAX_DEPTH, Reading, parse, read
from policyengine.shell.split import Part, Split, split_commands

__all__ = ["MAX_DEPTH", "Part", "Reading", "Split", "parse", "read", "split_commands"]
