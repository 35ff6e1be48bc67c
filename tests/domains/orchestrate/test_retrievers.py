import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dataenvgym.domains.orchestrate.retrievers import (
    FolderRetriever,
    HttpRetriever,
    make_retriever,
)
from dataenvgym.errors import ConfigurationError, SpeakerError
from tests.domains.orchestrate.orchestrations import FOUND


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "ships.md").write_text("The ark sank in 1912.\n\nThe raft floats.")
    (tmp_path / "deep" / "birds.txt").write_text("Owls hunt at night.")
    (tmp_path / "notes.json").write_text('{"owl": 1}')
    return tmp_path


@pytest.fixture
def server():
    """A `/retrieve` server; its `replies` are (status, body), the last one for all that follow."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            found.asked.append((self.path, json.loads(self.rfile.read(length))))
            status, body = found.replies[min(len(found.asked), len(found.replies)) - 1]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        found.asked, found.url = [], f"http://127.0.0.1:{found.server_port}"
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def documents(*texts, key="content"):
    return 200, json.dumps([[{"document": {key: text}, "score": 1.0} for text in texts]])


def test_texts_of_a_folder_are_found_by_their_words(folder, monkeypatch):
    pytest.importorskip("bm25s")
    assert "ships\nThe ark sank in 1912.\nThe raft floats." in FolderRetriever(folder).texts
    monkeypatch.setattr("dataenvgym.domains.orchestrate.retrievers.PIECE", 10)
    retriever = FolderRetriever(folder)
    assert retriever.search("who hunts at night: owls?", 2)[0] == "birds\nOwls hunt at night."
    assert retriever.search("1912", 5) == ["ships\nThe ark sank in 1912."]
    assert retriever.search("zebra", 5) == []
    assert list(retriever.search("the", 5)) == []
    assert len(retriever.texts) == 3


def test_a_server_gets_the_query_in_the_published_form(server):
    server.replies = [documents("a", "b"), documents("c", key="contents")]
    retriever = HttpRetriever(server.url + "/")
    assert retriever.search("owls", 2) == ["a", "b"]
    assert server.asked == [("/retrieve", {"queries": ["owls"], "topk": 2, "return_scores": True})]
    assert retriever.search("owls", 2) == ["c"]


def test_a_request_that_failed_is_sent_again_and_then_charged_to_the_retriever(server):
    server.replies = [(500, "no"), (200, "[]"), documents("a")]
    assert HttpRetriever(server.url).search("owls", 2) == ["a"]
    server.asked.clear()
    server.replies = [(200, '{"rubbish": 1}')]
    with pytest.raises(SpeakerError, match="retriever") as error:
        HttpRetriever(server.url).search("owls", 2)
    assert error.value.fault == "retriever"
    assert len(server.asked) == 3
    server.replies = [documents("a")]  # the next server is asked
    assert HttpRetriever(["http://127.0.0.1:9", server.url]).search("owls", 2) == ["a"]


def test_a_retriever_is_made_of_a_folder_an_address_or_itself(folder):
    assert make_retriever(FOUND) is FOUND
    assert isinstance(make_retriever(str(folder)), FolderRetriever)
    assert make_retriever("http://h:1").base_urls == ("http://h:1",)
    assert make_retriever(["http://h:1", "http://h:2"]).base_urls == ("http://h:1", "http://h:2")
    assert make_retriever(None, ("http://h:3",)).base_urls == ("http://h:3",)
    assert make_retriever(None) is None


@pytest.mark.parametrize("given", ["nowhere", ["a", "http://h:1"]])
def test_other_retrievers_are_refused(given):
    with pytest.raises(ConfigurationError, match=r"retriever is .*folder"):
        make_retriever(given)
