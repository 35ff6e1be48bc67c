"""Code: the student writes Python, and tests in a sandbox decide whether it is right.

problem.py      the problem: entry point, starter code, files, tests
judging.py      runs tests on code, gives a verdict: programs that read stdin one by one, the rest
                by `harness_run.py`; `harness` is the program inside the sandbox
environment.py  one problem, in one try or several: `dataenvgym/Code-v0`
domain.py       the sandbox of a task, judging training records, votes
task.py         problems from files and named data sets; `loaders.py`, `contests.py` read rows
"""
