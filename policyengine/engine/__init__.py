"""The policy decision point."""

from policyengine.engine.engine import Analyze, Clock, Engine

__all__ = ["Analyze", "Clock", "Engine"]
