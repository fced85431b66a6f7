"""The config of one step, under the name that others import it by."""
from mmseg_spwc.config.step import scenario_of, step_config

__all__ = ['scenario_of', 'step_config']
