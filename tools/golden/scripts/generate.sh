# Rows through a prompt, two replies to each.
cat >question.yaml <<'PROMPT'
system: You add.
user: Add {a} and {b}.
PROMPT
cat >rows.jsonl <<'ROWS'
{"a": 3, "b": 4}
{"a": 5, "b": 6}
{"a": 2, "b": 2}
ROWS
dataenvgym generate prompt=question.yaml input=rows.jsonl name=generated seeds=2 \
    sampling.max_tokens=16 predictor.threads=1
