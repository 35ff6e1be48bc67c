"""Pages made of files beside docs/: the examples, and the texts at the top of the repository."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = {".py": "python", ".jsonl": "json", ".ipynb": "json"}
INTRO = """\
# Examples

Every file of `examples/`. Tests run them.

| file | |
|---|---|
"""


def file_pages() -> dict[str, str]:
    """By path under docs/: a page for each example, their overview, and the texts at the top."""
    examples = [p for p in sorted((ROOT / "examples").rglob("*")) if p.suffix in LANGUAGES]
    pages = {path_of(file): _example(file) for file in examples}
    rows = [
        f"| [`{name}`]({os.path.relpath(path_of(file), 'examples')}) | {_about(file)} |"
        for file in sorted(examples, key=lambda f: (f.relative_to(ROOT).parts[:-1], f.name))
        for name in [file.relative_to(ROOT / "examples").as_posix()]
    ]
    pages["examples/index.md"] = INTRO + "\n".join(rows) + "\n"
    for file in sorted(ROOT.glob("*.md")):
        if path_of(file) != "index.md":
            pages[path_of(file)] = file.read_text(encoding="utf-8")
    return pages


def path_of(file: Path) -> str:
    """The page's path under docs/ of a file elsewhere in the repository."""
    name = file.relative_to(ROOT).as_posix()
    if name == "README.md":
        return "index.md"
    if name == "examples" or (name.startswith("examples/") and file.is_dir()):
        return "examples/index.md"
    if name.startswith("examples/"):
        return f"{name.replace('.', '_')}.md"
    return f"project/{name.lower()}"


def _example(file: Path) -> str:
    name = file.relative_to(ROOT).as_posix()
    text = file.read_text(encoding="utf-8").rstrip()
    title = f"---\ntitle: {file.relative_to(ROOT / 'examples').as_posix()}\n---\n\n# `{name}`\n"
    if file.suffix == ".ipynb":
        return f"---\ntitle: {file.name}\n---\n\n{_notebook(text)}\n"
    return f"{title}\n````{LANGUAGES[file.suffix]}\n{text}\n````\n"


def _notebook(text: str) -> str:
    """The cells of a notebook as Markdown, without what they print."""
    cells = [("".join(cell["source"]), cell["cell_type"]) for cell in json.loads(text)["cells"]]
    parts = [f"```python\n{t}\n```" if kind == "code" else t for t, kind in cells if t.strip()]
    return "\n\n".join(parts)


def _about(file: Path) -> str:
    """The first sentence of an example."""
    if file.suffix != ".py":
        return {".jsonl": "Data for the example beside it.", ".ipynb": "A notebook."}[file.suffix]
    doc = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split()).replace("|", "\\|")
