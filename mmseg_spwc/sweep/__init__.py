"""Many runs at once: methods x scenarios x seeds x grids.

=====================  ==================================================
``sweep_file``         what a user writes, read and checked
``plan``               which trials there are, with what config, which are
                       done, which share a step 0
``estimate``           what would be done, and how long it will take
``driver``             runs the plan on Ray, here or on a cluster
``trial_process``      what Ray runs for every trial, on any machine
``board``              the table in the terminal
``aggregate``          what is left behind: ``sweep.json``
=====================  ==================================================

Ray schedules, retries and spreads the trials over machines; a trial is an
ordinary run of ``tools/train.py --resume`` in a process of its own.
"""
