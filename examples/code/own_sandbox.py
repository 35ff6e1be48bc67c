"""A sandbox backend of your own: it puts a launcher, such as firejail, before each command.

A backend is any class with the methods of `dataenvgym.sandbox.Sandbox`. This one takes limits and
their supervision from the backend without protection, and protection from its launcher.
"""

import shutil

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox import open_sandbox
from dataenvgym.sandbox.unsafe_local import UnsafeLocalSandbox


class LauncherSandbox(UnsafeLocalSandbox):
    def __init__(self, *, launcher, workers=1):
        super().__init__(workers=workers)
        self.launcher = launcher
        if shutil.which(launcher[0]) is None:
            raise SandboxError(f"{launcher[0]} cannot be started: it is not there")

    def command(self, words):
        return (*self.launcher, *words)


if __name__ == "__main__":  # ("firejail", "--quiet", "--net=none") would protect; `env` does not
    with open_sandbox(LauncherSandbox, launcher=("env", "-u", "HOME")) as box:
        print(box.run("print(6 * 7)").text)
