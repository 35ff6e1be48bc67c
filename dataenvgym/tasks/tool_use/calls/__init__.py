"""Problems whose answer is calls of tools, compared with gold calls: BFCL and API-Bank.

problem       what an instance holds: tools, the conversation so far, gold calls, gold reply
texts         such a problem as one text, as teachers read and write it, and back
environment   one problem: the student calls tools, or says that none fits
domain        how they are put, judged, compared and taught
schemas       JSON schemas of arguments: BFCL's types, and whether a call obeys one
search        finding tools by keywords, as API-Bank's ToolSearcher
rouge         ROUGE-L
bfcl, api_bank   from the files of the two data sets to problems
task          the two as tasks
"""
