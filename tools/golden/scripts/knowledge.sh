# Facts of passages: gold records; then what a student writes about passages, and learns from it.
dataenvgym run --plain task=pocket_knowledge agent=gold name=knowledge \
    episode.iterations=1 task.n_train=40 task.n_validation=24 task.n_test=12 \
    trainer.num_train_epochs=4 predictor.threads=1
dataenvgym adapt --plain experiment=seal_knowledge_pocket name=knowledge \
    task.n_people=6 task.n_train=36 task.n_validation=36 task.n_test=36 \
    "arms.names=[context_only,gold,self_edits,rest_em]" arms.contexts=2 arms.edits=1 \
    rest_em.contexts=2 rest_em.edits=2 rest_em.rounds=1 \
    trainer.num_train_epochs=2 rest_em.trainer.num_train_epochs=1 predictor.threads=1
