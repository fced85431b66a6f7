"""Words that a scenario used before: ``task`` and ``heads='task'``.

A config with one of them is refused by a message that names the new word.
Records keep configs, and digests in checkpoints were made, with the old ones:
both stay of use.
"""
from collections.abc import Mapping

# (old key, old value or None for any) -> (new key, new value or None: kept)
_RENAMED = (('task', None, 'problem', None),
            ('heads', 'task', 'heads', 'per_step'))


def check_new_words(data: Mapping) -> None:
    """Refuse the dict form of a scenario that uses an old word."""
    for key, value, new_key, new_value in _RENAMED:
        if key in data and value in (None, data[key]):
            raise ValueError(
                f'{key}={data[key]!r} of a scenario is written '
                f'{new_key}={new_value or data[key]!r} now: change the '
                'config.')


def in_new_words(data: Mapping) -> dict:
    """The dict form of a scenario with every old word replaced."""
    return _translate(data, _RENAMED)


def in_old_words(data: Mapping) -> dict:
    """The form that digests are made of, which no renaming changes."""
    return _translate(data, [(*row[2:], *row[:2]) for row in _RENAMED])


def _translate(data: Mapping, table) -> dict:
    out = dict(data)
    for key, value, new_key, new_value in table:
        if key in out and value in (None, out[key]):
            found = out.pop(key)
            out[new_key] = new_value or found
    return out
