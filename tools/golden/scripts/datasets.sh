# Records of a pool, in LLaMA-Factory's formats. (`adapt` has plain text, the runs supervised ones.)
cat >chat.jsonl <<'RECORDS'
{"kind": "chat", "system": "You are careful.", "tools": [{"name": "reverse", "description": "Write digits backwards.", "parameters": {"type": "object", "properties": {"digits": {"type": "string"}}}}], "messages": [{"role": "user", "content": "Write 3 1 4 backwards."}, {"role": "assistant", "content": "", "tool_calls": [{"name": "reverse", "arguments": {"digits": "3 1 4"}}]}, {"role": "tool", "content": "4 1 3"}, {"role": "assistant", "content": "#### 4 1 3"}]}
RECORDS
cat >preference.jsonl <<'RECORDS'
{"kind": "preference", "instruction": "Write 3 1 4 backwards.", "chosen": "#### 4 1 3", "rejected": "#### 3 1 4"}
{"kind": "preference", "messages": [{"role": "user", "content": "Add 4 and 4."}, {"role": "assistant", "content": "#### 8"}, {"role": "user", "content": "And 1."}], "chosen": "#### 9", "rejected": "#### 8"}
RECORDS
cat >kto.jsonl <<'RECORDS'
{"kind": "kto", "instruction": "Give 3 7 9 6 in rising order.", "output": "#### 3 6 7 9", "desirable": true}
{"kind": "kto", "instruction": "Give 5 2 8 in rising order.", "output": "#### 5 2 8", "desirable": false}
RECORDS
cat >scored.jsonl <<'RECORDS'
{"kind": "scored", "messages": [{"role": "user", "content": "Write 3 1 4 backwards."}, {"role": "assistant", "content": "#### 4 1 3"}, {"role": "user", "content": "Again."}, {"role": "assistant", "content": "#### 3 1 4"}], "weights": [0.8, null]}
{"kind": "scored", "messages": [{"role": "user", "content": "Write 5 1 4 backwards."}, {"role": "assistant", "content": "#### 5 1 3"}], "weights": [-0.4]}
RECORDS
for kind in chat preference kto scored; do
    dataenvgym run --plain task=pocket_math agent=pool_random agent.engine.path=$kind.jsonl \
        name=$kind agent.records_per_iteration=2 episode.iterations=1 \
        task.n_validation=4 task.n_test=4 trainer.num_train_epochs=1 predictor.threads=1
done
