"""The process that keeps the namespaces of a root directory: `python holder.py ROOT`, started under `unshare`.

Lays the machine's own programs into ROOT, read only, brings the loopback interface up, and serves small files over HTTP
on it. Says `ready` on standard output and waits for the end of its standard input.
"""

from __future__ import annotations

import fcntl
import http.server
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

SYSTEM = ("usr", "etc", "var", "opt", "sys")  # of the real machine, read only
LINKS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # into `usr` where the machine has merged them
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
OWN_ETC = ("hosts", "passwd", "group", "resolv.conf")
HTTP_PORTS = (80, 8080)
_SIOCSIFFLAGS, _UP = 0x8914, 1
BODY = b"fetched\n"
_PTS = "newinstance,ptmxmode=0666,mode=620"


def main() -> None:
    """Prepare, say so, and wait."""
    root = Path(sys.argv[1])
    _lay(root)
    _raise_loopback()
    for port in HTTP_PORTS:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _Files)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


def _lay(root: Path) -> None:
    for name in SYSTEM:
        _bind(Path("/") / name, root / name)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(root / name)], check=True)
    for name in LINKS:
        link = Path("/") / name
        if link.is_symlink():
            (root / name).symlink_to(link.readlink())
        elif link.is_dir():
            _bind(link, root / name)
    for name in DEVICES:
        (root / "dev" / name).touch()
        _bind(Path("/dev") / name, root / "dev" / name)
    for name in OWN_ETC:
        if (root / "etc" / name).exists():
            _bind(root / "own" / name, root / "etc" / name)
    _bind(root / "tmp", root / "var/tmp")
    subprocess.run(["mount", "-t", "devpts", "-o", _PTS, "devpts", str(root / "dev/pts")], check=True)


def _bind(source: Path, target: Path) -> None:
    if source.is_dir():
        target.mkdir(exist_ok=True)
    subprocess.run(["mount", "--bind", str(source), str(target)], check=True)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _UP))


class _Files(http.server.BaseHTTPRequestHandler):
    """Every path is a small file; what is sent here is taken and forgotten."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(BODY)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _answer  # names of the standard library

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    main()
