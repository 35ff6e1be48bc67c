# Many turns in a text world.
dataenvgym run --plain task=pocket_textworld name=textworld \
    episode.iterations=1 task.n_validation=12 task.n_test=6 agent.records_per_iteration=12 \
    trainer.num_train_epochs=2 predictor.threads=1
