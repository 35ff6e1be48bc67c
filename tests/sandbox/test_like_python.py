"""A program in the sandbox has the same output and exit status as in the interpreter."""

import os
import subprocess
import sys

import pytest

from dataenvgym.sandbox import Limits

PROGRAMS = {
    "a file on stdout, left open": "out = open(1, 'w')\nout.write('42\\n')",
    "a descriptor, left open": "import os\nout = os.fdopen(1, 'w')\nout.write('42\\n')",
    "another buffer": (
        "import io, sys\nout = io.BufferedWriter(sys.stdout.buffer.raw)\nout.write(b'42')"
    ),
    "stdout detached": (
        "import io, sys\nsys.stdout = io.TextIOWrapper(sys.stdout.detach(), encoding='utf-8')\n"
        "print(42)"
    ),
    "stdout replaced": "import io, sys\nprint(42)\nsys.stdout = io.StringIO()\nprint('no')",
    "stdout closed": "import sys\nprint(42)\nsys.stdout.close()",
    "stderr None": "import sys\nprint(42)\nsys.stderr = None",
    "an object's end": "class A:\n def __del__(self): print('bye')\na = A()\nprint(42)",
    "a generator's end": "def g():\n try: yield\n finally: print('end')\nx = g(); next(x)",
    "a finalizer": "import weakref\nclass A: pass\na = A(); weakref.finalize(a, print, 'fin')",
    "exit handlers": "import atexit\natexit.register(print, 'late')\nprint(42)",
    "an exit handler that fails": "import atexit\nprint(42)\natexit.register(lambda: 1 / 0)",
    "a large exit code": "import sys; sys.exit(2**70)",
    "an exit code that is not a number": "import sys; sys.exit((1, 2))",
    "a hook that fails": (
        "import sys\nprint(42)\ndef hook(*a): raise ValueError('x')\nsys.excepthook = hook\n1 / 0"
    ),
    "a hook that exits": (
        "import sys\nprint(42)\ndef hook(*a): sys.exit(5)\nsys.excepthook = hook\n1 / 0"
    ),
    "a group of exceptions": "raise ExceptionGroup('a', [ValueError(1)])",
    "a thread that fails": "import threading\nthreading.Thread(target=lambda: 1 / 0).start()",
    "a daemon thread": (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\nprint(42)"
    ),
    "a child": (
        "import os\nprint('a', flush=True)\nif os.fork() == 0:\n print('b'); raise SystemExit\n"
        "os.wait()\nprint('c')"
    ),
    "a server and its client": """
import asyncio
async def serve(reader, writer):
    writer.write((await reader.readexactly(300_000))[::-1]); writer.close()
async def main():
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(bytes(range(250)) * 1200)
    print(len(await reader.read()), await asyncio.to_thread(sum, [1, 2]))
asyncio.run(main())
""",
    "a program of asyncio's": """
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec('cat', stdin=-1, stdout=-1)
    print((await process.communicate(b'x' * 200_000))[0].count(b'x'))
asyncio.run(main())
""",
    "a pool of processes": """
import multiprocessing, os
if __name__ == '__main__':
    with multiprocessing.Pool(2) as pool: print(pool.map(abs, range(-9, 9)))
""",
    "threads that start programs": """
import os, subprocess
from concurrent.futures import ThreadPoolExecutor
run = lambda n: subprocess.run(['echo', str(n)], capture_output=True, text=True).stdout
with ThreadPoolExecutor(2) as pool: print(list(pool.map(run, range(4))))
print(os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1])
""",
    "signals and timers": """
import os, signal, threading
signal.signal(signal.SIGALRM, lambda *_: print('alarm'))
signal.setitimer(signal.ITIMER_REAL, 0.02); signal.pause()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
for _ in range(200): os.kill(os.getpid(), signal.SIGRTMIN)
print([signal.sigwaitinfo([signal.SIGRTMIN]).si_pid == os.getpid() for _ in range(200)].count(True))
timer = threading.Timer(0.01, print, ['late']); timer.start(); timer.join()
""",
    "copies of files": """
import os, shutil, socket, tempfile
folder = tempfile.mkdtemp(); os.mkdir(folder + '/a')
with open(folder + '/a/file', 'wb') as file: file.write(b'x' * 100_000)
shutil.copytree(folder + '/a', folder + '/b'); os.system(f'cp -r {folder}/b {folder}/c')
print(os.path.getsize(folder + '/c/file'))
a, b = socket.socketpair()
with open(folder + '/c/file', 'rb') as file: print(a.sendfile(file, count=5000), len(b.recv(9000)))
os.sync()
""",
    "locks, a terminal, a data base": """
import fcntl, os, sqlite3, tempfile
with tempfile.NamedTemporaryFile() as file:
    fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)
master, slave = os.openpty()
os.write(slave, b'hello'); print(os.read(master, 9), os.isatty(slave))
with sqlite3.connect(tempfile.mktemp()) as base: print(base.execute('select 6 * 7').fetchall())
""",
    "its own globals": "x: int = 1\nprint(__annotations__, __name__, sorted(globals()))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_ends_as_in_the_interpreter_itself(box, tmp_path, name):
    file = tmp_path / "main.py"
    file.write_text(PROGRAMS[name])
    alone = subprocess.run(
        [sys.executable, "-X", "utf8", str(file)],
        capture_output=True,
        cwd=tmp_path,
        env={"PATH": os.defpath},
        timeout=60,
    )
    here = box.run(PROGRAMS[name], limits=Limits(seconds=20))
    assert (here.return_code, here.stdout) == (alone.returncode, alone.stdout)
    ours, theirs = (text.decode().splitlines() for text in (here.stderr, alone.stderr))
    kept = [line for line in ours if " at 0x" not in line and "File " not in line]
    assert kept == [line for line in theirs if " at 0x" not in line and "File " not in line]


@pytest.mark.parametrize("name", ["numbers", "random", "string", "json", "fractions"])
def test_a_file_of_the_run_comes_before_the_standard_librarys_module_of_its_name(any_box, name):
    result = any_box.run(f"import {name}; print({name}.mine)", files={f"{name}.py": "mine = 7"})
    assert (result.stderr, result.text) == (b"", "7\n")
