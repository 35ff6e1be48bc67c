"""Tool use: problems that a student works on by calling tools.

matching    whether calls are the gold ones: strictly, or leniently as BFCL compares them
calls       problems whose answer is the calls themselves: BFCL, API-Bank
"""
