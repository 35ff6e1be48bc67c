"""The commands: one table, of which the command line, its help and its reference page are made.

An argument is written as its usage line shows it, with its help:

    "--fresh"                a flag; "or --fresh" excludes the argument before it
    "--name NAME"            an option; "=runs" its default, "!" required, "*" repeated; "a|b" is
                             one of these words, N a whole number, "N+" 1 or more, X any number
    "run RUN"                a word; its value is `arguments.run`; "?" optional, "*" or "+" several

Other packages add commands by the entry points `dataenvgym.commands`: functions that take
`command(name, help, epilog="")`, add arguments to the parser that it returns, and name their
function with `set_defaults(function="my_package.my_module:my_function")`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points
from typing import Any


@dataclass(frozen=True)
class Command:
    """One command.

    Attributes:
        function: "module:function" in `dataenvgym.cli`; imported when the command runs.
        arguments: their help, by how they are written (see the module).
        epilog: examples and notes below the help.
        output: the options for the command's output folder, for errors of the disk.
    """

    name: str
    summary: str
    function: str
    arguments: Mapping[str, str]
    epilog: str = ""
    output: str = ""


_OVERRIDES = {
    "overrides KEY=VALUE*": "changes to the configuration, such as agent=random",
    "--config-dir DIR": "a folder with your own YAML files",
}
_FRESH = {"--fresh": "start over: remove existing files"}
_PLAIN = {"--plain": "plain lines, no live display"}
_RUNS_DIR = {"--runs-dir DIR=runs": "the folder of runs (default: runs)"}
_RUN = {"run RUN?": "the run's folder, or its name in the folder of runs", **_RUNS_DIR}
_COMPARISON = {
    "--baseline NAME": "the strategy to compare with (default: random, or the first one)",
    "--test t|sign_flip": "the paired test (default: sign_flip for 20 seeds or fewer)",
    "--allow-unequal KEY*": "this key may differ between strategies (may be repeated)",
    "--noise-dir DIR=noise": "the folder of noise models (default: noise)",
}
_TRUST = "accept all paths, servers and code that the config.yaml of a received %s names"

COMMANDS = (
    Command(
        "run",
        "run an episode: an agent teaches a student",
        "run:run",
        {
            **_OVERRIDES,
            "--name NAME": "the run's folder, as name=NAME (default: made of its options)",
            **_FRESH,
            "--dry": "show what would run, and the first prompts; asks no model",
            "--prompts N+": "the same, with the first N prompts of the teacher",
            **_PLAIN,
        },
        """\
examples:
  dataenvgym run
  dataenvgym run agent=open_ended episode.iterations=8 seed=1
  dataenvgym run agent=my_module.MyAgent

The same command resumes an interrupted run and shows the report of a finished
one; with more iterations, it extends the run.""",
        "runs_dir=...",
    ),
    Command(
        "study",
        "compare strategies: each on the same tasks and seeds",
        "study:study",
        {
            **_OVERRIDES,
            "--strategy TEXT*": 'one more strategy: "NAME: KEY=VALUE ..." (may be repeated)',
            "--name NAME": "the study's folder (default: made of tasks and settings)",
            "--workers N": "processes at once (default: cores)",
            "--studies-dir DIR=studies": "the folder of studies (default: studies)",
            "--no-bounds": "no floor and no ceiling",
            "--race": "stop strategies and seeds that cannot change which one is the best",
            "--plan": "show what this study can find and how long it takes; run nothing",
            "--looking-for X": "warn if the study cannot show this difference (in test gain)",
            "--fit-noise": "at the end, write the noise models that --plan needs",
            **_PLAIN,
            **_COMPARISON,
        },
        """\
examples:
  dataenvgym study agent=random,open_ended,skill_list "seed=range(10)"
  dataenvgym study agent=random,skill_list task=pocket_math seed=0,1,2 \\
      --strategy "sharp: agent=skill_list agent.policy.sharpness=3"
  dataenvgym study suite=teach-v1 agent=edge,skill_list seed=0,1,2

Keys with several values (a,b  choice(a,b)  range(10)  glob(*)) span the study:
seed the seeds, task the tasks, all others the strategies. Every study also has
a floor (no teaching) and a ceiling (gold data). The same command resumes an
interrupted study; more seeds or strategies under the same name extend it.""",
        "--studies-dir",
    ),
    Command(
        "compare",
        "compare existing runs, as a study does, or evaluations problem by problem",
        "study:compare",
        {
            "runs RUN+": "folders of runs, or names; or of evaluations",
            **_RUNS_DIR,
            "--output DIR": "write table, plot and numbers there",
            "--cluster FIELD": "of evaluations: problems with the same value depend on each other: "
            "skill, category, or a field of their data (default: each problem by itself)",
            **_COMPARISON,
        },
        """\
examples:
  dataenvgym compare runs/pocket_math-* --baseline random --output comparison
  dataenvgym compare evaluations/base evaluations/taught

Runs that differ only in their seed are one strategy. Evaluations are compared
with the first one: paired differences, and the problems that flipped. Of two
folders of evaluations, those of the same task and split are compared.""",
        "--output",
    ),
    Command(
        "eval",
        "evaluate a student on a task or a suite of tasks, without training",
        "evaluate:evaluate",
        {
            **_OVERRIDES,
            "--split NAME": "train, validation, test, or all (default: validation; all for a task "
            "with a single file that the student was not trained on)",
            "--adapter DIR": "an adapter for the student",
            "or --run RUN": "a run whose student to take",
            "--iteration N": "of the run (default: best)",
            "--limit N": "only the first N problems",
            "--dry": "show what would be asked, and the first prompt; ask nothing",
            "or --floor": "show what an empty reply and frequent gold replies earn; ask no student",
            "--output FILE": "write the transcripts there (.jsonl)",
            "--trust": _TRUST % "run",
            **_FRESH,
            "or --retry-errors": "draw samples whose infrastructure failed again",
        },
        """\
examples:
  dataenvgym eval task=pocket_math --split test
  dataenvgym eval --run RUN            the best iteration of a run, on its task
  dataenvgym eval task=pocket_math task.sampling.temperature=1.0 samples=10 \\
      'metrics=[pass@1,pass@5,pass^3,majority@5,pass@1[avg-of-10]]'
  dataenvgym eval task=pocket_math "metrics=[accuracy,judge]" teacher=openai \\
      teacher.model=NAME judge.rubric='Is every step justified?'
  dataenvgym eval task=gsm8k:4,humaneval:10,squad   samples of each; one table
  dataenvgym eval suite=pocket name=mine            the tasks of configs/suite/

Every sample is written to the evaluation's folder (evaluations_dir=...). The
same command resumes an interrupted evaluation and shows the table of a finished
one; with more samples, it extends the evaluation.""",
        "evaluations_dir=..., --output",
    ),
    Command(
        "summary",
        "show one table of all evaluations in a folder",
        "evaluate:summary",
        {
            "folders DIR*": "folders of evaluations, at any depth (default: evaluations)",
            "--output FILE": "write the rows there, too (.json)",
        },
        """\
example:
  dataenvgym summary evaluations/qwen3_8b

score is the mean reward; accuracy the share of solved tries, with half of its
95% interval; pass@k and majority@k are of all samples of a problem; tokens are
those of a reply; seconds those of all replies.""",
    ),
    Command(
        "generate",
        "send each row of a file through a prompt, and write the replies",
        "evaluate:generate_rows",
        {**_OVERRIDES, "--fresh": "start over: remove existing files, those of chunk= if given"},
        """\
examples:
  dataenvgym generate prompt=question.yaml input=rows.jsonl model=openai/NAME
  dataenvgym generate prompt=question.yaml input=rows.jsonl model=vllm/NAME \\
      seeds=4 num_chunks=8 chunk=0

A prompt is a YAML file with user (and perhaps system); {name} stands for a
field of the row. `dataenvgym config --of generate` shows all options. The same
command resumes an interrupted generation; more seeds extend it.""",
        "generations_dir=...",
    ),
    Command(
        "adapt",
        "compare ways to adapt a student to passages or puzzles: self-edits, RestEM",
        "adapt:adapt",
        {
            **_OVERRIDES,
            "--continual": "learn contexts one after another, and ask for earlier ones again",
            "--retry-errors": "try again what failed calls left open",
            "--dry": "show what would run, with the first prompts of the writer; asks no model",
            "--prompts N+": "the same, with the first N prompts of the writer",
            **_FRESH,
            **_PLAIN,
        },
        """\
examples:
  dataenvgym adapt task=pocket_knowledge
  dataenvgym adapt task=squad task.n_passages=40 arms.contexts=20 seeds=5
  dataenvgym adapt task=pocket_knowledge teacher=openai teacher.model=NAME \\
      arms.names=[context_only,self_edits,teacher_edits]
  dataenvgym adapt --continual task=pocket_knowledge arms.contexts=4 seeds=3

Arms: base, context_only, gold, self_edits, teacher_edits, rest_em (one line for
each round). The same command resumes an interrupted run and shows the table of
a finished one; more seeds or arms extend it.""",
        "adaptations_dir=...",
    ),
    Command(
        "rescore",
        "judge the samples of an evaluation again, without asking the student",
        "evaluate:rescore",
        {
            "evaluation DIR": "the evaluation's folder, or its name among evaluations",
            "overrides KEY=VALUE*": "other metrics, a judge (metrics=[judge] teacher=...), or "
            "changes to the task, such as task.threads=2",
            "--trust": _TRUST % "evaluation",
            "--evaluations-dir DIR=evaluations": "the folder of evaluations (default: evaluations)",
        },
        """\
example:
  dataenvgym rescore evaluations/pocket_math-validation-1a2b3c4d

The student's messages are replayed in the current task. The new scores are
written beside the old ones (rescored-001, ...), and the table shows changes.""",
        "--evaluations-dir",
    ),
    Command(
        "attribute",
        "measure which of a run's records helped: train again without them",
        "inspect:attribute",
        {
            **_RUN,
            "--iteration N": "leave out records of iteration N's training (default: the best one)",
            "--by FIELD": "skill (the default), subskill, agent, iteration, kind or record",
            "or --groups FILE": "instead, a JSON file with lists of record ids by the group's name",
            "--limit N+": "at most N groups, drawn at random with --seed",
            "--seed N=0": "of the draw (default: 0)",
            "--repeats N=3+": "trainings of each group, for the noise (default: 3)",
            "--trust": _TRUST % "run",
        },
        """\
examples:
  dataenvgym attribute RUN
  dataenvgym attribute RUN --by record --limit 50 --repeats 1

The same command continues an interrupted one; more repeats or groups extend it.
`report` and `show` then have the effects, too.""",
    ),
    Command("report", "show the report of a run", "inspect:show_report", _RUN),
    Command(
        "show",
        "show a run's records and transcripts, before and after side by side",
        "inspect:show_iteration",
        {
            **_RUN,
            "--iteration N": "records and answers of iteration N (default: the best)",
            "--skill NAME": "only this skill",
            "--wrong": "only wrong answers, no records",
            "--calls": "instead, the teacher's prompts and answers (--wrong: without an answer)",
            "--limit N=20+": "at most N of each (default: 20)",
            "--seed N": "draw the answers at random with this seed (default: the first ones)",
        },
    ),
    Command(
        "export",
        "write a run's records as a Hugging Face dataset",
        "inspect:export",
        {
            **_RUN,
            "--output DIR!": "a new folder",
            "--adapter": "the adapter, not the records",
            "--iteration N": "of the adapter",
        },
        output="--output",
    ),
    Command(
        "serve",
        "start a vLLM server of a student, and print its address",
        "serve:serve",
        _OVERRIDES,
        """\
examples:
  dataenvgym serve student=hf student.path=Qwen/Qwen3-8B
  dataenvgym serve model=vllm/Qwen/Qwen3-8B:ADAPTER predictor.port=8000

It is the pinned vLLM of `dataenvgym external install vllm`, with the options of
predictor=vllm. Runs and evaluations with the same options share it.""",
    ),
    Command(
        "serve-adaptation",
        "train and ask an adapter for each request of a client",
        "serve:serve_adaptation",
        {
            **_OVERRIDES,
            "--transport http|zmq=http": "of the requests (default: http); zmq needs pyzmq",
            "--host HOST=127.0.0.1": "the address to listen on (default: 127.0.0.1)",
            "--port N=5555": "0 takes a free one (default: 5555)",
            "--token-variable NAME": "the variable with the token of requests from other hosts",
            "--adaptations-dir DIR=adaptations": "the folder of answers (default: adaptations)",
        },
        """\
examples:
  dataenvgym serve-adaptation task=pocket_knowledge
  dataenvgym serve-adaptation task=squad student=hf student.path=NAME \\
      student.format=completion --transport zmq

Each request trains an adapter from the untouched student, and asks its
questions with and without it. Requests have the fields of SEAL's clients; see
docs/self_editing.md.""",
        "--adaptations-dir",
    ),
    Command(
        "pareto",
        "compare accuracy and cost of evaluations of orchestrators",
        "pareto:pareto",
        {
            "folders [NAME=]FOLDER*": "of an evaluation (default: all in evaluations/)",
            "--by cents|seconds=cents": "the cost of a problem (default: cents)",
            "--plot FILE": "also draw them as PNG",
        },
        """\
examples:
  dataenvgym pareto                       all in the folder evaluations
  dataenvgym pareto dear=evaluations/A cheap=evaluations/B --plot p.png

Each folder is one of `dataenvgym eval`. The table marks the Pareto front: the
evaluations that no other one beats in both accuracy and cost.""",
        "--plot",
    ),
    Command(
        "worlds",
        "list the worlds of tool use, audit or synthesize worlds with their problems",
        "worlds:worlds",
        {
            "action audit|list|synthesize": "what to do",
            "overrides WORLD*": "a name, your class my_module.MyWorld, or a synthesized folder "
            "(default: all that ship); for synthesize, a new folder, the options of a teacher, and "
            "policy=MODEL for tasks that this model can solve in 8 tries",
            "--tasks FILE": "a file of problems (default: the world's own)",
            "--seed N=0": "of the random calls",
            "--theme TEXT": "what a synthesized world is about",
            "-n N+": "tasks that the teacher writes (default: 20)",
        },
        """\
examples:
  dataenvgym worlds list
  dataenvgym worlds audit                 all that come with the package
  dataenvgym worlds audit my_module.MyWorld --tasks problems.jsonl
  dataenvgym worlds synthesize library teacher=openai teacher.model=NAME \\
      --theme "a library"

An audit checks for each problem that the gold calls earn the full reward in
two runs; that doing nothing, changing one argument, and random calls earn 0;
and that a broken verifier is noticed. It exits with 1 if a check fails.""",
    ),
    Command(
        "serve-world",
        "serve a world's tools to MCP clients, each session with its own state",
        "worlds:serve_world",
        {
            "world WORLD": "a name (see `dataenvgym worlds list`), or your class my_module.MyWorld",
            "--transport stdio|http=stdio": "of MCP (default: stdio)",
            "--host HOST=127.0.0.1": "of http (default: 127.0.0.1)",
            "--port N=8000": "of http; 0 takes a free one (default: 8000)",
            "--task ID": "begin in the state of this problem",
            "--problems FILE": "the file with that problem (default: the world's own)",
            "--max-sessions N=4096": "the most sessions open at once (default: 4096)",
            "--idle-timeout X=1800": "seconds without a request that end a session (default: 1800)",
        },
        """\
examples:
  dataenvgym serve-world shop
  dataenvgym serve-world shop --transport http --port 8000
  dataenvgym serve-world my_module.MyWorld --problems pay.jsonl --task pay-1

Every session begins in the same state and changes only its own copy.
Problems, gold calls and scores are never served.
Needs the package mcp: pip install 'dataenvgym[mcp]'""",
    ),
    Command(
        "list",
        "list the options to choose from",
        "listing:list_options",
        {
            "group GROUP?": "only this group, such as agent",
            "--config-dir DIR": _OVERRIDES["--config-dir DIR"],
        },
    ),
    Command(
        "config",
        "print the configuration with overrides applied, and its comments",
        "listing:show_configuration",
        {
            **_OVERRIDES,
            "--of run|eval|generate|adapt|continual=run": "the command (default: run)",
            "--resolve": "values in place of references such as ${seed}",
        },
        """\
examples:
  dataenvgym config
  dataenvgym config agent=skill_tree trainer=llama_factory > mine.yaml
  dataenvgym config --of adapt experiment=seal_knowledge_pocket

A value that you must set is shown as ???.""",
    ),
    Command(
        "new",
        "write a new agent, task or domain to begin with",
        "new:new",
        {
            "kind agent|task|domain": "what to write",
            "name NAME": "of the module, such as weak_skills",
        },
        """\
examples:
  dataenvgym new agent weak_skills
  dataenvgym new task even_or_odd
  dataenvgym new domain sums

The command writes a folder NAME with a module, a test that passes, and a YAML
file for --config-dir.""",
    ),
    Command(
        "external",
        "install LLaMA-Factory, vLLM, or a language model of 135 million parameters",
        "external:external",
        {
            "action install|list": "what to do",
            "name NAME?": "llamafactory, vllm or smollm2",
            "--variant cpu|cuda": "the build of a program (default: cuda if there is a driver)",
        },
        """\
examples:
  dataenvgym external list
  dataenvgym external install vllm --variant cuda
  dataenvgym external install smollm2

Each program has a pinned environment of its own; the model is the student of
student=smollm2. They go into DATAENVGYM_CACHE (default: dataenvgym in
XDG_CACHE_HOME or in ~/.cache).""",
        output="DATAENVGYM_CACHE=FOLDER",
    ),
    Command(
        "prepare",
        "fetch public data sets into the folder DATAENVGYM_DATA",
        "prepare:prepare",
        {
            "names NAME*": "gsm8k, math, humaneval, ...; without one, a list of all",
            "--config-dir DIR": "a folder with a data.yaml of your own, which adds to ours",
        },
        """\
example:
  dataenvgym prepare gsm8k math humaneval

Files that are there are kept. What cannot be fetched is named, with what to put
where. It needs the package `datasets`.""",
        output="DATAENVGYM_DATA=FOLDER",
    ),
    Command(
        "doctor",
        "show installed and missing parts, and what to run next",
        "doctor:doctor",
        _RUNS_DIR,
    ),
)

_ARGUMENT = re.compile(
    r"(?:or )?(?P<name>\S+)(?: (?P<value>KEY=VALUE|[][\w|=]+?)(?:=(?P<default>[\w.]+))?"
    r"(?P<mark>[?*+!])?)?"
)


def add_commands(
    parser: argparse.ArgumentParser,
    parser_class: type[argparse.ArgumentParser],
    word: str | None = None,
) -> dict[str, argparse.ArgumentParser]:
    """Add all commands to the parser; return their parsers by name.

    Args:
        word: the command that is called. The commands of domains are loaded only if it is not one
            of the others, because that takes time.
    """
    parser.add_argument("--version", action="store_true", help="show the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=parser_class)

    def command(name: str, help: str, epilog: str = "") -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name,
            help=help,
            description=help[0].upper() + help[1:] + ".",
            epilog=epilog,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.add_argument("--debug", action="store_true", help="show tracebacks")
        return sub

    for each in COMMANDS:
        sub = command(each.name, each.summary, each.epilog)
        written = list(each.arguments)
        group: argparse._ActionsContainer = sub
        for text, following in zip(written, [*written[1:], ""], strict=True):
            if not text.startswith("or "):
                excludes = following.startswith("or ")
                group = sub.add_mutually_exclusive_group() if excludes else sub
            _add(group, text, each.arguments[text])
        sub.set_defaults(function=f"dataenvgym.cli.{each.function}", output_options=each.output)
    if word not in commands.choices:
        for point in sorted(entry_points(group="dataenvgym.commands"), key=lambda p: p.name):
            point.load()(command)
    return dict(commands.choices)


def _add(parser: argparse._ActionsContainer, text: str, help: str) -> None:
    match = _ARGUMENT.fullmatch(text)
    assert match is not None, text
    name, value, default, mark = match["name"], match["value"], match["default"], match["mark"]
    options: dict[str, Any] = {"help": help}
    if value is None:
        options["action"] = "store_true"
    else:
        options |= {"metavar": value, "default": default}
    if mark == "!":
        options["required"] = True
    elif mark and name[0] != "-":  # a list is not None, so that messages call it optional, too
        options |= {"nargs": mark, "default": [] if mark == "*" else None}
    elif mark == "*":
        options |= {"action": "append", "default": []}
    if value == "N":
        options["type"] = partial(_number, least=int(mark == "+"))
    elif value == "X":
        options["type"] = float
    elif value and "|" in value:
        options["choices"] = value.split("|")
    parser.add_argument(name, **options)


def _number(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        bound = f", {least} or more" if least else ""
        raise argparse.ArgumentTypeError(f"it is {text!r}, expected a whole number{bound}")
    return int(text)
