"""Problems whose answer is tool calls, compared with gold calls: BFCL and API-Bank.

problem       the data of an instance: tools, the conversation so far, gold calls, gold reply; the
              same as one text, as teachers read and write it, and back
environment   one problem: the student calls tools, or says that none fits
domain        how they are posed, judged, compared and taught
search        finds tools by keywords, like API-Bank's ToolSearcher
bfcl, api_bank   read the files of the two data sets
api_bank_text    API-Bank's own notation of calls and dialogues
api_bank_apis    API-Bank's own APIs, from the user's clone, judge calls
bfcl_multi_turn  BFCL's multi-turn conversations, played and judged by the user's clone
checkout         a process with the code of such a clone
task          the two as tasks
"""
