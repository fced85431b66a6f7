"""Segmentors."""
from .continual_encoder_decoder import ContinualEncoderDecoder

__all__ = ['ContinualEncoderDecoder']
