# Puzzles: what is made of a puzzle's demonstrations; and the augmentations that a student chooses.
dataenvgym run --plain task=pocket_few_shot name=few_shot \
    episode.iterations=1 task.n_validation=16 task.n_test=8 agent.records_per_iteration=24 \
    trainer.num_train_epochs=2 predictor.threads=1
dataenvgym adapt --plain experiment=seal_few_shot_pocket name=few_shot \
    "arms.names=[context_only,self_edits]" arms.contexts=2 arms.edits=2 \
    agent.engine.examples_per_problem=8 trainer.num_train_epochs=2 predictor.threads=1
