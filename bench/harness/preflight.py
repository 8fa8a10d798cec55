"""What the server and the machine must have before anything is loaded. Every message names the value to set."""

from __future__ import annotations

from .guards import Refused


def worker_processes(value: int, workers: int) -> None:
    """A parallel load or query must not find its workers taken: two are left for others."""
    if value < workers + 2:
        raise Refused(f"max_worker_processes is {value}, too few for {workers} workers: set max_worker_processes = {workers + 2}")


def prepared_transactions(value: int, workers: int) -> None:
    """A parallel load that is all or nothing prepares one transaction in each worker."""
    if value < workers:
        raise Refused(f"max_prepared_transactions is {value}, too few for {workers} workers: set max_prepared_transactions = {workers}")


def disk_room(directory: str, free: int, needed: int) -> None:
    if free < needed:
        raise Refused(
            f"{directory} has {free / 1e9:.1f} GB free, this run takes about {needed / 1e9:.1f} GB: "
            f"choose another --dir, fewer --arms or fewer --rows"
        )


def room_needed(data_bytes: int, stored_arms: int, generated: bool) -> int:
    """Bytes: for each stored arm the rows and their indexes (1.6 of the file), the file itself, and 4 GB of WAL at most."""
    return int(data_bytes * (1.6 * stored_arms + (1.0 if generated else 0.0))) + min(4 << 30, 3 * data_bytes) + (200 << 20)


def readable(path: str, user: str, error: str | None) -> None:
    """COPY reads as the server's user."""
    if error is not None:
        raise Refused(
            f"the server's user {user} cannot read {path} ({error.strip()}): "
            f"chmod o+r that file and chmod o+x every directory above it, or choose another --dir"
        )
