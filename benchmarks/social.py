"""Social simulation: look-ups among many profiles in Redis, against a bare GET.

    python -m benchmarks.social [--profiles 10000] [--repetitions 200]

Starts its own Redis server (Debian's redis-server) on a free port and stops it. For each field
of a profile: the milliseconds of one look-up by a value that some profile has, and of one that
also reads the first profile found; both in turn with a plain GET of one profile by redis-py on
the same server. Writes `benchmarks/results/social.json` and a table to standard output.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from benchmarks.common import print_table, write_results
from dataenvgym.domains.social.collection import CHARACTERS
from dataenvgym.domains.social.profiles import Character
from dataenvgym.records.store import RedisSettings, RedisStore
from dataenvgym.students.external.processes import free_port


@contextmanager
def redis_server() -> Iterator[str]:
    """The URL of a Redis server of our own."""
    if (program := shutil.which("redis-server")) is None:
        raise SystemExit("redis-server is not installed: apt-get install redis-server")
    url = f"redis://127.0.0.1:{(port := free_port())}/0"
    with tempfile.TemporaryDirectory() as folder:
        options = f"--port {port} --bind 127.0.0.1 --appendonly no --dir {folder} --save".split()
        process = subprocess.Popen([program, *options, ""], stdout=subprocess.DEVNULL)
        try:
            wait_for(url)
            yield url
        finally:
            process.kill()
            process.wait()


def wait_for(url: str) -> None:
    """Return when the server answers."""
    from redis import ConnectionError, Redis

    for _ in range(500):
        try:
            Redis.from_url(url).ping()
            return
        except ConnectionError:
            time.sleep(0.02)
    raise SystemExit(f"redis-server did not come up at {url}")


def character(i: int) -> Character:
    """A profile whose fields have from 2 to as many values as there are profiles."""
    return Character(
        id=f"c{i}",
        first_name=f"First{i % 1000}",
        last_name=f"Last{i % 3000}",
        age=18 + i % 60,
        gender=("woman", "man")[i % 2],
        pronouns=("she/her", "he/him")[i % 2],
        occupation=f"occupation {i % 150}",
        public_information=f"Plays {i % 17} instruments and keeps {i % 23} hens.",
        personality=f"Calm in the morning, louder after {i % 24} o'clock.",
        big_five=f"Openness {i % 5}",
        moral_values=(f"value {i % 6}", f"value {(i + 1) % 6}"),
        personal_values=(f"aim {i % 10}",),
        decision_style=("directive", "analytical", "conceptual", "behavioral")[i % 4],
        secret=f"Buried box number {i} in the garden.",
    )


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def look_up(
    store: RedisStore, field: str, client: Any, wanted: Sequence[Character]
) -> dict[str, Any]:
    """Times of look-ups by one field, in turn with a bare GET."""
    finds, reads, gets, hits = [], [], [], []
    for one in wanted:
        value = getattr(one, field)
        value = value[0] if isinstance(value, tuple) else value

        def read(value: object = value) -> None:
            store.get(CHARACTERS, store.find(CHARACTERS, **{field: value})[0])

        key = f"dataenvgym:store:characters:document:{one.id}"
        gets.append(milliseconds(lambda key=key: client.get(key)))  # type: ignore[misc]
        hits.append(len(found := store.find(CHARACTERS, **{field: value})))
        if one.id not in found:
            raise AssertionError(f"{field}={value!r} does not find {one.id}")
        finds.append(milliseconds(lambda v=value: store.find(CHARACTERS, **{field: v})))  # type: ignore[misc]
        reads.append(milliseconds(read))
    return {
        "field": field,
        "found": round(statistics.median(hits)),
        "find, ms": statistics.median(finds),
        "find, slowest of 20, ms": statistics.quantiles(finds, n=20)[-1],
        "find and read, ms": statistics.median(reads),
        "GET, ms": statistics.median(gets),
        "find / GET": statistics.median(finds) / statistics.median(gets),
    }


def measure_look_ups(profiles: int, repetitions: int) -> list[dict[str, Any]]:
    """A row for each field."""
    with redis_server() as url:
        store = RedisStore(settings := RedisSettings(url))
        for i in range(profiles):
            store.put(CHARACTERS, f"c{i}", character(i))
        client = settings.connected()
        wanted = [character(i * profiles // repetitions) for i in range(repetitions)]
        fields = [name for name in Character.model_fields if getattr(wanted[0], name)]
        return [look_up(store, field, client, wanted) for field in fields]


def main(argv: Sequence[str] | None = None) -> None:
    """The command line; `--help` names the options."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--profiles", type=int, default=10_000)
    parser.add_argument("--repetitions", type=int, default=200, help="look-ups by each field")
    options = parser.parse_args(argv)
    rows = measure_look_ups(options.profiles, options.repetitions)
    print(f"Look-ups among {options.profiles:,} profiles in Redis\n")
    print_table(rows)
    path = write_results("social", {"profiles": options.profiles, "look_ups": rows})
    print(f"\nwritten to {path}")


if __name__ == "__main__":
    main()
