// The input: records of bird strikes, and damaged lines among them.

import { mulberry32 } from "../flights/chaos.js";

/** A line of the file as bytes, without its line end. */
type Damage = (line: string) => Buffer<ArrayBuffer>;

const field = (line: string, at: number, value: string): Buffer<ArrayBuffer> =>
  Buffer.from(
    line
      .split(",")
      .map((old, i) => (i === at ? value : old))
      .join(","),
  );

/** What can befall a line. */
const DAMAGES: readonly Damage[] = [
  // It breaks off.
  (line) => Buffer.from(line.slice(0, 40)),
  // A quote never closes.
  (line) => Buffer.from(`"${line}`),
  // The bytes are no UTF-8.
  (line) => Buffer.concat([Buffer.from([0xc3, 0x28]), Buffer.from(line)]),
  // No calendar has this day.
  (line) => field(line, 3, "2001-02-30"),
  // A cost below zero.
  (line) => field(line, 12, "-5"),
  // A speed in words.
  (line) => field(line, 13, "fast"),
];

/** Damaged lines that the example adds. */
export const DAMAGED_LINES = 12;

/** The file with damaged copies of some of its lines, at places that follow from the seed. */
export function withDamage(text: string, limit: number, seed: number): Buffer {
  const [header = "", ...lines] = text.split(/\r?\n/).filter((line) => line !== "");
  const out = lines.slice(0, limit).map((line) => Buffer.from(line));
  const random = mulberry32(seed);
  for (let i = 0; i < DAMAGED_LINES; i++) {
    const line = lines[Math.floor(random() * Math.min(limit, lines.length))] as string;
    const damage = DAMAGES[i % DAMAGES.length] as Damage;
    out.splice(Math.floor(random() * (out.length + 1)), 0, damage(line));
  }
  return Buffer.concat([Buffer.from(header), ...out].flatMap((line) => [line, Buffer.from("\n")]));
}
