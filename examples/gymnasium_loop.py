"""Both levels of environments, used with gymnasium's reset and step alone.

First a task environment, in which the student acts (here: you, with a canned answer); then a
teaching environment, in which the data-generation agent acts.
"""

import gymnasium

from dataenvgym import PocketMathTask  # importing dataenvgym registers the environments

problem = gymnasium.make("dataenvgym/Math-v0")
conversation, info = problem.reset(seed=0)
print("student reads:", conversation[-1].content)
conversation, reward, terminated, truncated, info = problem.step("I think it is #### 7")
print("student gets:", reward)

teaching = gymnasium.make("dataenvgym/SkillList-v0", task=PocketMathTask(n_validation=100))
observation, info = teaching.reset(seed=0)
print(f"untouched student: {info['score']:.2f}")
for numbers in ("3 1 2 4", "5 9 5 6", "7 1 8 8", "2 4 3 9", "6 6 1 3"):
    answer = " ".join(reversed(numbers.split()))
    records = [
        {"instruction": f"{verb} {numbers} backwards.", "output": f"#### {answer}"}
        for verb in ("Write", "Read", "Give")
    ]
    observation, reward, terminated, truncated, info = teaching.step(records)
    print(f"after {info['n_records_total']:.0f} records: {info['score']:.2f} ({reward:+.2f})")
teaching.close()
