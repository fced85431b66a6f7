"""Decode heads that MMSegmentation does not have."""
from .deeplabv3_css_head import DeepLabV3CSSHead

__all__ = ['DeepLabV3CSSHead']
