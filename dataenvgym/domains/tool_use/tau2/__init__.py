"""Sierra's tau2-bench (https://github.com/sierra-research/tau2-bench), from the user's own copy.

package       the user's installed package, and its data folder
task_file     the form of its tasks and splits
world         Tau2World: a domain's environment, with its databases and tools
problem       makes a problem of a tau2 task
environment   one conversation, scored like tau2
task          Tau2Task, its domain, and its source: the tasks by split
"""
