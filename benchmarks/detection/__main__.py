"""`python -m benchmarks.detection [--data FOLDER]`: find planted and real failures of real runs."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.detection.measures import measure
from benchmarks.detection.tables import lines, verdicts

_ROOT = Path(__file__).resolve().parents[2]
_NEEDED = (
    "agentrx",
    "bigbench_mistake",
    "mas_sim_otel",
    "reflexion_hotpotqa",
    "tau2_toolorchestra",
    "tau_bench",
)


def main() -> int:
    """Measure, print the tables and the bars; 1 where a bar is missed, 2 without the data."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    parser.add_argument(
        "--data",
        type=Path,
        default=_ROOT.parent / "shared" / "data",
        help="folder of the data sets (default: %(default)s)",
    )
    parser.add_argument("--peers", type=Path, help="interpreter that has the peers installed")
    parser.add_argument("--out", type=Path, help="where to write the counts as JSON")
    parser.add_argument(
        "--without-held-out", action="store_true", help="for work on rules: leave that domain alone"
    )
    options = parser.parse_args()
    missing = [name for name in _NEEDED if not (options.data / name).is_dir()]
    if missing:
        print(
            f"no data: {options.data} holds no {', '.join(missing)}. The data sets are not part of"
            " this repository; docs/detection.md names their sources. Give their folder with"
            " --data.",
            file=sys.stderr,
        )
        return 2
    if options.peers is not None and not options.peers.exists():
        parser.error(f"--peers: {options.peers} does not exist; `make detection` sets it up")
    begin = time.monotonic()
    found = measure(
        options.data,
        peers=options.peers,
        with_held_out=not options.without_held_out,
        tell=lambda part: print(f"{part} ...", file=sys.stderr, flush=True),
    )
    if options.out is not None:
        options.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print("\n".join(lines(found)))
    print()
    bars = list(verdicts(found))
    for text, is_met in bars:
        print(f"{'met   ' if is_met else 'MISSED'}  {text}")
    n_met = sum(is_met for _, is_met in bars)
    print(f"\n{n_met} of {len(bars)} bars met; {time.monotonic() - begin:.0f} s")
    return 0 if n_met == len(bars) else 1


if __name__ == "__main__":
    sys.exit(main())
