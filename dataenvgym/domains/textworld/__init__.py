"""Worlds of text: a household and a shop, in which the student acts by sentences.

worlds         World: a problem's world in play; Problem: its start, its goal, a reference solution
house          a room with receptacles and objects (ALFWorld's form)
household      household tasks in drawn rooms
shop           a shop with a search and pages (WebShop's form), its products, and purchases
purchases      the reward of a purchase
flowbench      workflows with the problems, and metrics of turns and sessions (FlowBench's form)
games          games of TextWorld, Jericho and ALFWorld, and WebShop, as worlds
pocket         a small family of errands in rooms, for a pocket student
environment    one problem, turn by turn
domain         how problems are taught, and their audit
task           the tasks, drawn or from files
"""
