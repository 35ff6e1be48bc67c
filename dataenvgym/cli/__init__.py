"""The command line: `dataenvgym run`, `eval`, `report`, `show`, `export`, `list`.

main        arguments -> a command, errors -> a message and an exit code
parser      what each command takes
run         one episode, from wherever it stands
evaluate    a student on a task, without training
inspect     report, show and export of a run
listing     what there is to choose from
quiet       libraries that would write over the display
"""
