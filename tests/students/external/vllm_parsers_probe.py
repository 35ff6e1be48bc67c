"""Run by vLLM's own Python: its tool parsers on the texts of a file, `[[parser, text], ...]`.

Prints the calls of each text as JSON; null if the parser reads none.
"""

import json
import logging
import sys
from pathlib import Path

from vllm.tool_parsers.hermes_tool_parser import Hermes2ProToolParser
from vllm.tool_parsers.mistral_tool_parser import MistralToolParser


class Tokenizer:
    def __init__(self, *words):
        self.words = {word: number for number, word in enumerate(words)}

    def get_vocab(self):
        return self.words


PARSERS = {
    "hermes": Hermes2ProToolParser(Tokenizer()),
    "older mistral": MistralToolParser(Tokenizer("[TOOL_CALLS]")),
    "newer mistral": MistralToolParser(Tokenizer("[TOOL_CALLS]", "[ARGS]")),
}


def calls(parser, text):
    found = PARSERS[parser].extract_tool_calls(text, None).tool_calls
    return [[c.function.name, json.loads(c.function.arguments)] for c in found] or None


logging.disable(logging.CRITICAL)
cases = json.loads(Path(sys.argv[1]).read_text())
Path(sys.argv[2]).write_text(json.dumps([calls(*case) for case in cases]))
