"""A private PostgreSQL cluster: made, started, restarted with its files out of the page cache, removed."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .guards import Refused


class Cluster:
    def __init__(self, pg_config: Path, directory: Path, port: int, settings: Mapping[str, str], user: str = "postgres") -> None:
        self.bin = Path(config_value(pg_config, "--bindir"))
        self.library_dir = Path(config_value(pg_config, "--pkglibdir"))
        self.extensions = Path(config_value(pg_config, "--sharedir")) / "extension"
        self.directory, self.port, self.user = directory, port, user
        self.data = directory / "data"
        self.settings = dict(settings)
        self.sockets = ""

    def has_extension(self, name: str) -> bool:
        return (self.extensions / f"{name}.control").is_file()

    # ---- as the user that servers run as ----

    def command(self, *args: str) -> list[str]:
        return ["runuser", "-u", self.user, "--", *args] if os.geteuid() == 0 else list(args)

    def run(self, *args: str) -> str:
        done = subprocess.run(self.command(*args), cwd="/", env={**os.environ, "LC_ALL": "C.UTF-8"}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Refused(f"{Path(args[0]).name} failed:\n{done.stdout[-2000:]}")
        return done.stdout

    def own(self, path: Path) -> None:
        if os.geteuid() == 0:
            shutil.chown(path, self.user)

    # ---- its life ----

    def create(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.own(self.directory)
        self.directory.chmod(0o755)
        if self.data.exists():
            if self.running():
                self.stop("immediate")
            shutil.rmtree(self.data)
        # A socket's path is at most 107 bytes.
        self.sockets = str(self.directory) if len(str(self.directory)) <= 80 else tempfile.mkdtemp(prefix="/tmp/pgcb.")
        self.own(Path(self.sockets))
        self.run(str(self.bin / "initdb"), "-D", str(self.data), "-U", "postgres", "-A", "trust", "--locale=C", "--encoding=UTF8")
        lines = {"unix_socket_directories": self.sockets, "listen_addresses": "", "port": str(self.port), **self.settings}
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in lines.items())

    def start(self) -> None:
        # Not through a pipe: the server would keep it open.
        log = self.directory / "server.log"
        done = subprocess.run(self.command(str(self.bin / "pg_ctl"), "-w", "-s", "-t", "120", "-D", str(self.data), "-l", str(log), "start"),
                              cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise Refused(f"the server did not start:\n{log.read_text()[-2000:] if log.exists() else ''}")

    def running(self) -> bool:
        done = subprocess.run(self.command(str(self.bin / "pg_ctl"), "-D", str(self.data), "status"), cwd="/",
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return done.returncode == 0

    def stop(self, mode: str = "fast") -> None:
        self.run(str(self.bin / "pg_ctl"), "-w", "-s", "-t", "300", "-D", str(self.data), "-m", mode, "stop")

    def remove(self) -> None:
        if self.data.exists():
            if self.running():
                self.stop("immediate")
            shutil.rmtree(self.data)
        if self.sockets and self.sockets != str(self.directory):
            shutil.rmtree(self.sockets, ignore_errors=True)

    def restart_cold(self) -> float:
        """Restarts with the data files out of the page cache as far as the kernel lets go of them. What is left of them, 0 to 1."""
        self.stop()
        left = evict(self.data / "base")
        self.start()
        return left

    def can_read(self, path: Path) -> str | None:
        """The error of the server's user reading a file."""
        done = subprocess.run(self.command("head", "-c", "1", str(path)), cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, check=False)
        return done.stderr if done.returncode else None


def config_value(pg_config: Path, what: str) -> str:
    try:
        return subprocess.run([str(pg_config), what], check=True, text=True, capture_output=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        raise Refused(f"{pg_config} {what}: {error}") from error


# ---- the page cache ----


def evict(path: Path) -> float:
    """Asks the kernel to drop a file's or a directory's pages, and measures what stayed: 0 none, 1 all."""
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
    resident = pages = 0
    for file in files:
        try:
            size = file.stat().st_size
            if size == 0:
                continue
            # Dirty pages stay; a server that was shut down has none, nor has a database file that was checkpointed.
            with open(file, "r+b") as handle:
                os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                stayed, all_pages = residency(handle.fileno(), size)
        except OSError:
            continue
        resident, pages = resident + stayed, pages + all_pages
    return resident / pages if pages else 0.0


def residency(descriptor: int, size: int) -> tuple[int, int]:
    """Pages of a file that are in memory, and all (mincore)."""
    pages = (size + mmap.PAGESIZE - 1) // mmap.PAGESIZE
    flags = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        view = (ctypes.c_char * size).from_buffer(mapped)
        status = libc.mincore(ctypes.c_void_p(ctypes.addressof(view)), ctypes.c_size_t(size), flags)
        del view
    if status:
        return pages, pages  # not known: counted as warm
    return sum(flag & 1 for flag in flags), pages


def cold_label(left: float) -> str:
    """What was done before a cold run, by what was measured of it."""
    if left <= 0.02:
        return "server restarted, data files dropped from the page cache"
    return f"server restarted, {left:.0%} of the data files' pages still in the page cache"
