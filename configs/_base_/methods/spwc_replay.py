# spWC draws what is replayed: the hardest old classes more often. The
# background is shown by every image and is not drawn.
self_paced = dict(
    name='spWC (replay)', rule='spwc', k=15, background='keep', on='replay')
