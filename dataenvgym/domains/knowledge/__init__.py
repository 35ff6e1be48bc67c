"""Knowledge: questions about passages that the student read in training and no longer sees.

answers        exact match and F1, as in SQuAD's official evaluation
environment    one question, answered once
domain         how questions are put, judged and taught
task           SQuAD's formats, from files or by name
self_edits     an engine: a model rewrites the passages as texts to train on
pocket         pocket knowledge: made-up facts
"""
