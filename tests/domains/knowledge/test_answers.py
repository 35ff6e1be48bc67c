"""The scores of answers, against the definitions that SQuAD 1.1's evaluation publishes."""

import re
import string
from collections import Counter

import numpy as np

from dataenvgym.domains.knowledge.environment import exact_match, f1, normalized

GOLDS = (
    "Denver Broncos", '"golden anniversary"', "The Shah's army", "24\u201310", "a an the",
    "Levi's Stadium in the San Francisco Bay Area at Santa Clara, California.", "2,000 men",
    "an  apple   a day", "Straße", "İstanbul", "U.S.", "",
)  # fmt: skip


def published_normalization(text):
    """Lower case, without punctuation, then without articles, then without extra space."""
    lowered = text.lower()
    bare = "".join(character for character in lowered if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def published_f1(answer, gold):
    found, wanted = published_normalization(answer).split(), published_normalization(gold).split()
    same = sum((Counter(found) & Counter(wanted)).values())
    if same == 0:
        return 0
    precision, recall = 1.0 * same / len(found), 1.0 * same / len(wanted)
    return (2 * precision * recall) / (precision + recall)


def mutated(text, rng):
    """The text with words dropped, repeated, moved, or put into other case and punctuation."""
    words = text.split(" ")
    for _ in range(int(rng.integers(4))):
        i = int(rng.integers(len(words)))
        how = int(rng.integers(7))
        if how == 0:
            words[i : i + 1] = []
        elif how == 1:
            words.insert(i, str(rng.choice(["the", "An", "a", "\t", "\n", "is", "Broncos", "é"])))
        elif how == 2:
            words[i] = words[i].upper()
        elif how == 3:
            words[i] += str(rng.choice([*string.punctuation, "\u2019", "—", "。"]))
        elif how == 4:
            words = [str(word) for word in rng.permutation(words)]
        elif how == 5:
            words.append(words[i])
        else:
            words[i] = words[i][::-1]
        words = words or [""]
    return " ".join(words)


def test_a_thousand_mutated_answers_score_as_published():
    rng = np.random.default_rng(0)
    found = Counter()
    for _ in range(1000):
        golds = [str(gold) for gold in rng.choice(GOLDS, size=int(rng.integers(1, 4)))]
        source = golds[0] if rng.random() < 0.7 else str(rng.choice(GOLDS))
        answer = mutated(source, rng)
        normal = published_normalization(answer)
        assert normalized(answer) == normal
        is_same = any(normal == published_normalization(gold) for gold in golds)
        assert exact_match(answer, golds) == is_same
        best = max(published_f1(answer, gold) for gold in golds)
        assert f1(answer, golds) == best
        found["same" if is_same else "partly" if best else "other"] += 1
    assert min(found.values()) > 100, found
