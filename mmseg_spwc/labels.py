"""The two labels that do not count, each decided here."""

# of a pixel: what masks of VOC call void; no loss and no metric counts it
VOID = 255

# of an image or pixel whose importance is measured, as torch's losses have it
NOT_COUNTED = -100
