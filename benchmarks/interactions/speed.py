"""All pairs of SNPs: `interactions` and PLINK's `--fast-epistasis boost` on the same file.

    python benchmarks/interactions/speed.py [--snps 1000 2000 4000] [--people 5000] [--threads 2]
        [--out FILE]

Each size is written as a PLINK .bed file (genotypes by Hardy–Weinberg from allele frequencies of
0.05 to 0.5, including one pair with an exclusive-or effect; half of the people are cases).
fsframe's time is from the table in memory to the Selection, including coding, bit rows and
simulation; PLINK's is its whole run on that file, including reading one bit row per genotype. It is
left out if neither `plink1.9` nor `plink` is on the PATH. `screen` is fsframe's time for pairs
alone. Elapsed and processor seconds are given; the programs run one after the other, twice, and the
smaller time counts. `same` is how many of PLINK's ten best pairs by chi-squared are among fsframe's
ten best by G² at equal degrees of freedom. PLINK reports pairs with p ≤ 5e-6; fsframe the 20,000
best. Peak memory is that of the process that only runs fsframe, in MiB, including the table as
bytes.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import fsframe
from fsframe.method.run import Run
from fsframe.table.dataset import Dataset


class Genotypes:
    """Bytes in memory, read by columns."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.shape, self.dtype = values, values.shape[::-1], values.dtype

    def read(self, start: int, stop: int) -> np.ndarray:
        return self.values[start:stop].T


def genotypes(snps: int, people: int) -> tuple[np.ndarray, np.ndarray]:
    """(snps, people) counts of the minor allele, and cases as 1."""
    rng = np.random.default_rng(snps)
    y = np.repeat([0, 1], [people - people // 2, people // 2])
    values = np.empty((snps, people), np.uint8)
    for j, share in enumerate(rng.uniform(0.05, 0.5, snps)):
        values[j] = rng.binomial(2, share, people)
    # A few pairs that interact, weakly to strongly, without main effects to speak of.
    for pair, strength in enumerate(np.linspace(0.15, 0.4, 12)):
        a, b = 7 * pair, 7 * pair + 3
        values[a], values[b] = rng.binomial(2, 0.4, (2, people))
        flip = rng.random(people) < strength
        wanted = (y == 1) ^ (values[a] > 0)
        values[b] = np.where(flip & (wanted != (values[b] > 0)), (values[b] == 0) * 1, values[b])
    return values, y


def write_bed(values: np.ndarray, y: np.ndarray, stem: Path) -> None:
    """PLINK's binary format: two bits per genotype, four people per byte."""
    people = values.shape[1]
    code = np.array([0b11, 0b10, 0b00], np.uint8)  # 0, 1, 2 copies of the first allele.
    with stem.with_suffix(".bed").open("wb") as out:
        out.write(b"\x6c\x1b\x01")
        for row in values:
            bits = np.zeros(-(-people // 4) * 4, np.uint8)
            bits[:people] = code[row]
            four = bits.reshape(-1, 4)
            packed = four[:, 0] | four[:, 1] << 2 | four[:, 2] << 4 | four[:, 3] << 6
            out.write(packed.tobytes())
    with stem.with_suffix(".bim").open("w") as out:
        out.writelines(f"1\ts{j}\t0\t{j + 1}\tA\tC\n" for j in range(len(values)))
    with stem.with_suffix(".fam").open("w") as out:
        out.writelines(f"p{i} p{i} 0 0 1 {1 + label}\n" for i, label in enumerate(y))


def processor_seconds(of: int) -> float:
    used = resource.getrusage(of)
    return used.ru_utime + used.ru_stime


def fsframe_once(values: np.ndarray, y: np.ndarray, threads: int) -> dict[str, object]:
    from fsframe_interactions.engine.bit_rows import bit_rows_of
    from fsframe_interactions.engine.screen import best_pairs

    data = Dataset.from_arrays(Genotypes(values), y)
    method = fsframe.selectors["interactions"]()
    run = Run(threads=threads)
    began, used = time.perf_counter(), processor_seconds(resource.RUSAGE_SELF)
    found = method.select(data, run=run)
    seconds = time.perf_counter() - began
    used = processor_seconds(resource.RUSAGE_SELF) - used
    planes, _ = bit_rows_of(data, 3, 5, 1 << 31)
    tested = int(found.tables["n_tested"][0])
    began, screen_used = time.perf_counter(), processor_seconds(resource.RUSAGE_SELF)
    best_pairs(planes, method.keep, min(1.0, method.keep / tested), run)
    screen = time.perf_counter() - began
    # By G² at four degrees of freedom, which is what PLINK reports.
    order = np.argsort(-found.tables["g2"], kind="stable")
    full = order[found.tables["freedom"][order] == 4][:10]
    return {
        "seconds": seconds,
        "processor": used,
        "screen": screen,
        "screen_processor": processor_seconds(resource.RUSAGE_SELF) - screen_used,
        "best": [[int(a), int(b)] for a, b in found.tables["pairs"][full]],
        "g2": found.tables["g2"][full].tolist(),
    }


def plink_once(program: str, stem: Path, threads: int) -> dict[str, object]:
    began, used = time.perf_counter(), processor_seconds(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [program, "--bfile", str(stem), "--fast-epistasis", "boost", "--epi1", "5e-6", "--threads",
         str(threads), "--allow-no-sex", "--out", str(stem)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    used = processor_seconds(resource.RUSAGE_CHILDREN) - used
    lines = stem.with_suffix(".epi.cc").read_text().split("\n")
    header = lines[0].split()
    place, df = header.index("STAT"), header.index("DF") if "DF" in header else None
    rows = [line.split() for line in lines[1:] if line.strip()]
    if df is not None:
        rows = [row for row in rows if row[df] == "4"]
    rows.sort(key=lambda row: -float(row[place]))
    names = header.index("SNP1"), header.index("SNP2")
    return {
        "seconds": seconds,
        "processor": used,
        "best": [sorted(int(row[at][1:]) for at in names) for row in rows[:10]],
        "stat": [float(row[place]) for row in rows[:10]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--snps", type=int, nargs="+", default=[1000, 2000, 4000])
    parser.add_argument("--people", type=int, default=5000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--no-plink", action="store_true")
    parser.add_argument("--out")
    options = parser.parse_args()
    program = None if options.no_plink else shutil.which("plink1.9") or shutil.which("plink")
    fsframe_once(*genotypes(100, 300), options.threads)  # Kernels are compiled, or loaded.
    report = []
    for snps in options.snps:
        values, y = genotypes(snps, options.people)
        pairs = snps * (snps - 1) // 2
        ours: list[dict[str, object]] = []
        theirs: list[dict[str, object]] = []
        with tempfile.TemporaryDirectory() as folder:
            stem = Path(folder) / "table"
            if program:
                write_bed(values, y, stem)
            for _ in range(options.repeats):
                ours.append(fsframe_once(values, y, options.threads))
                if program:
                    theirs.append(plink_once(program, stem, options.threads))
        least = {
            key: min(float(one[key]) for one in ours)  # type: ignore[arg-type]
            for key in ("seconds", "processor", "screen", "screen_processor")
        }
        row: dict[str, object] = {
            "snps": snps,
            "people": options.people,
            "pairs": pairs,
            **{f"fsframe_{key}": round(value, 2) for key, value in least.items()},
            "pairs_per_second": round(pairs / least["seconds"]),
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        if theirs:
            row["plink_seconds"] = round(min(float(one["seconds"]) for one in theirs), 2)  # type: ignore[arg-type]
            row["plink_processor"] = round(min(float(one["processor"]) for one in theirs), 2)  # type: ignore[arg-type]
            mine, other = ours[0]["best"], theirs[0]["best"]
            row["same"] = sum(pair in mine for pair in other)  # type: ignore[operator,attr-defined]
            row["largest_difference"] = max(
                abs(a - b)
                for a, b in zip(ours[0]["g2"], theirs[0]["stat"], strict=False)  # type: ignore[call-overload]
            )
        print(json.dumps(row), file=sys.stderr, flush=True)
        report.append(row)
    if options.out:
        Path(options.out).write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
