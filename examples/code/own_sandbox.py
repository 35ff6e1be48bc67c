"""A sandbox backend of your own: it puts a launcher, such as firejail, before each command."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from pathlib import Path

from dataenvgym.errors import SandboxError
from dataenvgym.sandbox import DEFAULT_LIMITS, open_sandbox
from dataenvgym.sandbox.program import checked_program
from dataenvgym.sandbox.supervision import Streams, result_of, supervise


class LauncherSandbox:
    def __init__(self, *, launcher, workers=1):
        self.launcher, self.slots = launcher, threading.Semaphore(workers)

    def run(self, code=None, *, command=None, stdin="", files=None, limits=DEFAULT_LIMITS):
        given = {"stdin": stdin, "files": files or {}, "limits": limits}
        program = checked_program(code, command=command, **given)
        with self.slots, tempfile.TemporaryDirectory() as folder:
            main, work = Path(folder, "main.py"), Path(folder, "work")
            work.mkdir()
            main.write_bytes(program.code or b"")
            for path, content in program.files:
                (work / path).parent.mkdir(parents=True, exist_ok=True)
                (work / path).write_bytes(content)
            words = [*self.launcher, *(program.command or ("python3", str(main)))]
            return self._supervised(words, program, work)

    def _supervised(self, words, program, work):
        pipe, env = subprocess.PIPE, {"PATH": os.defpath, "PYTHONPATH": str(work)}
        try:
            process = subprocess.Popen(
                words, cwd=work, env=env, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0
            )
        except OSError as error:
            raise SandboxError(f"{words[0]} cannot be started: {error}") from error
        with process.stdin, process.stdout, process.stderr:
            pipes = (process.stdin, process.stdout, process.stderr)
            stdin, stdout, stderr = (os.dup(each.fileno()) for each in pipes)
        end = os.pidfd_open(process.pid)
        try:
            observed = supervise(
                Streams(stdin, stdout, stderr, end),
                stdin=program.stdin,
                limits=program.limits,
                kill=lambda: os.killpg(process.pid, signal.SIGKILL),
                look=lambda: None,  # names the limit that is exceeded, where one can tell
                at_end=lambda: None,
            )
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            _, status = os.waitpid(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            os.close(end)
        return result_of(observed, wait_status=status, memory=0)

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


if __name__ == "__main__":  # ("firejail", "--quiet", "--net=none") would protect; `env` does not
    with open_sandbox(LauncherSandbox, launcher=("env", "-u", "HOME")) as box:
        print(box.run("print(6 * 7)").text)
