"""Properties are never timed, and a check run draws the same examples everywhere; by hand each run draws new ones."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("check", deadline=None, derandomize="CI" in os.environ, print_blob=True)
settings.load_profile("check")
