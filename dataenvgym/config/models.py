"""Short names for students: `model=vllm/Qwen/Qwen3-8B:runs/mine/iterations/003/adapter`.

    vllm/<base>[:<adapter>]   a vLLM server that is started for it
    hf/<base>[:<adapter>]     transformers, in this process
    openai/<name>             a model behind an OpenAI-compatible API (it cannot be trained)

<base> is "pocket" (the pocket student that the task names), a folder, or a name on the Hugging Face
hub; <adapter> is a folder. They are parsed into the overrides that one would otherwise type.
"""

from __future__ import annotations

import re

from dataenvgym.errors import ConfigurationError, did_you_mean

_POCKET = "${oc.select:task.student,pocket}"  # as in student/pocket.yaml
_PREDICTORS = {"vllm": "vllm", "hf": "in_process", "openai": "openai"}


def model_overrides(text: str) -> list[str]:
    """The overrides that a short name stands for.

    Raises:
        ConfigurationError: if it is none.
    """
    kind, _, rest = text.partition("/")
    base, colon, adapter = rest.partition(":")
    if kind not in _PREDICTORS or not base or (colon and not adapter):
        meant = "" if kind in _PREDICTORS else did_you_mean(kind, _PREDICTORS)
        raise ConfigurationError(
            f"model is {text!r}, expected vllm/BASE, vllm/BASE:ADAPTER, hf/BASE, "
            f"hf/BASE:ADAPTER or openai/NAME.{meant}"
        )
    if kind == "openai":
        return ["predictor=openai", f"predictor.model={_quoted(rest)}"]
    return [
        f"predictor={_PREDICTORS[kind]}",
        f"student={'pocket' if base == 'pocket' else 'hf'}",
        f"student.path={_POCKET if base == 'pocket' else _quoted(base)}",
        f"student.adapter={_quoted(adapter) if adapter else 'null'}",
    ]


def _quoted(value: str) -> str:
    """The value as Hydra's grammar has it: a backslash is itself unless a quote comes next."""
    escaped = re.sub(r'(\\*)("|$)', lambda m: m[1] * 2 + m[2].replace('"', '\\"'), value)
    return f'"{escaped}"'
