# A run that is killed after its first iteration, resumed, and extended.
small="task=pocket_math agent=open_ended task.n_validation=20 task.n_test=10 \
    agent.records_per_iteration=20 trainer.num_train_epochs=2 predictor.threads=1 name=resumed"
dataenvgym run --plain $small episode.iterations=2 >first.txt & run=$!
until grep -qs "iteration 1/2" first.txt || ! kill -0 $run; do sleep 0.05; done
kill -9 $run || true
wait $run || true
dataenvgym run --plain $small episode.iterations=2
dataenvgym run --plain $small episode.iterations=3
