"""Words around an answer: `about 72`, `72, in total`, `40 (in dollars)`, `7, i.e. seven`.

Only known words before a number are removed, and behind one only a remark that cannot be a second
answer: it has no digits and no numbers in words, and is a phrase such as `in total`, or it says
the answer again. `7 or 8`, `3, even` and `5 (mod 7)` stay whole.
"""

from __future__ import annotations

import re

_LEADS = (
    "about|approximately|approx|circa|ca|roughly|around|exactly|precisely|indeed|simply|just|only"
    "|clearly|actually|still|now|also|equals?|equal to|equivalent to|a total of|therefore|thus"
    "|hence|so|then|it is|USD|EUR|GBP|Rs"
)
_LEAD = re.compile(
    r"(?:[\s=:~,]|\\(?:approx|thickapprox|sim|simeq|cong)(?![A-Za-z])"
    rf"|(?:{_LEADS})\b[.,:]?|\\text ?\{{ ?(?:{_LEADS})[.,:]? ?\}})+(?=[^\w\\]*(?:\d|\\|\w ?=))",
    re.IGNORECASE,
)
_SAID_AGAIN = re.compile(
    r"(?:[\s,;:(]|\s-+)\s*+(?:and )?(?:(?:i\.?e|e\.?g|viz|aka|that is|that's|namely|because|since"
    r"|in other words|assuming|which|in all|in total|altogether)\b"
    r"|\((?:rounded|correct|accurate|to|nearest)\b).*$",
    re.IGNORECASE,
)
_WORDS = r"((?:[^\W\d_]++(?:['.-][^\W\d_]++)*+[\s.,;!]*+)++)"
_REMARK = re.compile(rf"(?:[,;:]\s+|\s-+\s+){_WORDS}$")
_BRACKETS = re.compile(rf"\s*\({_WORDS}\)$")
_ALTERNATIVE = re.compile(r"\s*\((?:(?:or|=) ([^()]+)|([\d.]+\\?%))\)$")
_LONG_WORD = 3
_PHRASES = """in on of the a an that this these he she it they we you us i is are was were be as for
    to at up per after before with from down all her his their altogether total overall together
    combined approximately roughly exactly indeed inclusive obviously clearly precisely rounded"""
_DOUBTS = """no not nor or but maybe perhaps wait wrong incorrect plus minus less more times
    unless if else otherwise infinity undefined none mod modulo pi theta alpha beta sqrt sin cos tan
    ln log negative"""
_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve twenty thirty
    forty fifty sixty seventy eighty ninety hundred thousand million dozen half"""
_PHRASE_WORDS, _DOUBTFUL_WORDS, _NUMBER_WORDS = (
    frozenset(words.split()) for words in (_PHRASES, _DOUBTS, _NUMBERS)
)


def without_remarks(text: str) -> str:
    """Cleaned `text` without words around its answer (see the module)."""
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    for remark in (_SAID_AGAIN, _REMARK, _BRACKETS):
        if (found := remark.search(text)) and re.search(r"[\d\\]", text[: found.start()]):
            head = text[: found.start()] + _kept(found)
            text = head + "}" * (head.count("{") - head.count("}"))
    return _ALTERNATIVE.sub(r", or \1\2", text)


def _kept(found: re.Match[str]) -> str:
    """What stays of a remark: all of it if it may be an answer, and a unit in brackets."""
    if found.re is _SAID_AGAIN:
        return ""
    words = re.findall(r"[^\W\d_]+", found[1].lower())
    if _DOUBTFUL_WORDS.intersection(words) or any(map(_is_short_name, words)):
        return found[0]
    if found.re is _REMARK:
        is_phrase = _PHRASE_WORDS.intersection(words) and not _NUMBER_WORDS.intersection(words)
        return "" if is_phrase else found[0]
    is_unit = (words[0] == "in" or len(words) == 1) and not _NUMBER_WORDS.intersection(words)
    return f" {words[-1]}" if is_unit else ""


def _is_short_name(word: str) -> bool:
    """Whether letters may be variables."""
    return len(word) < _LONG_WORD and word not in _PHRASE_WORDS
