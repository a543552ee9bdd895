// The flights: read from a JSON file, and checked before anything starts.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { InputError } from "./input-error.js";

/** One flight of the United States' domestic traffic. */
export interface Flight {
  /** Minutes late at its destination; negative when early. */
  readonly delay: number;
  /** Miles. */
  readonly distance: number;
  /** Hour of departure, with decimals. */
  readonly time: number;
}

const FIELDS = ["delay", "distance", "time"] as const;

/** The hour of the day, 0 to 23, whatever number a file has for `time`. */
export function hourOf(time: number): number {
  return ((Math.floor(time) % 24) + 24) % 24;
}

/** @throws InputError */
export async function readFlights(file: string = bundledFile()): Promise<readonly Flight[]> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new InputError(`cannot read the flights: ${(error as Error).message}`);
  }
  return parseFlights(file, text);
}

/** @throws InputError that names the first record that is no flight */
export function parseFlights(file: string, text: string): readonly Flight[] {
  let records: unknown;
  try {
    records = JSON.parse(text);
  } catch (error) {
    throw new InputError(`${file} is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(records)) throw new InputError(`${file} is not an array of flights`);
  for (const [index, record] of records.entries()) {
    if (typeof record !== "object" || record === null)
      throw new InputError(`${file}: record ${index} is no object with ${FIELDS.join(", ")}`);
    for (const field of FIELDS) {
      const value: unknown = record[field];
      if (Number.isFinite(value)) continue;
      const is = value === undefined ? "is missing" : `is ${String(JSON.stringify(value)).slice(0, 40)}`;
      throw new InputError(`${file}: "${field}" of record ${index} ${is}, expected a finite number`);
    }
  }
  return records;
}

function bundledFile(): string {
  try {
    const entry = createRequire(import.meta.url).resolve("vega-datasets");
    return `${entry.slice(0, entry.lastIndexOf("build"))}data/flights-200k.json`;
  } catch {
    throw new InputError("vega-datasets is not installed: run npm ci, or give a --file");
  }
}
