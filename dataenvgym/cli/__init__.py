"""The command line: `dataenvgym run`, `study`, `compare`, `eval`, `report`, `show`, ...

main        parses the command line, runs a command; turns errors into a message and an exit code
commands    makes the command line of the signatures and docstrings of the commands
run         starts or resumes one episode
study       strategies x tasks x seeds; compare: existing runs
evaluate    a student on a task, without training
inspect     report, show and export of a run
listing     the options of the configuration
new         writes a new agent, task or domain to begin with; see skeletons/
doctor      installed and missing parts (findings, helper_programs)
"""
