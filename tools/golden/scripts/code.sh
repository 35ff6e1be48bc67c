# Functions in Python, which the sandbox tests; all records train from the base each time.
dataenvgym run --plain task=pocket_code agent=open_ended environment.mode=accumulate name=code \
    episode.iterations=2 task.n_validation=20 task.n_test=10 agent.records_per_iteration=20 \
    trainer.num_train_epochs=2 predictor.threads=1
