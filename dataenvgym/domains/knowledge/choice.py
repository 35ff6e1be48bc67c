r"""The choice that a reply gives, as its letter.

What counts, the surest first:

1. the last `\boxed{}` or text between <answer> tags, even if unreadable, or what follows `####`;
2. the last sentence that states a choice: "the answer is B", "I choose (B)", "option B is correct";
3. lines that begin with a letter, always the same one, or a last line that is a letter;
4. a conclusion at the end, as "so it is B", or a reply that says nothing but a choice.

A choice is stated by its letter or its text. "A" and "I" before another word are words, unless that
word begins the text of their own choice; two choices in one statement are none. What is denied does
not count, and what is only supposed ("I thought the answer is A") comes last.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence

from dataenvgym.tasks.scoring import extract_final_answer

_BOX = re.compile(r"\\(?:boxed|fbox)\b")
_TAGGED = re.compile(r"<answer>([^<]{0,999})</answer>", re.IGNORECASE)
_MARKUP = re.compile(
    r"\\(?:(?:text|math|operator|bold|display)[a-z]{0,6}|bf|rm|bm|mbox|f?boxed|emph|underline|large"
    r"|left|right)(?![a-z])(?:\{[a-z]+\}(?=\{))?+\s?|\\[()\[\]]|[*`$\"\u201c\u201d\u2018\u00ab\u00bb{}]"
    r"|(?<![^\W_])['\u2019_]|['\u2019_](?![^\W_])"
)
_SPACE = re.compile(r"\\[ ,;:]|~")
_WIDE = str.maketrans({chr(0xFEE0 + code): chr(code) for code in range(0x21, 0x7F)})
_STATED = re.compile(
    r"(?<!wrong\s)(?<!incorrect\s)\b(?:answer|ans|choice|option|solution|response)(?:\s(?:to|for)\s[^.:\n]{1,80}?)?(?:(?=\s\()|\s{0,3}[:=\u2013-]"
    r"|\s(?:is|was|are|would be|must be|should be|will be|has to be)\b:?)\s{0,3}"
    r"|答案\s?(?:应该?)?[是为选]?:?\s?|(?<!不)选择?:?\s?"
    r"|(?<!not\s)(?<!n.t\s)(?<!never\s)\b(?:choos(?:e|ing)|chose|pick|select"
    r"|(?:go|going) (?:with|for)|(?:opt|vote) for)\s",
    re.IGNORECASE,
)
_REVERSED = re.compile(
    r"(?<![\w'])(?<!n.t think\s)([A-Z])[).:]{0,2}(?:,?\s(?:(?!\b[A-Z]\b|\bis\b)[^.\n]){1,60}?)?,?\s"
    r"(?:is|seems|must be|should be|would be)"
    r"\s(?:the )?(?:only |most |clearly )?(?:correct|right|best|true|(?<=the\s)answer)\b"
)
_CONCLUSION = re.compile(
    r"(?<!wrong answer\s)(?<!incorrect answer\s)(?<!not\s)(?<!n.t\s)\b(?:is|conclusion|it's|be"
    r"|therefore|thus|hence|so|think|believe|say|guess|answer|option|choice)[,:]?\s"
    r"\(?([A-Z])\)?[.!]?\s*\Z",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"^[ \t]{0,9}\(?([A-Z])(?:\)?[.:)]?[ \t]*$|[).:][ \t](?!is\b)|[ ][-:\u2013][ ])", re.MULTILINE
)
_FILLER = re.compile(
    r"(?:(?:not\s[^.,;\n]{1,40}[,;]?\sbut|in(?:deed| fact)|of course|(?:most )?(?:probab|like)ly"
    r"|(?:clear|definite|obvious|certain|sure|actual|simp)ly|also|just|now|given by"
    r"|therefore|thus|(?:the )?(?:letter|option|choice))[,:]?\s)+",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"[(\[]\s?([A-Za-z])\s?[)\]]|([A-Z])(?![\w'\u2019+#])(?!-\w|\s?=)|([a-z])(?=[.)]?(?:\s*$|\n)|[.)]\s)"
)
_WORD = re.compile(r"\s(?!(?:because|since|as|for|which|and|or|but|is|it|with|due|given|that)\b)\w")
_ANOTHER = re.compile(
    r"[\s)]{1,3}(?:or|and|&)\s|\s?/\s?|\)?[,;\s]\s?(?=[(]?[A-Z]\)?(?:,|[.]?\s*(?:\n|\Z)))"
)
_SUPPOSED = re.compile(
    r"\b(?:suppos|assum|if|thought|at first|initially)(?:(?!\bbut\b)[^.\n]){0,60}\Z", re.IGNORECASE
)
_SENTENCE = re.compile(
    r"(?:(?!\bnot\b|n't\b|doubt|never|cannot|whether|\bif\b|\?)[^.\n])*?"
    r"\b(?:is|it's)\s((?!(?:the )?(?:correct|right))[^.?\n]+)\.?"
    r"|([^.\n]+?)\sis\s(?:the )?(?:correct|right)\b[^.\n]*\.?",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?:(?:option|choice|ans)[.:]?\s)?[(\[]?\s?([A-Za-z])\s?[)\]]?[ .:!]*")
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
        inside = _plain(marked)
        said = _said(inside, texts) or _said(_STATED.split(inside)[-1], texts)
        if said or is_boxed:
            return said
    text = _plain(reply)
    found: list[tuple[bool, int, str | None]]
    found = [(True, m.end(), m[1]) for m in _REVERSED.finditer(text)]
    for m in _STATED.finditer(text):
        is_sure = not _SUPPOSED.search(text[max(m.start() - 80, 0) : m.start()])
        found.append((is_sure, m.end(), _said(text[m.end() : m.end() + _LONGEST], texts)))
    stated = max([one for one in found if one[2] and one[2] in texts], default=None)
    if stated and stated[0]:
        return stated[2]
    lines: list[str] = [letter for letter in _LINE.findall(text) if letter in texts]
    if lines and (len({*lines}) == 1 or _LETTER.fullmatch(text.rpartition("\n")[2].strip(" .:"))):
        return lines[-1]
    concluded = _CONCLUSION.search(text)
    if concluded and concluded[1] in texts:
        return concluded[1]
    if stated:
        return stated[2]
    sentence = _SENTENCE.fullmatch(text) if len(text) <= _LONGEST else None
    keys = {_key(said) for said in (text, *(sentence.groups("") if sentence else ())) if said}
    same = [a for a, t in texts.items() if t and keys & {t, f"{a} {t}".lower()}]
    alone = _ALONE.fullmatch(text)
    letter = alone[1].upper() if alone else same[0] if len(same) == 1 else None
    return letter if letter in texts else None


def _plain(text: str) -> str:
    """The text without emphasis, quotation marks and LaTeX around its words."""
    text = _SPACE.sub(" ", text.translate(_WIDE)).replace("\\dfrac", "\\frac")
    return _MARKUP.sub("", text).strip()


def _key(text: str) -> str:
    """Equal for texts that differ in case, article and the points of sentences only."""
    return _KEY.sub("", " ".join(text.casefold().split())).rstrip(" .,;:!?")


def _said(stated: str, texts: Mapping[str, str]) -> str | None:
    """The letter of the choice that begins a statement; None if there is none, or there are two."""
    stated = stated[:_LONGEST]
    begun = [(len(t), a) for a, t in texts.items() if _begins(_key(stated), t)]
    if not begun and (filler := _FILLER.match(stated)):
        return _said(stated[filler.end() :], texts)
    chosen, rest = _lettered(stated, texts), ""
    if begun and (not chosen or max(begun)[0] > 1):
        length, chosen = max(begun)
        if [n for n, _ in begun].count(length) > 1:
            return None
        rest = _key(stated)[length:]
    elif chosen:
        rest = stated[len(stated) - len(stated.lstrip("([ ")) + 1 :]
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
