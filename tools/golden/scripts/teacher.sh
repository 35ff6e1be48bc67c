# A teacher writes the records, in several forms of reply; and preference pairs by rules.
cat >my_teacher.py <<'TEACHER'
from itertools import count

from dataenvgym import Reply

FORMS = ['{"records": [%s]}', "```json\n[%s]\n```", "Here it is: %s", '{"records": [%s,]}', "no %.0s"]
RECORD = '{"instruction": "Write %d %d 7 backwards.", "output": "#### 7 %d %d"}'


class CannedTeacher:
    numbers = count()

    def ask(self, conversations, sampling, *, purpose):
        return [Reply(text=self.text(next(self.numbers))) for _ in conversations]

    def text(self, n):
        tens, ones = divmod(n % 100, 10)
        return FORMS[n % 5] % (RECORD % (tens, ones, ones, tens))
TEACHER
small="episode.iterations=1 task.n_validation=20 task.n_test=10 agent.records_per_iteration=20 \
    trainer.num_train_epochs=2 predictor.threads=1"
dataenvgym run --plain task=pocket_math agent=skill_list agent/engine=llm \
    teacher=my_teacher.CannedTeacher name=teacher $small
dataenvgym run --plain task=pocket_math agent=preference name=preference $small
