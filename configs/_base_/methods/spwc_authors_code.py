# The weight of the published commit: eta itself, so easy units weigh more.
self_paced = dict(rule='authors_code')
