# The environment with a forest of skills.
dataenvgym run --plain task=pocket_math agent=skill_tree name=skill_tree \
    episode.iterations=2 task.n_validation=20 task.n_test=10 \
    trainer.num_train_epochs=1 predictor.threads=1
