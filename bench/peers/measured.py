"""Figures kept in a file from one run to the next: what is measured anew takes the place of the old."""
import json
import os


def load(path):
    """The rows of earlier runs; none if there is no such file."""
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return json.load(f)


def keep(path, rows, keys):
    """Adds rows to the file; where one has the same under all keys as an earlier one, to that."""
    all_rows = {tuple(row.get(key) for key in keys): row for row in load(path)}
    for row in rows:
        all_rows.setdefault(tuple(row.get(key) for key in keys), {}).update(row)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
        json.dump(list(all_rows.values()), f, indent=1)
