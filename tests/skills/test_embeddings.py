import numpy as np
import pytest

from dataenvgym.errors import ConfigurationError, ServerError
from dataenvgym.skills import EndpointEmbedder, TfidfEmbedder
from dataenvgym.skills.embeddings import masked, nearest

from .serving import serving

CORPUS = ["Sort 3 1 2 in rising order.", "How long is 4 5?", "What is 12 plus 30?"]


def similarity(embedder: TfidfEmbedder, one: str, other: str) -> float:
    rows = embedder.embed([one, other], CORPUS)
    return float((rows[0] @ rows[1].T).toarray()[0, 0])


def test_texts_that_differ_in_numbers_are_similar_unless_numbers_are_not_masked():
    one, other = "What is 12 plus 30?", "What is 9 plus 41?"
    assert similarity(TfidfEmbedder(), one, other) == pytest.approx(1.0)
    assert similarity(TfidfEmbedder(mask_numbers=False), one, other) < 0.95


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sort 3 1 2 now", "Sort 0 now"),
        ("1,234.5 and 7", "0 and 0"),
        ("no numbers", "no numbers"),
        ("x2 y10", "x0 y0"),
    ],
)
def test_a_row_of_numbers_is_one_mask(text, expected):
    assert masked(text) == expected


@pytest.mark.parametrize("text", ["", "?!", "...", "世界", " \n"])
def test_texts_without_words_are_allowed(text):
    rows = TfidfEmbedder().embed([text], [text, text])
    assert rows.shape[0] == 1
    assert np.isfinite(rows.toarray()).all()


def test_other_forms_of_a_word_are_near_and_of_equal_texts_the_first():
    near, far = "Sorting it, in a rising order", "plus or minus"
    assert nearest([near, far], CORPUS, TfidfEmbedder()) == [0, 2]
    assert nearest(["one two"], ["three", "one two", "one two"], TfidfEmbedder()) == [1]
    assert nearest([], CORPUS, TfidfEmbedder()) == []


# --- an endpoint --------------------------------------------------------------------------------


class EmbeddingServer:
    """Embeds a text as the counts of "a" and "b" in it, and answers the last text first."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict] = []
        self.statuses: list[int] = []
        self.answer: object = None

    def answered(self, path: str, body: dict) -> tuple[int, object]:
        self.requests.append({**body, "path": path})
        rows = [
            {"index": i, "embedding": [float(text.count("a")), float(text.count("b"))]}
            for i, text in enumerate(body["input"])
        ]
        status = self.statuses.pop(0) if self.statuses else 200
        return status, self.answer or {"data": rows[::-1]}


@pytest.fixture
def server():
    made = EmbeddingServer()
    with serving(made.answered) as made.url:
        yield made


def embedder(server: EmbeddingServer, **options) -> EndpointEmbedder:
    return EndpointEmbedder("m", base_url=server.url + "/v1", api_key_variable=None, **options)


def test_an_endpoint_is_asked_in_batches_and_once_for_each_text(server):
    own = embedder(server, batch_size=2)
    rows = own.embed(["aa", "b", "aab", "aa"])
    assert rows == pytest.approx(np.array([[1, 0], [0, 1], [0.8944, 0.4472], [1, 0]]), abs=1e-4)
    assert [r["input"] for r in server.requests] == [["aa", "b"], ["aab"]]
    assert {(r["model"], r["path"]) for r in server.requests} == {("m", "/v1/embeddings")}
    own.embed(["b", "aa"])
    assert len(server.requests) == 2


def test_an_endpoint_that_fails_for_now_is_asked_again(server, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("dataenvgym.skills.embeddings.time.sleep", pauses.append)
    server.statuses = [503, 429]
    assert embedder(server).embed(["a"]).tolist() == [[1.0, 0.0]]
    assert pauses == [1.0, 2.0]


def test_an_endpoint_that_refuses_or_gives_an_invalid_answer_is_an_error(server, monkeypatch):
    monkeypatch.setattr("dataenvgym.skills.embeddings.time.sleep", lambda _: None)
    server.statuses = [401]
    with pytest.raises(ServerError):
        embedder(server).embed(["a"])
    assert len(server.requests) == 1
    for answer in ({"data": []}, {"nothing": 1}, {"data": [{"index": 0, "embedding": "x"}]}):
        server.answer = answer
        with pytest.raises(ServerError, match="/v1/embeddings answered"):
            embedder(server, retries=0).embed(["a"])


def test_impossible_options_are_refused():
    with pytest.raises(ConfigurationError, match="max_features is 0"):
        TfidfEmbedder(max_features=0)
    with pytest.raises(ConfigurationError, match="batch_size is 0"):
        EndpointEmbedder("m", api_key_variable=None, batch_size=0)
