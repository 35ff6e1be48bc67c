"""One `ask` of a teacher and the cache, which other runs may use at the same time.

A question that is not in the cache is claimed before it is asked. A question that another run has
claimed is not asked: its reply comes from the cache once it is stored. A claim that was released
without a reply, or whose run died, can be taken over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from dataenvgym.interfaces import Reply
from dataenvgym.llm.cache import ReplyCache


class SharedReplies:
    """The cache by the positions of the questions; without a cache, every claim is granted.

    Args:
        cache: may be None.
        keys: of the questions; called only if there is a cache.
    """

    def __init__(self, cache: ReplyCache | None, keys: Callable[[], Sequence[str]]) -> None:
        self._cache = cache
        self._keys = keys() if cache is not None else []
        self._claimed: set[int] = set()

    @property
    def exists(self) -> bool:
        return self._cache is not None

    def known(self, positions: Sequence[int]) -> Iterator[tuple[int, Reply]]:
        """The questions that the cache answers, with their replies."""
        if self._cache is not None:
            replies = self._cache.get([self._keys[i] for i in positions])
            yield from ((i, r) for i, r in zip(positions, replies, strict=True) if r is not None)

    def claim(self, position: int) -> Reply | bool:
        """The reply, if it is stored by now; otherwise whether the question is ours to ask."""
        if self._cache is None:
            return True
        claimed = self._cache.claim(self._keys[position])
        if claimed is True:
            self._claimed.add(position)
        return claimed

    def keep(self, position: int, reply: Reply) -> None:
        """Store a reply."""
        if self._cache is not None:
            self._cache.put(self._keys[position], reply)

    def give_back(self, position: int) -> None:
        """Release a claim: others may ask, or read the stored reply."""
        if self._cache is not None and position in self._claimed:
            self._claimed.remove(position)
            self._cache.release(self._keys[position])

    def give_all_back(self) -> None:
        """Release the claims of all questions without an answer."""
        for position in list(self._claimed):
            self.give_back(position)

    def renew(self) -> None:
        """Renew the claims to show that this run is alive; call it every few seconds."""
        if self._cache is not None:
            self._cache.renew()
