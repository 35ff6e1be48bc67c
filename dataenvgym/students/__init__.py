"""Students, which answer and learn.

predictors     answer: in process, vLLM, any OpenAI-compatible server
trainers       train an adapter from a LLaMA-Factory file: in process, LLaMA-Factory
llama_factory  the files of LLaMA-Factory: datasets and training configurations
external       pinned environments of heavy programs
pocket         the weights of the pocket students
"""
