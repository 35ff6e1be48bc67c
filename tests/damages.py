"""Damages to the files of a workspace, which is then resumed."""

import shutil
from pathlib import Path

from dataenvgym.errors import DataEnvGymError


def damages(data: bytes, *, is_marked: bool = True) -> list[bytes | None]:
    """A file's contents after damages of all kinds; None is a missing file."""
    lines = data.splitlines(keepends=True)
    found: list[bytes | None] = [
        data[: len(data) // 2], b"".join(lines[::-1]), _flipped(data, len(data) // 2), b"", None,
        b"".join(lines[:-1]), data + b"{", b"null\n", b'{"row": 0}\n', b"\xff\n", _flipped(data, 0),
    ]  # fmt: skip
    found += [_flipped(data, len(data) * i // 8) for i in (1, 2, 3, 5, 6, 7)]
    unseen = (
        [data] if is_marked else [data, *(_flipped(data, len(data) * i // 8) for i in range(8))]
    )
    return [one for one in found if one not in unseen]


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] if data else b"x"


def after_damages(directory, resume, result, *, each=None, without=(), unmarked=()):
    """Resume a workspace after each damage to each of its files.

    Args:
        resume: continues the workspace in `directory`.
        result: what must be as in an undisturbed one, or the damaged file is refused by name.
        each: so many damages of each file, of other kinds for each file; None for all.
        without: names of files to leave alone.
        unmarked: names of files in which a single changed bit may go unnoticed.

    Returns:
        Lines about wrong outcomes, and how many damages were healed and refused.
    """
    whole = directory.with_name("whole")
    begun = directory.with_name("begun")
    shutil.copytree(directory, begun)
    resume()
    expected = result()
    directory.rename(whole)
    wrong, healed, refused = [], 0, 0
    files = sorted(p.relative_to(begun) for p in begun.rglob("*") if p.is_file())
    for number, name in enumerate(n for n in files if n.name not in without):
        data = (begun / name).read_bytes()
        kinds = list(enumerate(damages(data, is_marked=name.name not in unmarked)))
        kinds = kinds[number % len(kinds) :] + kinds[: number % len(kinds)]
        for kind, data in kinds[:each]:
            shutil.copytree(begun, directory)
            if data is None:
                (directory / name).unlink()
            else:
                (directory / name).write_bytes(data)
            said = _outcome(resume, name)
            if said is None and result() != expected:
                said = "silent"
            if said:
                wrong.append(f"{name}, damage {kind}: {said}")
            healed += said is None
            refused += said == ""
            shutil.rmtree(directory)
    return wrong, healed, refused


def _outcome(resume, name: Path) -> str | None:
    """None if it was resumed, "" if it was refused by the file's name, else what was wrong."""
    try:
        resume()
    except DataEnvGymError as error:
        # a damaged hash names the file whose hash it is
        is_named = name.name in str(error) or name.name == "files.json"
        return "" if is_named and str(name.parent) in str(error) else f"{error!r}"
    except Exception as error:
        return f"{error!r}"
    return None
