# Orchestration: own tries, scored by outcome and cost.
dataenvgym run --plain experiment=orchestrator_pocket name=orchestrate \
    episode.iterations=1 task.n_validation=16 task.n_test=8 agent.records_per_iteration=64 \
    predictor.threads=1
