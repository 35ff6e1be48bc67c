"""The interpreter inside a worker's sandbox, which forks once for each run.

It uses only the standard library: it is mounted in the sandbox as a package of its own, without the
package around it. `zygote` prepares runs, each as an init and a main process; `program` is the main
process up to and including the untrusted program; `kernel` has their system calls.
"""
