"""The grammar as a Hypothesis strategy."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.choices import Drawn
from fuzz.grammar import Sample, generate


@st.composite
def scripts(draw: st.DrawFn) -> Sample:
    """Scripts of marker commands; shrinking takes the simplest production at every choice."""
    return generate(Drawn(lambda most: draw(st.integers(0, most))))
