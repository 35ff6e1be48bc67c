"""Orchestration: requests that a student solves by calling other models, each with a price.

tiers          the models behind the tools: price, latency, servers, or a stated accuracy
retrievers     what a search finds: BM25 over a folder, or servers
calls          results of calls as messages, and the account of what they cost
preferences    what a user wants, and how well it was kept
environment    one request, turn by turn, and the context of each turn
domain         how requests are put, judged, reported and taught
task           questions of files (HLE, FRAMES)
rewards        outcome, efficiency and preference of a group of tries, and their advantages
engine         scored records of the student's own tries
policies       fixed orchestrators, to compare with
pareto         accuracy against cost of several evaluations
pocket         pocket orchestration: a procedural family with simulated tiers
"""
