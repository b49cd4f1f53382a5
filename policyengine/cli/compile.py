"""`policyengine compile`: rules, descriptions, tools and profiles in one file, under the digest that names them."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from policyengine.bundle import read_bundle
from policyengine.config import source_files
from policyengine.config.compiler import compile_files


def run(options: argparse.Namespace) -> int:
    """Write the bundle whole or not at all, and print its digest; into a device or pipe without a digest."""
    data = compile_files(source_files(options.rules, use_shipped=not options.no_shipped_rules))
    output = Path(options.output)
    bundle = read_bundle(data, str(output))
    if output.exists() and not output.is_file():  # a device or pipe is written to, not replaced
        output.write_bytes(data)
        return 0
    unfinished = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    print(bundle.digest)
    return 0
