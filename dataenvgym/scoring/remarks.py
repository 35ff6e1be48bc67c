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
_UNIT = re.compile(r"(?:in )?([^\W\d_]+)")
_ALTERNATIVE = re.compile(r"\s*\((?:(?:or|=) ([^()]+)|([\d.]+\\?%))\)$")
_PHRASE = re.compile(
    r"\b(?:in|on|of|an?|the|this|these|it|s?he|they|we|you|us|i|is|are|were|be|as|for|to|at|up|per"
    r"|after|before|with|from|down|all|her|his|their|total|overall|together|combined|exactly|indeed"
    r"|approximately|roughly)\b"
)
_DOUBT = re.compile(
    r"\b(?:not?|n?or|but|maybe|perhaps|wait|wrong|incorrect|plus|minus|less|more|times|unless|else"
    r"|if|otherwise|mod|modulo|negative)\b"
)
_NUMBER = re.compile(
    r"\b(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand"
    r"|million|dozen|half|\w+teen|\w+ty)\b"
)


def without_remarks(text: str) -> str:
    """Cleaned `text` without words around its answer (see the module)."""
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
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
    return _ALTERNATIVE.sub(r", or \1\2", text)
