# Scenes with a partner.
dataenvgym run --plain task=pocket_social agent=bandit_ucb name=social \
    episode.iterations=2 task.n_validation=24 task.n_test=12 agent.records_per_iteration=24 \
    trainer.num_train_epochs=2 predictor.threads=1
