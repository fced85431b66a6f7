"""Reads what W&B wrote offline: a LevelDB log of protobuf records.

The log is a header of 7 bytes and blocks of 32 KiB; every piece in a block
has a checksum (4 bytes), its length (2), its kind (1: whole, 2: first,
3: middle, 4: last) and its bytes.
"""
import json
import struct
import time

BLOCK = 32768


def records(path):
    """Yield the bytes of every record of a log."""
    content = path.read_bytes()
    place, parts = 7, b''
    while place + 7 <= len(content):
        left = BLOCK - place % BLOCK
        if left < 7:
            place += left
            continue
        length, kind = struct.unpack_from('<HB', content, place + 4)
        if kind == 0:
            place += left
            continue
        parts += content[place + 7:place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield parts
            parts = b''


def history(path, seconds=30):
    """The rows of ``wandb.log``, as a list of dicts.

    W&B's own process writes the file and may still do so after
    ``wandb.finish``; a record of the kind ``exit`` is the last one.
    """
    from wandb.proto import wandb_internal_pb2 as proto
    end, kinds = time.monotonic() + seconds, []
    while 'exit' not in kinds:
        assert time.monotonic() < end, 'W&B did not finish its file'
        time.sleep(.1)
        found = [proto.Record.FromString(r) for r in records(path)]
        kinds = [record.WhichOneof('record_type') for record in found]
    return [{item.key or '/'.join(item.nested_key):
             json.loads(item.value_json) for item in record.history.item}
            for record, kind in zip(found, kinds, strict=True)
            if kind == 'history']
