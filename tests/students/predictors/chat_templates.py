# ruff: noqa: E501
"""Chat templates of the kinds that models have, in our own words."""

END = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"

TEMPLATES = {
    "turns": TURNS + END,
    "turns, trimmed, a line break after the end": (
        "{% for m in messages %}{{ '<|' + m.role + '|>\n' + m.content | trim + '<|end|>\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
    ),
    "a bos of its own": "{{ bos_token }}" + TURNS + END,
    "a default system message": (
        "{% if messages[0].role != 'system' %}<|system|>Be kind.<|end|>{% endif %}" + TURNS + END
    ),
    "a system block with the day, always there": (  # Llama 3.2
        "{{ bos_token }}{% set day = strftime_now('%d %b %Y') if strftime_now is defined else '-' %}"
        "{% if messages[0].role == 'system' %}{% set system = messages[0].content | trim %}"
        "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}"
        "<|system|>Today is {{ day }}\n\n{{ system }}<|end|>"
        "{% for m in messages %}{{ '<|' + m.role + '|>\n\n' + m.content | trim + '<|end|>' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n\n' }}{% endif %}"
    ),
    "thoughts of earlier turns are left out": (  # Qwen3
        "{% set ns = namespace(last=-1) %}{% for m in messages %}{% if m.role == 'user' and not "
        "m.content.startswith('<tool_response>') %}{% set ns.last = loop.index0 %}{% endif %}"
        "{% endfor %}{% for m in messages %}{{ '<|' + m.role + '|>' }}"
        "{% if m.role == 'assistant' %}{% set parts = m.content.split('</think>') %}"
        "{% if loop.index0 > ns.last and (loop.last or parts | length > 1) %}"
        "{{ '<think>\n' + (parts[0].split('<think>')[-1].strip() if parts | length > 1 else '') + "
        "'\n</think>\n\n' }}{% endif %}{{ parts[-1].lstrip('\n') }}"
        "{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}"
        "{% if enable_thinking is defined and not enable_thinking %}"
        "{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
    ),
    "thoughts are cut off": (  # DeepSeek-R1-Distill
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
        "{% elif m.role == 'user' %}<|user|>{{ m.content }}"
        "{% else %}<|assistant|>{{ m.content.split('</think>')[-1] }}<|end|>{% endif %}{% endfor %}"
        + END
    ),
    "thoughts are cut off, and the prompt begins one": (
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
        "{% elif m.role == 'user' %}<|user|>{{ m.content }}"
        "{% else %}<|assistant|>{{ m.content.split('</think>')[-1] }}<|end|>{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{% endif %}"
    ),
    "the prompt has an empty thought": (
        TURNS + "{% if add_generation_prompt %}{{ '<|assistant|><think>\n\n</think>\n\n' }}{% endif %}"
    ),
    "the prompt begins a thought, replies keep theirs": (
        TURNS + "{% if add_generation_prompt %}{{ '<|assistant|><think>\n' }}{% endif %}"
    ),
    "no system role, turns must alternate": (  # Gemma
        "{{ bos_token }}{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}"
        "{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('roles must alternate') }}{% endif %}"
        "{% set role = 'model' if m.role == 'assistant' else m.role %}"
        "{{ '<|user|>' + role + '\n' + m.content | trim + '<|end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|user|>model\n' }}{% endif %}"
    ),
    "the system message in the first user turn": (
        "{{ bos_token }}{% if messages[0].role == 'system' %}"
        "{% set system = messages[0].content | trim + '\n\n' %}{% set messages = messages[1:] %}"
        "{% else %}{% set system = '' %}{% endif %}{% for m in messages %}"
        "{{ '<|' + m.role + '|>\n' + (system if loop.first else '') + m.content | trim + '<|end|>\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% endif %}"
    ),
    "the system message in the last user turn": (  # Mistral
        "{{ bos_token }}{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
        "{% set messages = messages[1:] %}{% endif %}{% for m in messages %}{% if m.role == 'user' %}"
        "[INST] {% if loop.last and system is defined %}{{ system + '\n\n' }}{% endif %}"
        "{{ m.content }}[/INST]{% else %} {{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
    ),
    "the system message is dropped": (
        "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|end|>"
        "{% elif m.role == 'assistant' %}<|assistant|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
        + END
    ),
    "no special tokens": (
        "{% for m in messages %}{{ m.role | title + ': ' + m.content + '\n\n' }}{% endfor %}"
        "{% if add_generation_prompt %}Assistant:{% endif %}"
    ),
    "text before the end token": (
        "{% for m in messages %}{{ '<|' + m.role + '|> ' + m.content }}"
        "{% if m.role == 'assistant' %} {{ eos_token }}{% else %}\n{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    ),
    "no end of a reply": (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}" + END
    ),
    "an end only between turns": (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if not loop.last %}<|end|>"
        "{% endif %}{% endfor %}{% if add_generation_prompt %}<|end|><|assistant|>{% endif %}"
    ),
    "the number of the turn": (
        "{{ messages | length }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>"
        "{% endfor %}" + END
    ),
    "another header in the prompt": (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>final:{% endif %}"
    ),
}  # fmt: skip
