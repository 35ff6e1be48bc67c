"""Retrievers: they find texts for a query, in a folder or through a server."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.request import Request, urlopen

from dataenvgym import exact_json
from dataenvgym.errors import ConfigurationError, SpeakerError

RETRIEVER = "retriever"
"""Its name where it is at fault."""
PIECE = 1_200
"""Characters of a piece of a folder's texts; a longer paragraph stays whole."""
_SECONDS, _TRIES = 60.0, 3  # of one request to servers


@runtime_checkable
class Retriever(Protocol):
    """Finds texts for a query."""

    def search(self, query: str, k: int) -> Sequence[str]:
        """At most `k` texts, the best first; SpeakerError if it failed. Threads may share it."""
        ...


class FolderRetriever:
    """BM25 over the texts of a folder; needs the package bm25s.

    Each .txt and .md file is split at blank lines into pieces of about `PIECE` characters; a piece
    begins with the name of its file. Texts without a word of the query are not found.

    Args:
        folder: of the texts, with folders in it.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        files = sorted(p for p in self.folder.rglob("*") if p.suffix in (".txt", ".md"))
        self.texts = [piece for path in files for piece in self._pieces(path)]
        if not self.texts:
            raise ConfigurationError(
                f"retriever is {str(folder)!r}, expected a folder with .txt or .md files, "
                "http://HOST:PORT (or a list of servers), or an object with `search(query, k)`"
            )

    def _pieces(self, path: Path) -> list[str]:
        paragraphs = path.read_text(encoding="utf-8", errors="replace").split("\n\n")
        pieces = [""]
        for paragraph in filter(None, map(str.strip, paragraphs)):
            if pieces[-1] and len(pieces[-1]) + len(paragraph) > PIECE:
                pieces.append("")
            pieces[-1] += f"\n{paragraph}" if pieces[-1] else paragraph
        return [f"{path.stem}\n{piece}" for piece in pieces if piece]

    @cached_property
    def _index(self) -> Any:
        try:
            import bm25s
        except ImportError:
            raise ConfigurationError(
                "a folder of texts is searched with the package bm25s: "
                "pip install 'dataenvgym[retrieval]'"
            ) from None
        index = bm25s.BM25()
        tokens = bm25s.tokenize(self.texts, stopwords="en", show_progress=False)
        index.index(tokens, show_progress=False)
        return index

    def search(self, query: str, k: int) -> Sequence[str]:
        """See `Retriever`."""
        index = self._index
        import bm25s

        words = bm25s.tokenize([query], stopwords="en", return_ids=False, show_progress=False)
        if not words[0]:
            return ()
        found, scores = index.retrieve(words, k=min(k, len(self.texts)), show_progress=False)
        return [self.texts[i] for i, s in zip(found[0], scores[0], strict=True) if s > 0]


class HttpRetriever:
    """Servers with ToolOrchestra's `/retrieve`: a list of documents for each query.

    A request is `{"queries": [...], "topk": k, "return_scores": true}`; the reply has, for each
    query, `[{"document": {"content": ...}, "score": ...}, ...]` ("contents" is read as well). A
    failed request goes to the next server.

    Args:
        base_urls: one server, or several.
    """

    def __init__(self, base_urls: str | Sequence[str]) -> None:
        self.base_urls = (base_urls,) if isinstance(base_urls, str) else tuple(base_urls)

    def search(self, query: str, k: int) -> Sequence[str]:
        """See `Retriever`."""
        body = {"queries": [query], "topk": k, "return_scores": True}
        error: Exception | None = None
        for attempt in range(_TRIES):
            url = self.base_urls[attempt % len(self.base_urls)].rstrip("/") + "/retrieve"
            request = Request(url, exact_json.dumps(body), {"Content-Type": "application/json"})
            try:
                with urlopen(request, timeout=_SECONDS) as reply:
                    documents = [each["document"] for each in exact_json.loads(reply.read())[0]]
                return [str(d["content"] if "content" in d else d["contents"]) for d in documents]
            except (OSError, HTTPException, ValueError, LookupError, TypeError) as failure:
                error = failure
        raise SpeakerError(
            f"retriever: {type(error).__name__} from {url} in {_TRIES} tries: {error}",
            fault=RETRIEVER,
        )


def make_retriever(
    given: Retriever | str | Path | Sequence[str] | None, urls: Sequence[str] = ()
) -> Retriever | None:
    """The retriever of a folder, of server addresses, or the given one; `urls` if none is given.

    Raises:
        ConfigurationError: if it is none of these.
    """
    if given is None:
        return HttpRetriever(urls) if urls else None
    if isinstance(given, Retriever):
        return given
    listed = [str(each) for each in (given if isinstance(given, list | tuple) else [given])]
    if all(each.startswith(("http://", "https://")) for each in listed):
        return HttpRetriever(listed)
    return FolderRetriever(" ".join(listed))
