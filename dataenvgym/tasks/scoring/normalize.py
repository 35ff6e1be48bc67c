"""One spelling for many: normalizes the text of an answer before it is parsed.

`clean` undoes typesetting (`\\dfrac`, `\\left(`, thin spaces, `$`), maps Unicode signs to their
LaTeX or ASCII forms, and removes signs around the answer (bold marks, quotes, a full stop) and
words (`about`, `in total`: see `without_remarks`). It keeps the mathematics, also spaces between
digits, and its result is valid LaTeX again.
"""

# ruff: noqa: RUF001 (this module is about look-alikes of ASCII signs)

from __future__ import annotations

import re
import unicodedata

_SIGNS = {
    **dict.fromkeys("−–—‐‑‒﹣－", "-"),
    **dict.fromkeys("×·⋅∙∗", "*"),
    **dict.fromkeys("\u2009\u202f\u2006", r"\,"),
    **dict.fromkeys("’‘′", "'"),
    **dict.fromkeys("“”", '"'),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", ""),
    "÷": "/",
    "⁄": "/",
    "√": r"\sqrt ",
    "∞": r"\infty ",
    "≤": r"\le ",
    "⩽": r"\le ",
    "≥": r"\ge ",
    "⩾": r"\ge ",
    "≠": r"\ne ",
    **dict.fromkeys("≈≅≃∼≒", r"\approx "),
    "∪": r"\cup ",
    "∩": r"\cap ",
    "∈": r"\in ",
    "∅": r"\emptyset ",
    "±": r"\pm ",
    "°": r"^\circ ",
    "π": r"\pi ",
    "θ": r"\theta ",
    "α": r"\alpha ",
    "β": r"\beta ",
    "λ": r"\lambda ",
}
_SIGN_TABLE = str.maketrans(_SIGNS)
_LONG_DASH = re.compile(r"\s*—\s*(?=[^\W\d_]{2})")
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ"
_SUPERSCRIPT_RUN = re.compile(f"[{_SUPERSCRIPTS}]+")
_SUPERSCRIPT_TABLE = str.maketrans(_SUPERSCRIPTS, "0123456789-+n")
_SUBSCRIPT_RUN = re.compile("[₀-₉]+")
_VULGAR_FRACTION = re.compile("[¼-¾⅐-⅞]")

_TEXT_COMMANDS = (
    "text textbf textit textrm textnormal textsf texttt mathrm mathbf mathit mathsf mathtt mbox "
    "operatorname hbox boldsymbol bm"
)
_IGNORED_COMMANDS = (
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr displaystyle textstyle limits "
    "mathstrut dollar pounds"
)
_COMMANDS = {
    **dict.fromkeys(_TEXT_COMMANDS.split(), r"\text"),
    **dict.fromkeys(_IGNORED_COMMANDS.split(), ""),
    **dict.fromkeys(("dfrac", "tfrac", "cfrac"), r"\frac"),
    **dict.fromkeys(("quad", "qquad", "enspace", "thinspace"), " "),
    **dict.fromkeys(("times", "cdot", "ast"), " * "),
    **dict.fromkeys(("leq", "leqslant", "le"), r"\le "),
    **dict.fromkeys(("geq", "geqslant", "ge"), r"\ge "),
    **dict.fromkeys(("neq", "ne"), r"\ne "),
    **dict.fromkeys(("varnothing", "emptyset"), r"\emptyset "),
    **dict.fromkeys(("ldots", "dots", "cdots", "dotsc"), "..."),
    "div": " / ",
    "bmod": r"\mod ",
    "lt": "<",
    "gt": ">",
    "lbrace": r"\{",
    "rbrace": r"\}",
    "lbrack": "[",
    "rbrack": "]",
    "degree": r"^\circ ",
}
_COMMAND = re.compile(r"\\([A-Za-z]+)|\\([\\,;:!>% ()\[\]])")
_MARKS = {"\\": r"\\", "%": "%", ";": " ", ":": " ", ">": " ", " ": " ", ",": " "}

_THOUSANDS_SPACE = re.compile(r"(?<=\d)(?:\\,|\{,\}|,\\! *|\{,\\!\})(?=\d{3}(?!\d))")
_DEGREES = re.compile(r"\s*\^\s*\{?\s*\\circ\s*\}?\s*(?:\\text\s*\{\s*[CF]\s*\}|[CF](?![A-Za-z]))?")
_ANGLE_FUNCTION = re.compile(r"\\(?:arc)?(?:sin|cos|tan|cot|sec|csc|cis)")
_DOUBLED_BACKSLASH = re.compile(r"\\\\(?=[A-Za-z])")
_ASCII_COMPARISON = re.compile(r"<=|>=|=<|=>|!=")
_ASCII_COMMANDS = {"<=": r"\le ", "=<": r"\le ", ">=": r"\ge ", "=>": r"\ge ", "!=": r"\ne "}
_BARE_NAME = re.compile(r"(?<![\\A-Za-z])(sqrt|pi|infinity|infty|inf)(?![A-Za-z])", re.IGNORECASE)
_PERCENT = re.compile(
    r"\s*(?:\\text\s*\{\s*)?(?<![A-Za-z])(?:per ?cent|percentage|pct)\s*\}?$", re.IGNORECASE
)
_SPELLED_SIGN = re.compile("sqrt|pi|inf|cent|pct", re.IGNORECASE)
_BARE_COMMANDS = {"sqrt": r"\sqrt", "pi": r"\pi ", "inf": r"\infty "}
_BOLD = re.compile(r"^\s*\*\*(.+?)\*\*[\s.:]*$", re.DOTALL)
_SPACES = re.compile(r"\s+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_CURRENCY = re.compile(r"(?:\bUS)?\\?[$€£¥₹₩₽¢]")
_TOKEN = re.compile(r"\d+(?:\.\d*)?|\.\d+|\\[A-Za-z]+|\S", re.ASCII)
_FRACTION_OF_DIGITS = re.compile(r"\\frac ?(\d)(\d)(?!\d)", re.ASCII)
_LONE_BRACES = re.compile(r"\{ ?(\w|\\[A-Za-z]+) ?\}(?! ?[\w.])", re.ASCII)
_SIMPLE = re.compile(r"[\w+./ -]*[\w]", re.ASCII)


def clean(text: str) -> str:
    """`text` in one spelling (see the module); idempotent, and empty if nothing is left."""
    text = text.strip()
    if _SIMPLE.fullmatch(text) and not _SPELLED_SIGN.search(text):
        return without_remarks(_SPACES.sub(" ", text))
    if not text.isascii():
        text = _ascii_signs(text)
    text = _CONTROL.sub("", text)
    text = _CURRENCY.sub("", text)
    if "\\" in text or "{,}" in text:
        text = _plain_latex(text)
    if "**" in text:
        text = _BOLD.sub(r"\1", text).replace("**", "^")
    if "<" in text or ">" in text or "!" in text:
        text = _ASCII_COMPARISON.sub(lambda found: _ASCII_COMMANDS[found[0]], text)
    text = _BARE_NAME.sub(lambda m: _BARE_COMMANDS.get(m[0].lower(), r"\infty "), text)
    return _PERCENT.sub("%", _trim(without_remarks(_trim(_SPACES.sub(" ", text)))))


def unwrap_text(text: str) -> str:
    """`\\text{and}` as `and`: the words of cleaned `text` without their command."""
    if r"\text" not in text:
        return text
    return _SPACES.sub(" ", re.sub(r"\\text\s*\{([^{}]*)\}", r" \1 ", text)).strip()


def tokens(text: str) -> list[str]:
    """The signs of a cleaned formula: the same for `\\sqrt{2} x` and `\\sqrt2x`."""
    return _TOKEN.findall(_LONE_BRACES.sub(r" \1", _FRACTION_OF_DIGITS.sub(r"\\frac \1 \2", text)))


def _ascii_signs(text: str) -> str:
    text = _LONG_DASH.sub(" - ", text)
    text = _SUPERSCRIPT_RUN.sub(
        lambda found: "^{" + found[0].translate(_SUPERSCRIPT_TABLE) + "}", text
    )
    text = _SUBSCRIPT_RUN.sub(lambda found: "_{" + found[0] + "}", text)
    text = _VULGAR_FRACTION.sub(lambda found: " " + unicodedata.normalize("NFKC", found[0]), text)
    return unicodedata.normalize("NFKC", text.translate(_SIGN_TABLE)).translate(_SIGN_TABLE)


def _plain_latex(text: str) -> str:
    text = _THOUSANDS_SPACE.sub(lambda found: "" if found[0] == r"\," else ",", text)
    if "matrix" not in text and "array" not in text and "cases" not in text:
        text = _DOUBLED_BACKSLASH.sub(r"\\", text)
    text = _COMMAND.sub(_command, text)
    return text if _ANGLE_FUNCTION.search(text) else _DEGREES.sub(" ", text)


def _command(found: re.Match[str]) -> str:
    if found[1] is None:
        return _MARKS.get(found[2], "")
    return _COMMANDS.get(found[1], found[0])


def _trim(text: str) -> str:
    """The text without marks around the answer: bold, code and quotation marks, a full stop."""
    text = text.strip("*` ")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1]
    if not text.endswith("..."):
        text = text.rstrip(".,;: ")
    return text.strip("*` ")


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
    """Cleaned `text` without words around its answer: `about 72`, `72, in total`, `7, i.e. seven`.

    Only known words before a number are removed, and behind one only a remark that cannot be a
    second answer: it has no digits and no numbers in words, and is a phrase such as `in total`, or
    it says the answer again. `7 or 8`, `3, even` and `5 (mod 7)` stay whole.
    """
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
