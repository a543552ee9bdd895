// The flights. They are read from a JSON file, checked, and sorted by date before anything starts.

import { bundledFile, flightsText, recordsOf } from "../flights/data-file.js";
import { InputError } from "../flights/input-error.js";

/** One flight of the United States' domestic traffic. */
export interface Flight {
  /** Scheduled departure in milliseconds, as if all clocks showed UTC. */
  readonly at: number;
  /** Minutes late at its destination; negative when early. */
  readonly delay: number;
  /** Codes of airports. */
  readonly origin: string;
  readonly destination: string;
}

const DATE = /^(\d{4})\/(\d\d)\/(\d\d) (\d\d):(\d\d)$/;
const AIRPORT = /^[A-Z0-9]{3,4}$/;

/** @throws InputError */
export async function readFlights(given?: string): Promise<readonly Flight[]> {
  const file = given ?? bundledFile("flights-20k.json", "run npm ci, or give a --file");
  return parseFlights(file, await flightsText(file));
}

/**
 * Flights of the same minute stay in the order of the file.
 *
 * @throws InputError that names the first record that is no flight
 */
export function parseFlights(file: string, text: string): readonly Flight[] {
  return recordsOf(file, text)
    .map((record, index) => flightOf(record, `${file}: record ${index}`))
    .sort((one, other) => one.at - other.at);
}

function flightOf(record: unknown, where: string): Flight {
  if (typeof record !== "object" || record === null) throw new InputError(`${where} is no object`);
  const { date, delay, origin, destination } = record as Record<string, unknown>;
  const wrong = (field: string, value: unknown, expected: string): InputError => {
    const is = value === undefined ? "is missing" : `is ${String(JSON.stringify(value)).slice(0, 40)}`;
    return new InputError(`${where}: "${field}" ${is}, expected ${expected}`);
  };
  const code = (field: string, value: unknown): string => {
    if (typeof value === "string" && AIRPORT.test(value)) return value;
    throw wrong(field, value, "the code of an airport, such as SFO");
  };
  const at = timeOf(date);
  if (at === undefined) throw wrong("date", date, "a date such as 2001/01/31 23:59");
  if (typeof delay !== "number" || !Number.isFinite(delay)) throw wrong("delay", delay, "a finite number");
  return { at, delay, origin: code("origin", origin), destination: code("destination", destination) };
}

/** The file has no time zones. In local time, some places would miss an hour in spring. */
function timeOf(date: unknown): number | undefined {
  const match = typeof date === "string" ? DATE.exec(date) : null;
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = match.slice(1).map(Number);
  const at = Date.UTC(year, month - 1, day, hour, minute);
  return dateText(at) === date ? at : undefined; // no 30th of February
}

/** A time as the file writes it. */
export function dateText(at: number): string {
  return new Date(at).toISOString().slice(0, 16).replaceAll("-", "/").replace("T", " ");
}
