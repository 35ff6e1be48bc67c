"""A small package with the names of Sotopia's, and other words; and replies of its judge."""

import json

EVALUATORS = '''
class EpisodeLLMEvaluator:
    async def __acall__(self, messages):
        agent_instruction = ""
        agent_instruction = (
            "There are " + str(num_agents) + " of them: [" + ", ".join([f"agent_{i}"]) + "].\\n"
        )
        await agenerate(
            template="""{history}
                How well did they do?
                {agent_instruction}
                Like this: {format_instructions}
            """,
        )
'''
DIMENSIONS_FILE = """
def up(v: int) -> int:
    if v < 0 or v > 10:
        raise ValueError("no")
    return v


def both(v: int) -> int:
    if v < -5 or v > 5:
        raise ValueError("no")
    return v


def down(v: int) -> int:
    if v < -10 or v > 0:
        raise ValueError("no")
    return v
"""
for kind, check in (("Up", "up"), ("Both", "both"), ("Down", "down")):
    DIMENSIONS_FILE += f"""

class {kind}(LLMBaseModel):
    reasoning: str = Field(..., description="Why")
    score: int = Field(..., description="How much")

    @field_validator("score")
    @classmethod
    def check(cls, v: int) -> int:
        return {check}(v)
"""
DIMENSIONS_FILE += '\n\nclass SotopiaDimensions(LLMEvalBaseModel):\n    """All seven."""\n'
KINDS = {
    "believability": "Up",
    "relationship": "Both",
    "knowledge": "Up",
    "secret": "Down",
    "social_rules": "Down",
    "financial_and_material_benefits": "Both",
    "goal": "Up",
}
for name, kind in KINDS.items():
    DIMENSIONS_FILE += f'\n    {name}: {kind} = Field(..., description="About " "{name}")\n'


def write_clone(folder):
    """Write the package into a folder, as in a clone of Sotopia."""
    for name, text in (
        ("envs/evaluators.py", EVALUATORS),
        ("database/evaluation_dimensions.py", DIMENSIONS_FILE),
    ):
        file = folder / "sotopia" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return folder


def evaluations(*agents):
    """A reply that gives each agent these scores, and 0 in all other dimensions."""
    given = {
        f"agent_{i + 1}": {n: {"reasoning": "r", "score": scores.get(n, 0)} for n in KINDS}
        for i, scores in enumerate(agents)
    }
    return json.dumps({"evaluations": given})
