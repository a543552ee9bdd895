// What a record is, and what is wrong with one. A record that cannot be used is a DeadLetterError: another attempt would not mend it.

import { type CsvRow, DeadLetterError } from "signalbox/pipeline";

/** A bird strike, as far as the report needs it. */
export interface Strike {
  /** The name of the airport, in the FAA's spelling. */
  readonly airport: string;
  readonly date: string;
  readonly phase: string;
  readonly damage: string;
  /** Dollars. */
  readonly cost: number;
  /** Knots. More than a quarter of the records have no speed: nobody wrote it down, and the strike counts all the same. */
  readonly speed: number | undefined;
}

/** A strike at an airport that the airports file has. */
export interface LocatedStrike extends Strike {
  readonly iata: string;
}

/** What strikes at one airport come to. */
export interface AirportTotals {
  readonly airport: string;
  readonly iata: string;
  readonly strikes: number;
  readonly damaging: number;
  readonly cost: number;
  /** Strikes with a speed, and the sum of their speeds. */
  readonly speeds: number;
  readonly knots: number;
}

/** What damage the FAA's form knows. The file has some other letters: slips of the pen. */
const DAMAGES: ReadonlySet<string> = new Set(["None", "Minor", "Medium", "Substantial"]);
const IN_THE_AIR: ReadonlySet<string> = new Set(["Climb", "Approach", "Descent"]);
/** Knots. No aeroplane of the file flies slower. */
const SLOWEST = 30;

/** Reads the fields. @throws DeadLetterError for a damaged line */
export function parseStrike(row: CsvRow): Strike {
  const speed = row["Speed IAS in knots"] ?? "";
  return {
    airport: row["Airport Name"] ?? "",
    date: dateOf(row["Flight Date"] ?? ""),
    phase: row["Phase of flight"] ?? "",
    damage: row["Effect Amount of damage"] ?? "",
    cost: numberOf("cost", row["Cost Total $"] ?? ""),
    speed: speed === "" ? undefined : numberOf("speed", speed),
  };
}

/** @throws DeadLetterError for a record that contradicts itself, or uses words that the form does not have */
export function validated(strike: Strike): Strike {
  const { damage, phase, speed } = strike;
  if (!DAMAGES.has(damage)) throw new DeadLetterError(`unknown damage: ${damage}`);
  if (speed !== undefined && speed < SLOWEST && IN_THE_AIR.has(phase))
    throw new DeadLetterError(`impossible speed: ${speed} knots at ${phase}`);
  return strike;
}

function numberOf(what: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new DeadLetterError(`damaged line: the ${what} is "${text}"`);
}

/** A day that the calendar has. */
function dateOf(text: string): string {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined;
  if (at !== undefined && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text)) return text;
  throw new DeadLetterError(`damaged line: the date is "${text}"`);
}
