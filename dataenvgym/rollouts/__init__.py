"""Rollouts: any predictor through any task environments, to completed instances.

engine      `rollout`, which picks one of the two ways of driving
rounds      a predictor that only has `predict`: all live environments step in a thread pool, then
            it answers their conversations in chunks. A chunk is made of the live ones among
            `chunk_size` neighbouring instances, so that what is batched with what depends on the
            instances and the options alone.
submission  a predictor that also has `submit(conversation, sampling) -> Future`: each conversation
            goes on as soon as its reply is there, in whichever thread of the pool is free
episode     one instance on its way through its environment
faults      who is to blame: an instance's error is never a wrong answer
"""

from dataenvgym.rollouts.engine import rollout

__all__ = ["rollout"]
