-- macro: whether a line is what Slurm's step daemon writes into a job's output as it ends a job or step
-- param channel varchar: who wrote the file
-- param signature varchar: what caught the line
channel = 'job' and signature like 'slurm-banner-%'
