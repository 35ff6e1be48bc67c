# Two strategies on two tasks, with floor and ceiling, one after another in this process.
dataenvgym study agent=random,skill_list task=pocket_math,pocket_tools seed=0,1 --name study --plain \
    executor=in_process episode.iterations=1 agent.records_per_iteration=24 \
    task.n_train=60 task.n_validation=24 task.n_test=12 \
    trainer.num_train_epochs=1 predictor.threads=1
