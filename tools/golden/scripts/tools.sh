# Calls of tools, with several turns; the gate may refuse a student.
dataenvgym run --plain task=pocket_tools agent=random environment.gate=0.05 name=tools \
    episode.iterations=2 task.n_validation=24 task.n_test=12 agent.records_per_iteration=24 \
    trainer.num_train_epochs=2 predictor.threads=1
