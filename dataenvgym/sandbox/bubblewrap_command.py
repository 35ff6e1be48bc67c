"""The command line of one worker: the parts of the machine that its sandbox contains.

These are, all read-only, the programs and libraries of /usr, the interpreter's own prefix, and very
little of /etc; a /dev with the harmless devices; empty folders. Not included are the home folder,
the repository, /etc/shadow, /sys, /run, /var, and the sockets of any service. Only the worker sees
the host's /proc: the kernel lets a namespace mount its own /proc only beside a complete one. Every
run gets its own on top of it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import site
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from dataenvgym.errors import ConfigurationError
from dataenvgym.sandbox import inside
from dataenvgym.sandbox.inside.places import WORK

_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types")
_START = """
import sys
sys.path.insert(0, "/run")
from inside.zygote import main
sys.path.remove("/run")
for name in [name for name in sys.modules if name.startswith("inside")]:
    del sys.modules[name]
main(sys.argv[1])
"""
_NAMESPACES = (
    "--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try "
    "--die-with-parent --new-session --hostname sandbox --uid 1000 --gid 1000 --cap-drop ALL "
    "--cap-add CAP_SYS_ADMIN --cap-add CAP_NET_ADMIN --clearenv"
)
_OWN_FILES = (
    "--bind /proc /proc --dev /dev --dir /sandbox/work --dir /sandbox/code --dir /tmp "
    "--remount-ro /dev --remount-ro / --chdir /"
)
PASSWD = f"sandbox:x:1000:1000::{WORK}:/bin/sh\n".encode()
HOSTS = b"127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"
_PACKAGES = "/sandbox/packages"
_REPLACED = ("/tmp", "/dev", "/proc", "/run", "/sandbox")


class Interpreter(NamedTuple):
    """A Python for runs: its program, its prefix, the folders of its packages."""

    program: str
    prefix: str
    packages: tuple[str, ...]


def find_bubblewrap() -> str:
    """The path of bwrap; ConfigurationError if this is not Linux, or bwrap is missing."""
    if platform.system() != "Linux":
        raise ConfigurationError(
            f"sandbox backend 'bubblewrap' needs Linux, and this is {platform.system()}: run in a "
            f"Linux machine or container, {_OTHERWISE}"
        )
    if (found := shutil.which("bwrap")) is None:
        raise ConfigurationError(
            "sandbox backend 'bubblewrap' needs the program bwrap, which is not on the PATH: "
            "install it (Debian, Ubuntu: apt-get install bubblewrap; `make test` does so where "
            f"it may), {_OTHERWISE}"
        )
    return found


def cannot_start(reason: str) -> ConfigurationError:
    """The error for a bwrap that exists but cannot make a sandbox here."""
    return ConfigurationError(
        f"bwrap cannot make a sandbox on this machine: {reason}. It needs user namespaces: "
        "as root, `sysctl user.max_user_namespaces=10000`, on older Debian `sysctl "
        "kernel.unprivileged_userns_clone=1`, on Ubuntu from 23.10 `sysctl kernel.apparmor_"
        "restrict_unprivileged_userns=0` or an AppArmor profile for bwrap; in a container, run "
        f"it with user namespaces and an unmasked /proc, {_OTHERWISE}"
    )


_OTHERWISE = (
    "or choose backend='unsafe_local' (in the configuration: task.sandbox=unsafe_local), which "
    "gives no protection, for code that you trust"
)


def find_interpreter(python: str | None) -> Interpreter:
    """This process's own interpreter without its virtual environment, or the named one.

    Raises:
        ConfigurationError: if it cannot be run.
    """
    found = _own_interpreter() if python is None else _other_interpreter(python)
    for place in _REPLACED:
        if Path(found.prefix).is_relative_to(place):
            raise ConfigurationError(
                f"the interpreter is in {found.prefix}, and runs have a {place} of their own: "
                "name another one with python='/usr/bin/python3', say"
            )
    return found


def _own_interpreter() -> Interpreter:
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    folders = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    folders.update(filter(os.path.isdir, site.getsitepackages()))
    return Interpreter(base, os.path.realpath(sys.base_prefix), tuple(sorted(folders)))


def _other_interpreter(python: str) -> Interpreter:
    question = (
        "import json, os, site, sys, sysconfig as c; assert sys.version_info >= (3, 11); "
        "print(json.dumps([os.path.realpath(sys._base_executable), os.path.realpath(sys."
        "base_prefix), sorted({c.get_path('purelib'), c.get_path('platlib'), "
        "*filter(os.path.isdir, site.getsitepackages())})]))"
    )
    try:
        answer = subprocess.run(
            [python, "-I", "-c", question], capture_output=True, check=True, timeout=60
        )
        program, prefix, packages = json.loads(answer.stdout)
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"python is {python!r}, expected an interpreter of Python 3.11 or newer: {error}"
        ) from None
    return Interpreter(program, prefix, tuple(packages))


def worker_command(
    bwrap: str,
    interpreter: Interpreter,
    *,
    packages: bool,
    control: int,
    passwd: int,
    hosts: int,
    filter_program: bytes,
) -> list[str]:
    """The bwrap command with the zygote; `control`, `passwd`, `hosts` are inherited descriptors."""
    settings = {"control": control, "filter": filter_program.hex()}
    return [
        bwrap,
        *_NAMESPACES.split(),
        *_environment(interpreter, packages=packages),
        *_system(),
        *_prefix(interpreter, packages=packages),
        *("--ro-bind", os.path.dirname(inside.__file__), "/run/inside"),
        *("--ro-bind-data", str(passwd), "/etc/passwd"),
        *("--ro-bind-data", str(hosts), "/etc/hosts"),
        *_OWN_FILES.split(),
        *(interpreter.program, "-S", "-s", "-P", "-X", "utf8", "-c", _START, json.dumps(settings)),
    ]


def _environment(interpreter: Interpreter, *, packages: bool) -> list[str]:
    folder = os.path.dirname(interpreter.program)
    variables = {
        "PATH": ":".join(dict.fromkeys((folder, "/usr/local/bin", "/usr/bin", "/bin"))),
        "HOME": WORK,
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    if packages:
        places = [f"{_PACKAGES}/{i}" for i in range(len(interpreter.packages))]
        variables["PYTHONPATH"] = ":".join(places)
    return [word for name, value in variables.items() for word in ("--setenv", name, value)]


def _system() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for name in _SYSTEM:
        path = Path(name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), name]
        elif path.is_dir():
            words += ["--ro-bind", name, name]
    for name in _SETTINGS:
        words += ["--ro-bind-try", name, name]
    return words


def _prefix(interpreter: Interpreter, *, packages: bool) -> list[str]:
    """The interpreter at its path, and packages if they hide nothing and nothing hides them."""
    words = []
    if not Path(interpreter.prefix).is_relative_to("/usr"):
        words += ["--ro-bind", interpreter.prefix, interpreter.prefix]
    for i, folder in enumerate(interpreter.packages if packages else ()):
        words += ["--ro-bind", folder, f"{_PACKAGES}/{i}"]
    return words
