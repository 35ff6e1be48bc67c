# Several samples of each problem, more metrics of the same samples, and a suite.
dataenvgym eval task=pocket_math samples=3 "metrics=[pass@1,pass@3,pass^3,majority@3]" \
    name=samples --limit 20 predictor.threads=1
dataenvgym rescore samples "metrics=[pass@2]"
dataenvgym eval suite=pocket name=suite --limit 8 predictor.threads=1
