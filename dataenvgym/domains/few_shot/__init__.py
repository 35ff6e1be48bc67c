"""Few-shot puzzles: the student infers a rule from grids, and applies it to another grid (ARC).

problem        the problem: demonstrations and a test input; as text, and back; skills
augmentations  changes of grids that keep or extend the rule, some of them with an inverse
environment    one problem, in two attempts: `dataenvgym/FewShot-v0`
domain         reading records and answers, voting over views of a problem
task           problems from files and named data sets
self_edit      a student's choice of augmentations and training, and the examples that follow
engines        write records by augmentations: chosen in the options, or by self-edits
"""
