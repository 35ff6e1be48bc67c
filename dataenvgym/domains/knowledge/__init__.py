"""Knowledge: questions about passages that the student read in training and no longer sees.

choice         the choice that a reply gives
instructions   checkable rules, as in IFEval
questions      questions without passages, of several graders
environment    one question, answered once, with all graders
domain         how questions are put, judged and taught
task           SQuAD's formats, from files or by name
self_edits     an engine: a model rewrites the passages as texts to train on
pocket         pocket knowledge: made-up facts
"""
