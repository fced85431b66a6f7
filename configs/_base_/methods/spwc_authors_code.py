# The weight of the published commit: eta itself, so easy units weigh more.
self_paced = dict(name='spWC (authors_code)', rule='authors_code')
