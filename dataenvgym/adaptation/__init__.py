"""Adaptation: a student is trained on self-edits of contexts, each time from its untouched base.

A context is something to learn from, such as a passage or a puzzle, with questions about it.

inner_loop   trains an adapter on the records of one self-edit, and asks the context's questions
"""

from dataenvgym.adaptation.inner_loop import Adapted, Answer, InnerLoop, adapt

__all__ = ["Adapted", "Answer", "InnerLoop", "adapt"]
