"""The interpreter inside a worker's sandbox, which forks once for each run.

Only the standard library: it is mounted in the sandbox as a package of its own, and knows
nothing of the one around it. `zygote` prepares runs, each as an init and a main process; `program`
is the main process up to and through the untrusted program; `kernel` is what they ask of it.
"""
