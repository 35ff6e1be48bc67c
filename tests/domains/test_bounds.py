"""Bounds of options are in their types, and the configuration refuses values beyond them."""

import pytest

from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.code.task import CodeTask
from dataenvgym.domains.few_shot.engines import GridEditEngine
from dataenvgym.domains.few_shot.task import FewShotTask
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.knowledge.self_edits import SelfEditEngine
from dataenvgym.domains.knowledge.task import KnowledgeTask
from dataenvgym.domains.math.task import MathTask
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.social.task import SocialTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.instantiation import check_arguments


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (SocialTask, {"casts_per_scene": 0, "trial": -1, "turn_limit": 0, "most_stale": -1}),
        (SocialTask, {"strategy_max_words": 0, "order": "rondo", "scored": "both"}),
        (SocialTask, {"seats": "third", "rules": "sotopiaa"}),
        (SocialTask, {"dimensions": ["gaol"], "strategists": ["mine"], "role": "stratgist"}),
        (SocialTask, {"fractions": {"train": -1.0}, "partner": "touhg", "judges": "judge"}),
        (PocketSocialTask, {"turn_limit": 1001}),
        (CodeTask, {"max_turns": 0, "workers": 0, "format": "mbp"}),
        (PocketCodeTask, {"wording": "german"}),
        (MathTask, {"format": "gsm", "limit": 0, "fractions": {"valid": 1.0}}),
        (KnowledgeTask, {"n_passages": 0, "graded_by": "f1"}),
        (PocketKnowledgeTask, {"n_people": 81}),
        (SelfEditEngine, {"samples": 0, "style": "haiku", "split": "words"}),
        (FewShotTask, {"views": 9, "max_turns": 0}),
        (GridEditEngine, {"examples_per_problem": 0, "augmentations": ["colors"]}),
    ],
)
def test_a_value_beyond_its_bounds_is_refused_by_its_key(target, options):
    for name, value in options.items():
        with pytest.raises(ConfigurationError, match=rf"task\.{name}\b"):
            check_arguments(target, {name: value}, "task")
