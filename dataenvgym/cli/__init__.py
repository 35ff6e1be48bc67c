"""The command line: `dataenvgym run`, `study`, `compare`, `eval`, `report`, `show`, ...

main        arguments -> a command, errors -> a message and an exit code
parser      parses the command line; the arguments of each command are in commands*.py
run         one episode, from wherever it stands
study       strategies x tasks x seeds; compare: runs that are there already
evaluate    a student on a task, without training
inspect     report, show and export of a run
listing     what there is to choose from
new         an agent, a task or a domain of one's own to begin with; see skeletons/
doctor      what is there, what is missing (findings, helper_programs)
"""
