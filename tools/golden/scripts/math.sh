# Two iterations on pocket math; which records helped; its student on the test split.
small="task.n_validation=40 task.n_test=20 trainer.num_train_epochs=2 predictor.threads=1"
dataenvgym run --plain task=pocket_math name=math $small episode.iterations=2 \
    agent.records_per_iteration=40 environment.replay=10
dataenvgym attribute math --iteration 1 --limit 2 --repeats 2
dataenvgym eval --run math --iteration 2 --split test name=taught
