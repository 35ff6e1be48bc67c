"""Plans in the form of the m&m's benchmark: which tools, in which order, with which arguments.

    plan.py          a plan: steps whose arguments may refer to results of earlier steps
    json_form.py     a plan as a JSON list, in a reply and in a training record
    code_form.py     a plan as a small Python program, which is parsed and never run
    metrics.py       compares plans: tools, argument names, values, edges
    loaders.py       the tool list, and problems of rows of the published files
    domain.py        how requests are posed, judged, compared and taught
    task.py          the parts combined: `task=plans`

m&m's: Ma et al., "m&m's: A Benchmark to Evaluate Tool-Use for multi-step multi-modal Tasks"
(ECCV 2024).
"""
