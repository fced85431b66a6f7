"""The config of a run, read back from its record."""
from mmengine.config import Config
from mmengine.utils import import_modules_from_strings

from mmseg_spwc.scenario import in_new_words
from mmseg_spwc.visualization.config_text import read_config
from mmseg_spwc.visualization.runs import Run


def config_of(run: Run) -> Config:
    """Return the config of a run; it is parsed, not executed.

    The modules that it names in ``custom_imports`` are imported, since its
    types are registered there.
    """
    values = read_config(run.record.content['run']['config'])
    if 'scenario' in values:
        values['scenario'] = in_new_words(values['scenario'])
    if values.get('custom_imports'):
        import_modules_from_strings(**values['custom_imports'])
    return Config(values)
