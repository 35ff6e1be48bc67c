"""A teacher discovers skills in two stages: it names them, then merges and sorts the names.

    questions --name--> labels, one for each --merge--> skills --sort--> categories

A question without a usable label gets the label of the most similar question. For later questions
the teacher sees the existing skills; it may name a new one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from pydantic import JsonValue, PositiveInt

from dataenvgym.agents.skills.catalog import Skill, SkillCatalog, labeled, sorted_skills
from dataenvgym.agents.skills.embeddings import Vectors, most_similar, nearest
from dataenvgym.agents.skills.labeler import CatalogLabeler
from dataenvgym.agents.skills.placing_labeler import place
from dataenvgym.agents.skills.skill_teacher import SkillTeacher, SkillTeacherOptions
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import TeacherInterface
from dataenvgym.records import TaskInstance
from dataenvgym.seeding import derive_seed
from dataenvgym.tasks.words import words_of

_ROUNDS = 4


@dataclass(eq=False)
class DiscoveredSkills(SkillTeacherOptions, CatalogLabeler):
    """Skills that a teacher names and merges.

    Args:
        teacher: the model that names and merges.
        skills: the most skills after merging.
        categories: the most categories, or None for no categories.
    """

    method: ClassVar[str] = "discovered"

    teacher: TeacherInterface
    _: KW_ONLY
    skills: PositiveInt = 20
    categories: PositiveInt | None = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self._asked = SkillTeacher(self.teacher, self, seed=self.seed)

    @property
    def options(self) -> dict[str, JsonValue]:
        return {
            "skills": self.skills,
            "categories": self.categories,
            "embedder": type(self._embedder).__name__,
        }

    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        questions = [instance.instruction for instance in instances]
        names = self._asked.name_skills(questions)
        labels = self._completed(questions, names)
        merged = self._merged(Counter(name for name in names if name is not None))
        skills = sorted(set(merged.values()))
        sort = self.categories is not None and len(skills) > self.categories
        groups = self._asked.sort(skills, self.categories or 1) if sort else {}
        return SkillCatalog(
            method=self.method,
            task=self._task_name,
            skills=sorted_skills(Skill(name=s, category=groups.get(s)) for s in skills),
            labels=labeled(instances, [merged[label] for label in labels]),
            counts={
                "questions": len(questions),
                "labeled by similarity": names.count(None),
                "labels before merging": len(merged),
                "skills without category": sum(s not in groups for s in skills),
            },
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        return place(instances, catalog, self._embedder, self._asked)

    def _completed(self, questions: list[str], names: list[str | None]) -> list[str]:
        """Fill in missing names from the most similar question."""
        known = {i: name for i, name in enumerate(names) if name is not None}
        if not known:
            raise ConfigurationError(
                f"the teacher named a skill for none of {len(questions)} questions: its answers "
                "were missing or not JSON of the requested form. Try another teacher, or "
                "skills=clusters"
            )
        places = list(known)
        left = [i for i in range(len(questions)) if i not in known]
        wanted, named = ([questions[i] for i in of] for of in (left, places))
        similar = nearest(wanted, named, self._embedder)
        known |= {i: known[places[s]] for i, s in zip(left, similar, strict=True)}
        return [known[i] for i in range(len(questions))]

    def _merged(self, counts: Counter[str]) -> dict[str, str]:
        """Map each label to the skill that it is merged into; there are at most `skills` skills.

        Names that the teacher leaves out are merged by similarity into the most frequent skills.
        """
        merged = {label: label for label in sorted(counts)}
        for _ in range(_ROUNDS):
            names = sorted(set(merged.values()))
            if len(names) <= self.skills:
                return merged
            groups = self._asked.sort(names, self.skills)
            if len({groups.get(name, name) for name in names}) == len(names):
                break
            merged = {label: groups.get(name, name) for label, name in merged.items()}
        sizes: Counter[str] = Counter()
        for label, name in merged.items():
            sizes[name] += counts[label]
        kept = sorted(sizes, key=lambda name: (-sizes[name], name))[: self.skills]
        rest = sorted(set(sizes) - set(kept))
        similar = nearest(rest, kept, self._embedder)
        into = {name: kept[i] for name, i in zip(rest, similar, strict=True)}
        return {label: into.get(name, name) for label, name in merged.items()}


@dataclass(kw_only=True, eq=False)
class ClusteredSkills(CatalogLabeler):
    """Clusters of embedded questions (k-means) as skills, and clusters of those as categories.

    A new question belongs to the nearest cluster center.

    Args:
        clusters: the number of skills; fewer if there are fewer different questions.
        categories: the number of categories, or None for no categories.
    """

    method: ClassVar[str] = "clusters"

    clusters: PositiveInt = 20
    categories: PositiveInt | None = 5

    @property
    def options(self) -> dict[str, JsonValue]:
        return {
            "clusters": self.clusters,
            "categories": self.categories,
            "embedder": type(self._embedder).__name__,
        }

    def discover(self, instances: Sequence[TaskInstance]) -> SkillCatalog:
        questions = [instance.instruction for instance in instances]
        vectors = self._embedder.embed(questions, questions)
        groups = _k_means(vectors, self.clusters, derive_seed(self.seed, "skills"))
        centres = _centres(vectors, groups)
        names = telling_words(_grouped(questions, groups), count=3)
        skills = self._with_categories(names, questions, groups, centres)
        return SkillCatalog(
            method=self.method,
            task=self._task_name,
            skills=sorted_skills(skills),
            labels=labeled(instances, [names[group] for group in groups]),
            counts={"questions": len(questions), "clusters": len(names)},
        )

    def place(self, instances: Sequence[TaskInstance], catalog: SkillCatalog) -> list[Skill]:
        corpus = [label.question for label in catalog.labels]
        names = sorted({label.skill for label in catalog.labels})
        groups = [names.index(label.skill) for label in catalog.labels]
        centres = _centres(self._embedder.embed(corpus, corpus), groups)
        texts = [instance.instruction for instance in instances]
        nearest = most_similar(self._embedder.embed(texts, corpus), centres)
        skills = {skill.name: skill for skill in catalog.skills}
        return [skills[names[i]] for i in nearest]

    def _with_categories(
        self, names: list[str], questions: list[str], groups: list[int], centres: np.ndarray
    ) -> list[Skill]:
        if self.categories is None:
            return [Skill(name=name) for name in names]
        seed = derive_seed(self.seed, "skills", "categories")
        above = _k_means(centres, self.categories, seed)
        texts = _grouped(questions, [above[group] for group in groups])
        categories = telling_words(texts, count=2)
        return [
            Skill(name=name, category=categories[group])
            for name, group in zip(names, above, strict=True)
        ]


def _k_means(vectors: Vectors, k: int, seed: int) -> list[int]:
    """Cluster the rows; clusters are numbered in the order of their first rows.

    Uses one thread: several threads add in varying order, so equal seeds could give other results.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    if hasattr(vectors, "tocsr"):
        rows = vectors.tocsr()
        ends = zip(rows.indptr, rows.indptr[1:], strict=False)
        n = len({(rows.indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in ends})
    else:
        n = len(np.unique(vectors, axis=0))
    k = min(k, n)  # the number of different rows
    with threadpool_limits(limits=1):
        found = KMeans(k, n_init=10, random_state=seed % 2**32).fit_predict(vectors)
    order = {group: i for i, group in enumerate(dict.fromkeys(found.tolist()))}
    return [order[group] for group in found.tolist()]


def _centres(vectors: Vectors, groups: Sequence[int]) -> np.ndarray:
    """The mean of each group's rows, scaled to length 1 (n groups, d)."""
    members = [np.flatnonzero(np.array(groups) == g) for g in range(max(groups) + 1)]
    means = np.stack([np.asarray(vectors[rows].mean(axis=0)).ravel() for rows in members])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.where(lengths > 0, lengths, 1.0))


def _grouped(texts: Sequence[str], groups: Sequence[int]) -> list[list[str]]:
    found: list[list[str]] = [[] for _ in range(max(groups) + 1)]
    for text, group in zip(texts, groups, strict=True):
        found[group].append(text)
    return found


def telling_words(groups: Sequence[Sequence[str]], *, count: int) -> list[str]:
    """Name each group of texts by its `count` most typical words; all names differ.

    The score of a word is the share of the group's texts that have it, times the squared logarithm
    of the ratio of this share to its mean over all groups. Numbers and words of one or two letters
    are ignored; a group without other words is named "group N".
    """
    shares: list[dict[str, float]] = []
    spread: Counter[str] = Counter()  # a word's shares over all groups, summed
    for texts in groups:
        found: Counter[str] = Counter()
        for text in texts:
            found.update({w for w in words_of(text) if len(w) > 2 and not any(map(str.isdigit, w))})
        shares.append({word: n / len(texts) for word, n in found.items()})
        spread.update(shares[-1])
    names: list[str] = []
    for number, group in enumerate(shares, start=1):
        weights = {
            # rounded, so that words with equal scores are in alphabetical order
            word: round(share * math.log(max(1.0, len(groups) * share / spread[word])) ** 2, 9)
            for word, share in group.items()
        }
        best = sorted(weights, key=lambda word: (-weights[word], word))[:count]
        name = other = " ".join(best) or f"group {number}"
        again = 2
        while other in names:
            other, again = f"{name} {again}", again + 1
        names.append(other)
    return names
