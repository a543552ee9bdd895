// The flights: read from a JSON file, and checked before anything starts.

import { bundledFile, flightsText, recordsOf } from "./data-file.js";
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
export async function readFlights(given?: string): Promise<readonly Flight[]> {
  const file = given ?? bundledFile("flights-200k.json", "run npm ci, or give a --file");
  return parseFlights(file, await flightsText(file));
}

/** @throws InputError that names the first record that is no flight */
export function parseFlights(file: string, text: string): readonly Flight[] {
  const records = recordsOf(file, text);
  for (const [index, record] of records.entries()) {
    if (typeof record !== "object" || record === null)
      throw new InputError(`${file}: record ${index} is no object with ${FIELDS.join(", ")}`);
    for (const field of FIELDS) {
      const value = (record as Record<string, unknown>)[field];
      if (Number.isFinite(value)) continue;
      const is = value === undefined ? "is missing" : `is ${String(JSON.stringify(value)).slice(0, 40)}`;
      throw new InputError(`${file}: "${field}" of record ${index} ${is}, expected a finite number`);
    }
  }
  return records as readonly Flight[];
}
