"""Sierra's tau2-bench (https://github.com/sierra-research/tau2-bench), from the user's own copy.

package       the user's installed package, and its data folder
task_file     the form of its tasks and splits
shared_rows   database rows that forks of an environment share
world         Tau2World: a domain's environment, with its databases and tools
problem       from one of its tasks to a problem of ours
environment   one conversation, scored as tau2 scores it
assertion_judge
              whether the assertions in natural language hold
source        its tasks, by split
task          Tau2Task and its domain
"""
