"""Words around an answer: `about 72`, `72, in total`, `40 (in dollars)`, `7, i.e. seven`.

Only known words before a number are removed, and behind one only a remark that cannot be a second
answer: it has no digits and no numbers in words, and is a phrase such as `in total`, or it says
the answer again. `7 or 8`, `3, even` and `5 (mod 7)` stay whole.
"""

from __future__ import annotations

import re

_LEADS = (
    "about|approx|circa|ca|around|close to|almost|indeed|just|only|still|now|also|again|always|yes"
    "|(?:approximate|rough|exact|precise|simp|clear|actual|certain|definite|obvious|evident|real|tru"
    "|sure|mere|final|near|easi|probab|total)ly|in fact|of course|equals?|(?:equal|equivalent) to"
    "|(?:found|seen|estimated|rounded) to(?: be)?|given by|a total of|therefore|thus|hence|so|then"
    "|it is|the (?:correct |exact )?(?:number|integer|value|point|(?:ordered )?pair)|USD|EUR|GBP|Rs"
)
_LEAD = re.compile(
    r"(?:[\s=:~,]|(?:\{ ?)?+\\(?:approx(?:eq)?|thickapprox|sim|simeq|cong|doteq)(?![A-Za-z])"
    r"(?: ?\})?"
    rf"|(?:{_LEADS})\b[.,:]?|\\text ?\{{ ?(?:{_LEADS})[.,:]? ?\}})+(?=[^\w\\]*(?:\d|\\|\w ?=))",
    re.IGNORECASE,
)
_SAID_AGAIN = re.compile(
    r"(?:[\s,;:(]|\s-+)\s*+(?:and )?(?:(?:i\.?e|e\.?g|viz|aka|that is|that's|namely|because|since"
    r"|in (?:other )?words|(?:or )?equivalently|meaning|also written|rather than|instead of"
    r"|not(?= [\d$])|if (?:I['\s]a?m|rounded)|assuming|which|in all|in total|altogether)\b"
    r"|\((?:rounded|correct|accurate|to|nearest)\b).*$",
    re.IGNORECASE,
)
_WORDS = r"((?:[^\W\d_]++(?:['.-][^\W\d_]++)*+[\s.,;!]*+)++)"
_REMARK = re.compile(rf"(?:[,;:]\s+|\s-+\s+|\s(?=(?:in|sold|after|before)\s)){_WORDS}$")
_BRACKETS = re.compile(rf"\s*[(\[]{_WORDS}[)\]]$")
_UNIT = re.compile(r"(?:in )?([^\W\d_]+)")
_ALTERNATIVE = re.compile(
    r"\s*\((?:(?:or|=) ([^()]+)|([\d.]+\\?%(?: [a-z]+)?)|(?<= \()([\d.]+ percent|\d*[./]\d+))\)$"
)
_WITH_UNITS = re.compile(
    r"[\d}] ?((?!sin|cos|tan|log)[a-z]{2,}) \((?=\d)([^()\\]*[a-z]{2}[^()\\]*)\)$"
)
_WRAPPED = re.compile(r"\\text ?\{([^{}]*\d[^{}]*)\}")
_PHRASE = re.compile(
    r"\b(?:in|on|of|an?|the|this|these|it|s?he|they|we|you|us|i|is|are|were|be|as|for|to|at|up|per"
    r"|after|before|with|from|down|all|her|his|their|total|overall|together|combined|indeed|right|done"
    r"|final|qed|by|then|see|naturally|rounded|\w\w+[^m]ly)\b"
)
_DOUBT = re.compile(
    r"\b(?:not?|n?or|but|maybe|perhaps|wait|wrong|incorrect|and a|plus|minus|less|more|times|unless"
    r"|else|if|otherwise|mod|modulo|negative)\b"
)
_NUMBER = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand"
    r"|millions?|dozen|half|\w+teen|\w+ty)\b"
)
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_TIMES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6}
_VALUES = dict(zip(f"{_ONES} {_TENS}".split(), (*range(20), *range(20, 100, 10)), strict=True))
_WORD = "|".join([*_VALUES, *_TIMES, "and"])
_SPELLED = re.compile(
    rf"(?:,? or |, | - | / | [(\[])((?:(?:{_WORD})(?:[\s-]|(?=[)\]]?$)))+)[)\]]?$", re.IGNORECASE
)


def without_remarks(text: str) -> str:
    """Cleaned `text` without words around its answer (see the module)."""
    if wrapped := _WRAPPED.fullmatch(text):
        text = wrapped[1]
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    if (spelled := _SPELLED.search(text)) and re.search(r"\d", text):
        text = f"{text[: spelled.start()]}, or {_value(spelled[1])}"
    if (aside := _WITH_UNITS.search(text)) and not _DOUBT.search(aside[2]):
        text = text[: aside.end(1)]
    for remark in (_SAID_AGAIN, _REMARK, _BRACKETS):
        found = remark.search(text)
        if not found or not re.search(r"[\d\\]", head := text[: found.start()]):
            continue
        if remark is not _SAID_AGAIN:
            said = found[1].lower()
            is_number = _NUMBER.search(said)
            if _DOUBT.search(said) or (
                remark is _REMARK and (is_number or not _PHRASE.search(said))
            ):
                continue
            if remark is _BRACKETS and not is_number and (unit := _UNIT.fullmatch(said)):
                head += f" {unit[1]}"
        text = head + "}" * (head.count("{") - head.count("}"))
    return _ALTERNATIVE.sub(r", or \1\2\3", text)


def _value(words: str) -> int:
    """The value of a number in words: `seventy-two`."""
    total = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        total = total * _TIMES[word] if word in _TIMES else total + _VALUES.get(word, 0)
    return total
