# A race of simulated students: strategies stop once they cannot be the best.
dataenvgym study agent=random,open_ended,skill_list "seed=range(5)" --race --name race --plain \
    --no-bounds executor=in_process student=simulated episode.iterations=2 task.n_validation=200 \
    task.n_test=40 agent.records_per_iteration=60
