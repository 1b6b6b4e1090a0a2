#!/usr/bin/env python3
"""Prints a Markdown table of figures beside others' from the same machine and run.

    firebox bench kernels --backend cuda --format json > ours.json
    python3 docs/ratios.py gpu ours.json peers.json > table.md

Files hold a JSON object a line. Ours have case, variant, size, ms, share and limit; a peer's have case, peer, size and
ms, and are joined with ours by case and size. Of runs that were repeated the fastest counts, for all alike. bars.csv,
beside this script, says what ours must reach on a gpu or a cpu: milliseconds, or (with ×) so many times the peer's.
Exit code 1 if a bar is missed or was not measured.
"""

import csv
import json
import os
import sys

# A step needs the same sums whether J is stored or not: peers that store it stand beside ours that does not.
SAME = {"ocnn step, on the fly": "ocnn step, stored J"}

# On a CPU the peer adds to an S that it has: it stands beside ours that does so too.
ADDS = {"ocnn fragmentary sync, 64 steps": "added to S"}


def lines(path):
    """The objects of a file, other lines left out: programs print what they like around them."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue
            if isinstance(row, dict) and "case" in row and "size" in row and "ms" in row and row["case"] != "ceilings":
                yield row


def size(value):
    """Sizes are lists, single numbers, or text with ×.

    >>> size([1000, 1]), size(7), size("524 × 64")
    ((1000, 1), (7,), (524, 64))
    """
    if isinstance(value, str):
        return tuple(int(part) for part in value.split("×"))
    return tuple(value) if isinstance(value, list) else (value,)


def variant(row):
    """Which way, if not the plain one; peers tell TF32 in their name.

    >>> [variant(row) for row in ({}, {"variant": "f16"}, {"peer": "f32 tf32=True"}, {"peer": "f32 tf32=False"})]
    ['', 'f16', 'tf32', '']
    """
    return row.get("variant") or ("tf32" if "tf32=True" in row.get("peer", "") else "")


def best(rows):
    """By case, variant and size the row that is fastest: several peers may do the same, and runs may be repeated."""
    found = {}
    for row in rows:
        key = (row["case"], variant(row), size(row["size"]))
        if key not in found or row["ms"] < found[key]["ms"]:
            found[key] = row
    return found


def bars(machine, path):
    """What must be reached: by case, variant and size the text of bars.csv."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["machine"] == machine]
    return {(row["case"], row["variant"], size(row["size"])): row["bar"] for row in rows}


def figure(ms):
    """Three digits that count.

    >>> [figure(ms) for ms in (0.00842, 0.1, 1.0, 9.995, 123.4, 0)]
    ['0.00842', '0.100', '1.00', '9.99', '123', '0']
    """
    if ms == 0 or abs(ms) >= 100:
        return f"{ms:.0f}"
    digits = 0
    while abs(ms) * 10**digits < 100:
        digits += 1
    return f"{ms:.{digits}f}"


def verdict(bar, ours, peer):
    """Whether a bar is met.

    >>> [verdict("2.0", 2.0, None), verdict("1.2×", 1.3, 1.0), verdict("1.2×", 1.0, None), verdict("1", None, 3.0)]
    ['met', 'missed', 'no peer', 'not measured']
    """
    if not bar:
        return ""
    if ours is None:
        return "not measured"
    if bar.endswith("×"):
        if peer is None:
            return "no peer"
        return "met" if ours <= float(bar[:-1]) * peer else "missed"
    return "met" if ours <= float(bar) else "missed"


def table(ours, peers, wanted):
    """The table's rows, in the order of ours; what has a bar and was not measured comes last.

    >>> step = ("ocnn step, on the fly", "", (1000, 1))
    >>> ours = {step: {"ms": 0.5, "share": 0.25, "limit": "memory"}}
    >>> peers = {("ocnn step, stored J", "", (1000, 1)): {"ms": 1.0}}
    >>> for row in table(ours, peers, {step: "0.4", ("nap", "", (7,)): "1.2×"}): print(row)
    ['ocnn step, on the fly', '1000 × 1', '0.500', '1.00 (stored)', '0.50', '≤ 0.4', '25 % of memory', 'missed']
    ['nap', '7', '–', '–', '–', '≤ 1.2×', '–', 'not measured']
    """
    for key in [*ours, *(key for key in wanted if key not in ours)]:
        case, way, numbers = key
        mine = ours.get(key)
        theirs, note = peers.get(key), ""
        if theirs is None and case in SAME:
            theirs, note = peers.get((SAME[case], way, numbers)), " (stored)"
        ms = mine["ms"] if mine else None
        peer = theirs["ms"] if theirs else None
        share = mine.get("share") if mine else None
        bar = wanted.get(key, "")
        yield [
            f"{case}: {way}" if way else case,
            " × ".join(map(str, numbers)),
            figure(ms) if ms is not None else "–",
            figure(peer) + note if peer is not None else "–",
            f"{ms / peer:.2f}" if ms is not None and peer else "–",
            ("≤ " + bar) if bar else "",
            f"{100 * share:.0f} % of {mine['limit']}" if share is not None else "–",
            verdict(bar, ms, peer),
        ]


HEAD = ["case", "size", "ours, ms", "peer, ms", "ratio", "bar", "share of the ceiling", ""]


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("gpu", "cpu"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    rows = [row for path in arguments[1:] for row in lines(path)]
    ours = best(row for row in rows if "peer" not in row)
    peers = best(row for row in rows if "peer" in row)
    if arguments[0] == "cpu":
        peers = {(case, ADDS.get(case, way), numbers): row for (case, way, numbers), row in peers.items()}
    wanted = bars(arguments[0], os.path.join(os.path.dirname(os.path.abspath(__file__)), "bars.csv"))
    body = list(table(ours, peers, wanted))
    for cells in [HEAD, ["---"] * len(HEAD), *body]:
        print("| " + " | ".join(cells) + " |")
    return 1 if any(cells[-1] in ("missed", "not measured", "no peer") for cells in body) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
