"""Code: the student writes Python, and tests in a sandbox decide whether it is right.

problem          the problem: entry point, starter code, files, tests
sandboxed_tests  runs tests on code, gives a verdict; `harness` is the program inside the sandbox
environment      one problem, in one try or several: `dataenvgym/Code-v0`
domain           the sandbox of a task, judging training records, votes
task             problems from files and named data sets; `contests` reads some of their rows
"""
