// Charts and their text alternatives from the files that `npm run bench -- --json FILE` writes.

import { PEERS, type Peer } from "../bench/catalogue.js";
import { format, type Row } from "../bench/result.js";
import type { Bar, Chart, Group } from "./chart.js";

/** A file in docs/performance. */
export interface Measurement {
  /** What made the file. */
  readonly command: string;
  /** On what kind of day: what else the machine did. */
  readonly load: string;
  readonly machine: { readonly node: string; readonly cpu: string; readonly otp: string | null };
  readonly programs: readonly Row[];
}

type Other = "otp" | Peer;

const nameOf = (other: Other): string => (other === "otp" ? "OTP" : PEERS[other]);

/** Twice three digits are more than a reader compares: `8.8`, `33`. */
const times = (ratio: number): string => ratio.toFixed(ratio >= 9.95 ? 0 : ratio < 1 ? 2 : 1);

const isRate = ({ unit }: Row): boolean => unit === "perSecond";

/** A program beside everybody in `others` who did it; undefined when nobody did. */
function groupOf(row: Row, others: readonly Other[]): Group | undefined {
  const there = others.filter((other) => row[other] !== null);
  if (there.length === 0) return undefined;
  const bars: Bar[] = [
    { name: "signalbox", value: row.ours, shown: format(row.ours, row.unit) },
    ...there.map((other) => ({
      name: nameOf(other),
      value: row[other] as number,
      shown: format(row[other] as number, row.unit),
    })),
  ];
  const ratios = there.map((other) => `${times(row.ratios[other] as number)} × ${nameOf(other)}`);
  const unit = isRate(row) ? "" : " (less is better)";
  return { name: `${row.name}${unit}`, verdict: ratios.join(", "), bars };
}

/** The programs of a measurement that one of `others` did, too. @param only - their names; all without it */
export function chartOf(
  title: string,
  { programs }: Measurement,
  others: readonly Other[],
  only?: readonly string[],
): Chart {
  const rows = only?.map((name) => programs.find((row) => row.name === name)) ?? programs;
  const groups = rows.flatMap((row) => (row === undefined ? [] : (groupOf(row, others) ?? [])));
  return { title, description: describe(groups), groups };
}

/** What the picture shows, for those who do not see it. */
function describe(groups: readonly Group[]): string {
  return groups
    .map(
      ({ name, verdict, bars }) =>
        `${name}: ${bars.map((bar) => `${bar.name} ${bar.shown}`).join(", ")}; signalbox makes ${verdict}.`,
    )
    .join(" ");
}

/** The figures of a chart as a table of Markdown. */
export function tableOf({ groups }: Chart): string {
  const rows = groups.map(({ name, verdict, bars: [ours, ...others] }) => {
    const beside = others.map((bar) => `${bar.name} ${bar.shown}`).join(", ");
    return `| ${name} | ${ours?.shown} | ${beside} | ${verdict} |`;
  });
  return ["| program | signalbox | beside | signalbox makes |", "|---|---:|---|---|", ...rows].join("\n");
}
