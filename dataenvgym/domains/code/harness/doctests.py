"""Runs the examples of a doctest and reports the first one that fails (see `programs`)."""

from __future__ import annotations

import doctest
from typing import Any

from dataenvgym.domains.code.harness.exceptions import failed, in_short

_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def run_doctest(text: str, namespace: dict[str, Any]) -> dict[str, Any]:
    """Run the examples of a text; each must give the output that is written under it."""
    test = doctest.DocTestParser().get_doctest(text, namespace, "doctest", None, 0)
    runner = _Runner(optionflags=_OPTIONS)
    runner.run(test, out=lambda _: None, clear_globs=False)
    return runner.first or {"failure": None}


def source_of(text: str) -> str:
    """The examples as one program; ValueError if they are not valid doctests."""
    return "".join(example.source for example in doctest.DocTestParser().get_examples(text))


class _Runner(doctest.DocTestRunner):
    """Keeps the first failure; only a test's own exceptions may end an example."""

    first: dict[str, Any] | None = None

    def report_start(self, out: Any, test: Any, example: Any) -> None:
        pass

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        pass

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        self._keep(example, f"got {got.strip() or 'nothing'}", None)

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        if not isinstance(exc_info[1], Exception | SystemExit):
            raise exc_info[1]
        self._keep(example, in_short(exc_info[1]), exc_info[1])

    def _keep(self, example: Any, what: str, error: BaseException | None) -> None:
        wanted = example.want.strip() or "nothing"
        text = f">>> {example.source.strip()}\nexpected {wanted}\n{what}"
        self.first = self.first or (failed(text, error) if error else {"failure": text})
