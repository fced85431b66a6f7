"""Reads the config of a record without running it.

A record keeps its config as MMEngine prints it: names, literals and calls of
``dict``. A record may come from anyone, so it is parsed, not executed.
"""
import ast


def read_config(text: str) -> dict:
    """Return the values of a printed config.

    Args:
        text (str): ``run.config`` of a record.

    Raises:
        ValueError: If it holds anything but literals and ``dict(...)``.
    """
    values = {}
    for line in ast.parse(text).body:
        if not isinstance(line, ast.Assign) or len(line.targets) != 1 or \
                not isinstance(line.targets[0], ast.Name):
            raise ValueError(
                f'Line {line.lineno} of the config is no "name = value".')
        values[line.targets[0].id] = _value(line.value)
    return values


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Call):
        if getattr(node.func, 'id', None) != 'dict' or node.args:
            raise ValueError(
                f'Line {node.lineno} of the config calls something else '
                'than dict(name=value).')
        pairs = {k.arg: _value(k.value) for k in node.keywords if k.arg}
        for star in (k.value for k in node.keywords if not k.arg):
            pairs.update(_value(star))
        return pairs
    if isinstance(node, ast.Dict):
        return {_value(k): _value(v)
                for k, v in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    return ast.literal_eval(node)


def setting(text: str, *path: str) -> object | None:
    """Return one value of a printed config, None where it is absent."""
    value = read_config(text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
