"""Plans in the form of the m&m's benchmark: which tools, in which order, with which arguments.

    plan.py          a plan: steps whose arguments may refer to results of earlier steps
    steps.py         from steps as JSON values to a plan
    json_form.py     a plan as a JSON list, in a reply and in a training record
    code_form.py     a plan as a small Python program, which is read and never run
    metrics.py       what plans are compared by: tools, argument names, values, edges
    tools.py         the tool list
    loaders.py       from rows of the published files to problems
    environment.py   one request, one reply
    domain.py        how requests are put, judged, compared and taught
    task.py          the parts composed: `task=plans`

m&m's: Ma et al., "m&m's: A Benchmark to Evaluate Tool-Use for multi-step multi-modal Tasks"
(ECCV 2024).
"""
