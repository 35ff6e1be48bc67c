"""SEAL's published results; those of its repository are read from $DATAENVGYM_DATA/seal."""

import json
import os
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from dataenvgym.adaptation import ArmResult, EditResult, kept_edits
from dataenvgym.adaptation.report import AdaptationReport
from dataenvgym.adaptation.seal_results import read_results
from dataenvgym.domains.knowledge.environment import Passage
from dataenvgym.domains.knowledge.self_edits import context_id
from dataenvgym.errors import BrokenFileError, InvalidInstanceError
from dataenvgym.teachers.prompts import as_prompt

LARSA, UMMA = Passage("Larsa", "Larsa has two mills."), Passage("Umma", "Umma trades in wool.")


def completion(text, *trainings, mean=None):
    questions = [
        {"rep": rep, "question": "?", "baseline_correct": False, "adapter_correct": right}
        for rep, answers in enumerate(trainings)
        for right in answers
    ]
    stats = {"baseline_mean": 0.2, "baseline_std": None, "adapter_mean": mean, "gain_mean": 0.1}
    if mean is None:
        stats["adapter_mean"] = fmean(map(fmean, trainings))
    return {"text": text, "stats": stats, "questions": questions}


def written(path, *articles, **changes):
    run = {
        "overall": {},
        "split_newlines": True,
        "articles": [
            {"title": p.title, "context": p.text, "prompt": "", "stats": {}, "completions": edits}
            for p, *edits in articles
        ],
        **changes,
    }
    path.write_text(json.dumps(run))
    return path


def test_each_edit_has_the_accuracy_of_its_trainings_and_the_best_is_kept(tmp_path):
    file = written(
        tmp_path / "run.json",
        (LARSA, completion("1. Mills.\n2. Two.", [1, 0, 0], [1, 1, 0]), completion("B", [1, 1, 1])),
        (UMMA, completion(" C ", mean=0.5), completion("D", mean=0.5), completion("", mean=0.9)),
    )
    passages, edits = zip(*read_results(file), strict=True)
    assert passages == (LARSA, LARSA, UMMA, UMMA, UMMA)
    assert [edit.context for edit in edits] == [*map(context_id, passages)]
    assert edits[0].accuracies == (0.3333, 0.6667)
    assert (edits[0].baseline, edits[0].n_records) == (0.2, 3)
    assert [edit.text for edit in kept_edits(edits)] == ["B", "C"]  # the first of equal ones
    assert (edits[4].text, edits[4].n_records) == (None, 1)  # the passage alone


def test_a_file_of_another_form_is_refused(tmp_path):
    file = tmp_path / "cpt.json"
    file.write_text('{"overall": {}, "split_newlines": false, "per_article": {}}')
    with pytest.raises(InvalidInstanceError, match="SEAL"):
        next(read_results(file))
    written(file, (LARSA, {"text": "A", "stats": {"baseline_mean": 0}, "questions": []}))
    with pytest.raises(InvalidInstanceError, match="completions"):
        next(read_results(file))
    file.write_text("{")
    with pytest.raises(BrokenFileError, match=r"cpt.json"):
        next(read_results(file))


# --- the files themselves ---

_SEAL = Path(os.environ.get("DATAENVGYM_DATA", ".")) / "seal" / "knowledge-incorporation"
_RESULTS = _SEAL / "results" / "query_server"
_KEPT = _SEAL / "data" / "synthetic_data" / "EM_SFT"
needs_files = pytest.mark.skipif(
    not _RESULTS.is_dir(), reason=f"SEAL's repository is not in {_SEAL.parent}"
)


@needs_files
@pytest.mark.parametrize("number", [0, 1])
def test_the_selection_of_restem_keeps_the_edits_that_seal_kept(number):
    found = [*read_results(_RESULTS / "train" / f"rank_iter{number}.json")]
    assert len(found) == 250
    passages = {edit.context: passage for passage, edit in found}
    lines = (_KEPT / f"sft_best1of5_iter{number}.jsonl").read_text().splitlines()
    prompt = as_prompt("implications", needs=("passage",), may=("title",))
    kept = kept_edits([edit for _, edit in found])
    for edit, line in zip(kept, map(json.loads, lines), strict=True):
        passage = passages[edit.context]
        (asked,) = prompt.render(title=passage.title, passage=passage.text)
        assert (asked.content + "\n", edit.text) == (line["prompt"], line["completion"])


@needs_files
def test_with_other_prompts_only_equal_edits_are_kept_otherwise():
    others = 0
    for file in sorted((_RESULTS / "alternate_prompts" / "train").glob("*.json")):
        edits = [edit for _, edit in read_results(file)]
        name = file.name.removeprefix("rank_").removesuffix(".json")
        lines = (_KEPT / "alternate_prompts" / f"sft_best1of5_{name}.jsonl").read_text()
        texts = [json.loads(line)["completion"] for line in lines.splitlines()]
        for edit, text in zip(kept_edits(edits), texts, strict=True):
            if edit.text != text:
                (other,) = (e for e in edits if e.context == edit.context and e.text == text)
                assert other.mean == pytest.approx(edit.mean, abs=1e-4)
                others += 1
    assert others == 5  # of 400


@needs_files
def test_the_report_has_the_published_figures_of_the_files():
    files = sorted(_RESULTS.rglob("*.json"))
    assert len(files) == 27
    for file in files:
        published = json.loads(file.read_bytes())["overall"]
        by_context = defaultdict(list)
        for _, edit in read_results(file):
            by_context[edit.context].append(edit)
        means = {c: fmean(e.baseline for e in edits) for c, edits in by_context.items()}
        base = [EditResult(context=c, sample=0, accuracies=(mean,)) for c, mean in means.items()]
        edits = [edit for edits in by_context.values() for edit in edits]
        arms = {"base": base, "self_edits": edits}
        results = [ArmResult(arm=arm, seed=0, edits=tuple(found)) for arm, found in arms.items()]
        _, figures = AdaptationReport.of("squad", results).arms
        found = {
            "baseline_mean_accuracy": fmean(means.values()),
            "adapter_mean_accuracy": figures.adapter.mean,
            "mean_gain": figures.gain.mean,
            "mean_adapter_std_over_completions": figures.sd_edits or 0.0,
        }
        if file.name != "rank_iter1.json":  # has no single trainings
            found["mean_adapter_std_within_completions"] = figures.sd_repeats or 0.0
        assert found == {name: pytest.approx(published[name], abs=2e-4) for name in found}
