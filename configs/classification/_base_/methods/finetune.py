# Trains on each task's data alone and forgets: the lower end.
method = dict(name='Finetune')
