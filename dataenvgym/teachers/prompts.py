"""Prompts for language models: YAML files in `configs/prompt/`.

    system: You write training data.
    user: |
      Write {count} new problems.

      The skill that they practice: {skill}

- `{name}`, in lower case and at least two letters long, stands for a value.
- A paragraph of `user` whose values are all empty is left out, so one prompt works with and
  without them.
- Other braces are text: JSON, and LaTeX with its arguments (`\\boxed{answer}`, `x^{two}`).
  `{{name}}` is the text `{name}`.
- In a file of a Hydra group, `${` begins an interpolation; as text it is written `\\${`.

Code that uses a prompt lists the names of its values (`as_prompt`), so a misspelled name is found
before a model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from dataenvgym.errors import ConfigurationError, did_you_mean, first_fault
from dataenvgym.options import PlainText
from dataenvgym.records import Conversation, Message, Model
from dataenvgym.registration import config_directory

_TOKEN = re.compile(
    r"\\[A-Za-z]+\*?(?:\[[^\][{}]*\])?(?:\{[^{}]*\})*"  # a LaTeX command and its arguments
    r"|[\^_]\{[^{}]*\}"
    r"|\{\{(?P<text>[a-z][a-z0-9_]+)\}\}"
    r"|\{(?P<name>[a-z][a-z0-9_]+)\}"
)
_BETWEEN_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")


class Prompt(Model):
    """A system message, which may be empty, and the template of a user message.

    Attributes:
        form: of a prompt for records: the form in which it asks for them, if that is not a question
            with its answer (see `Domain.record_forms`).
    """

    system: PlainText[str] = ""
    user: PlainText[str] = Field(min_length=1)
    form: str = ""

    @property
    def names(self) -> frozenset[str]:
        """The names that stand for values."""
        return _names(self.system) | _names(self.user)

    def render(self, **values: str | int | None) -> Conversation:
        """The conversation to send, with values in place of their names.

        None and "" are empty values. Braces in values are text.

        Raises:
            ConfigurationError: for a name in the prompt without a value here.
        """
        self.check(values)
        texts = {name: "" if v is None else str(v).strip() for name, v in values.items()}
        paragraphs = _BETWEEN_PARAGRAPHS.split(self.user.strip())
        kept = [p for p in paragraphs if not (ns := _names(p)) or any(texts[n] for n in ns)]
        user = Message(role="user", content="\n\n".join(_filled(p, texts) for p in kept))
        system = _filled(self.system, texts).strip()
        return (Message(role="system", content=system), user) if system else (user,)

    def check(self, may: Collection[str], needs: Collection[str] = (), *, name: str = "") -> None:
        """Refuse unknown names, and prompts that lack a required one.

        Args:
            may: all allowed names.
            needs: the required ones among them.
            name: of the prompt, for the error.

        Raises:
            ConfigurationError: naming them.
        """
        title = f"prompt {name!r}" if name else "the prompt"
        for found in sorted(self.names - set(may)):
            raise ConfigurationError(
                f"{title} has a {{{found}}}, for which there is no value."
                f"{did_you_mean(found, may)} It can have: {_braced(may)}. As text it is written "
                f"{{{{{found}}}}}."
            )
        if missing := set(needs) - self.names:
            raise ConfigurationError(
                f"{title} has no {_braced(missing)}, which it needs: put it where the value belongs"
            )


PromptLike = Prompt | Mapping[str, Any] | str
"""A prompt, a mapping with `system` and `user`, or the name of a prompt in the package."""


def as_prompt(
    prompt: PromptLike, *, needs: Collection[str] = (), may: Collection[str] = ()
) -> Prompt:
    """Make and check a prompt, given as a prompt, as a section of the configuration, or by name.

    Args:
        prompt: the prompt, a mapping with `system` and `user`, or the name of a prompt in the
            package.
        needs: the required names.
        may: further allowed names.

    Raises:
        ConfigurationError: if there is no such prompt, or its names are wrong.
    """
    name = prompt if isinstance(prompt, str) else ""
    if isinstance(prompt, str):
        prompt = default_prompt(prompt)
    elif not isinstance(prompt, Prompt):
        prompt = _parsed(prompt, "prompt")
    prompt.check({*needs, *may}, needs, name=name)
    return prompt


def default_prompt(name: str) -> Prompt:
    """The prompt in `configs/prompt/NAME.yaml`; ConfigurationError if there is none."""
    folder = config_directory() / "prompt"
    if not (file := folder / f"{name}.yaml").exists():
        known = sorted(path.stem for path in folder.glob("*.yaml"))
        raise ConfigurationError(
            f"there is no prompt {name!r}.{did_you_mean(name, known)} There are: "
            f"{', '.join(known)}. One of your own is read by read_prompt(FILE)"
        )
    return read_prompt(file)


def read_prompt(file: str | Path) -> Prompt:
    """The prompt in a YAML file with `user` and perhaps `system`; else ConfigurationError."""
    import yaml

    try:
        content = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise ConfigurationError(f"{file} cannot be read as a prompt: {reason}") from error
    return _parsed(content, str(file))


def _parsed(content: Any, where: str) -> Prompt:
    try:
        return Prompt.model_validate(dict(content) if isinstance(content, Mapping) else content)
    except ValidationError as error:
        raise ConfigurationError(
            f"{where}: {first_fault(error)}. A prompt has `user` and may have `system` and `form`, "
            "all text"
        ) from error


def _names(template: str) -> frozenset[str]:
    return frozenset(m["name"] for m in _TOKEN.finditer(template) if m["name"])


def _filled(template: str, texts: Mapping[str, str]) -> str:
    def filled(match: re.Match[str]) -> str:
        if match["text"]:
            return f"{{{match['text']}}}"
        return texts[match["name"]] if match["name"] else match[0]

    return _TOKEN.sub(filled, template)


def _braced(names: Collection[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names)) or "no names"
