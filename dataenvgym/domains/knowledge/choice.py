r"""The choice that a reply gives, as its letter.

What counts, the surest first:

1. the last `\boxed{}` or text between <answer> tags, even if unreadable, or what follows `####`;
2. the last sentence that states a choice: "the answer is B", "I choose (B)", "option B is correct";
3. lines that begin with a letter, always the same one, or a last line that is a letter;
4. a conclusion at the end, as "so it is B", or a reply that says nothing but a choice.

A choice is stated by its letter or its text. "A" and "I" before another word are words, unless that
word begins the text of their own choice; two choices in one statement are none.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence

from dataenvgym.scoring import extract_final_answer

_BOX = re.compile(r"\\(?:boxed|fbox)\b")
_TAGGED = re.compile(r"<answer>([^<]{0,999})</answer>", re.IGNORECASE)
_MARKUP = re.compile(
    r"\\(?:text|math|bf|rm)[a-z]{0,6}\b(?=\s?\{)|\\[()\[\]]|[*`$\"\u201c\u201d{}]|(?<!\w)['_]|['_](?!\w)"
)
_STATED = re.compile(
    r"\b(?:answer|choice|option|solution)(?:\s(?:to|for)\s[^.:\n]{1,80}?)?(?:(?=\s\()|\s{0,3}[:=\u2013-]"
    r"|\s(?:is|was|are|would be|must be|should be|will be|has to be)\b:?)\s{0,3}"
    r"|答案\s?(?:应该?)?[是为选]?[:\uff1a]?\s?"
    r"|\b(?:choos(?:e|ing)|chose|pick|select|(?:go|going) (?:with|for)|opt for)\s",
    re.IGNORECASE,
)
_REVERSED = re.compile(
    r"(?<![\w'])([A-Z])[).:]{0,2}(?:\s[^.\n]{1,60}?)?\s(?:is|must be|should be|would be)"
    r"\s(?:the )?(?:only |most |clearly )?(?:correct|right|best|true)\b"
)
_CONCLUSION = re.compile(
    r"\b(?:is|it's|be|therefore|thus|hence|so|think|believe|say|guess|answer|option|choice)[,:]?\s"
    r"\(?([A-Z])\)?[.!]?\s*\Z",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"^[ \t]{0,9}\(?([A-Z])(?:\)?[.:)]?[ \t]*$|[).:][ \t]|[ ][-:\u2013][ ])", re.MULTILINE
)
_FILLER = re.compile(
    r"(?:(?:not\s[^.,;\n]{1,40}[,;]?\sbut|indeed|clearly|definitely|(?:most )?(?:probab|like)ly"
    r"|therefore|thus|(?:the )?(?:letter|option|choice))[,:]?\s)+",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"[(\[]\s?([A-Za-z])\s?[)\]]|([A-Z])(?![\w'\u2019])(?!-\w)|([a-z])(?=[.)]?(?:\s*$|\n)|[.)]\s)"
)
_WORD = re.compile(r"\s(?!(?:because|since|as|for|which|and|or|but|is|it|with|due|given|that)\b)\w")
_ANOTHER = re.compile(r"[\s)]{1,3}(?:or|and|&)\s|\s?/\s?")
_KEY = re.compile(r"^(?:the|an?)\s|(?<=\w)[.'\u2019](?=\s|$|[^\W\d])")
_LONGEST = 300
_AFTER = re.compile(r"$|[\s,;:!?)]")


def read_choice(reply: str, choices: Sequence[str]) -> str | None:
    """The letter of the choice that a reply gives; None if it gives none."""
    texts = dict(zip(string.ascii_uppercase, (_key(_plain(c)) for c in choices), strict=False))
    tagged = _TAGGED.findall(reply)
    is_boxed = bool(tagged or _BOX.search(reply))
    if is_boxed or "####" in reply:
        marked = tagged[-1] if tagged else extract_final_answer(reply) or ""
        if (said := _said(_plain(marked), texts)) or is_boxed:
            return said
    text = _plain(reply)
    found: list[tuple[int, str | None]] = [
        (m.end(), _said(text[m.end() : m.end() + _LONGEST], texts)) for m in _STATED.finditer(text)
    ]
    found += [(m.end(), m[1]) for m in _REVERSED.finditer(text)]
    if stated := [(at, letter) for at, letter in found if letter and letter in texts]:
        return max(stated)[1]
    lines: list[str] = [letter for letter in _LINE.findall(text) if letter in texts]
    if lines and (len({*lines}) == 1 or _LETTER.fullmatch(text.rpartition("\n")[2].strip(" .:"))):
        return lines[-1]
    concluded = _CONCLUSION.search(text)
    if concluded and concluded[1] in texts:
        return concluded[1]
    same = [a for a, choice in texts.items() if choice and choice == _key(text)]
    alone = _LETTER.fullmatch(text.strip(" .:!"))
    return _lettered(alone[0], texts) if alone else same[0] if len(same) == 1 else None


def _plain(text: str) -> str:
    """The text without emphasis, quotation marks and LaTeX around its words."""
    return _MARKUP.sub("", text).strip()


def _key(text: str) -> str:
    """Equal for texts that differ in case, article and the points of sentences only."""
    return _KEY.sub("", " ".join(text.casefold().split())).rstrip(" .,;:!?")


def _said(stated: str, texts: Mapping[str, str]) -> str | None:
    """The letter of the choice that begins a statement; None if there is none, or there are two."""
    stated = _FILLER.sub("", stated[:_LONGEST], count=1) if _FILLER.match(stated) else stated
    chosen, rest = _lettered(stated, texts), ""
    if chosen:
        rest = stated[len(stated) - len(stated.lstrip("([ ")) + 1 :]
    elif begun := [(len(t), a) for a, t in texts.items() if _begins(_key(stated), t)]:
        length, chosen = max(begun)
        if [n for n, _ in begun].count(length) > 1:
            return None
        rest = _key(stated)[length:]
    another = _ANOTHER.match(rest)
    return chosen if not another or _said(rest[another.end() :], texts) in (None, chosen) else None


def _lettered(stated: str, texts: Mapping[str, str]) -> str | None:
    """The letter that a statement begins with, if it is one of a choice and no word."""
    found = _LETTER.match(stated)
    letter = (found[1] or found[2] or found[3]).upper() if found else ""
    if not found or letter not in texts:
        return None
    rest = stated[found.end() :]
    is_word = found[2] in ("A", "I") and _WORD.match(rest)
    return None if is_word and not _begins(_key(rest), texts[letter]) else letter


def _begins(key: str, text: str) -> bool:
    return bool(text) and key.startswith(text) and bool(_AFTER.match(key, len(text)))
