"""`policyengine compile`: rules, descriptions, tools and profiles in one file, under the digest that names them.

With `--sign` it is the organisation's: `--rules` are then in its tier, and the bundle loads only where its public key
is given.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from policyengine.bundle import Bundle, read_bundle, sealed
from policyengine.config import source_files
from policyengine.config.compiler import compile_files
from policyengine.config.keys import secret_file
from policyengine.model import Tier
from policyengine.signing.bundles import sealer, vouching


def run(options: argparse.Namespace) -> int:
    """Write the bundle whole or not at all, and print its digest; into a device or pipe without a digest."""
    output = Path(options.output)
    bundle = _signed(options, output) if options.sign else _unsigned(options, output)
    if output.exists() and not output.is_file():  # a device or pipe is written to, not replaced
        output.write_bytes(bundle.data)
        return 0
    unfinished = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(bundle.data)
        unfinished.replace(output)
    finally:
        unfinished.unlink(missing_ok=True)
    print(bundle.digest)
    return 0


def _unsigned(options: argparse.Namespace, output: Path) -> Bundle:
    files = source_files(options.rules, use_shipped=not options.no_shipped_rules)
    return read_bundle(compile_files(files), str(output))


def _signed(options: argparse.Namespace, output: Path) -> Bundle:
    """Compile and sign, and check the result as whoever loads it will."""
    key = sealer(secret_file(options.sign))
    files = source_files(options.rules, use_shipped=not options.no_shipped_rules, tier=Tier.ORGANISATION)
    data = sealed(compile_files(files), key.seal)
    return read_bundle(data, str(output), vouch=vouching([key.public]))
