// What the report has to hold: one loop over the lines of the original file. It knows nothing of the pipeline and its steps.

import type { Left } from "./report.js";
import type { AirportTotals } from "./strike.js";

export type Totals = Omit<AirportTotals, "iata">;

/** The answer without a pipeline. */
export interface Straight {
  readonly records: number;
  readonly reported: number;
  readonly airports: ReadonlyMap<string, Totals>;
  /** Records that cannot be used, by reason. */
  readonly dead: ReadonlyMap<string, number>;
}

/** The one airport that the airports file does not have: an air force base. */
const MISSING = "BARKSDALE AIR FORCE BASE ARPT";

/** @param text - birdstrikes.csv: no field of it is quoted */
export function straightTotals(text: string, limit: number): Straight {
  const airports = new Map<string, Totals>();
  const dead = new Map<string, number>();
  let records = 0;
  let reported = 0;
  for (const line of text.split(/\r?\n/).slice(1)) {
    if (line === "" || records === limit) break;
    records++;
    const fields = line.split(",");
    const why = reasonAgainst(fields);
    if (why !== undefined) {
      dead.set(why, (dead.get(why) ?? 0) + 1);
      continue;
    }
    reported++;
    const airport = fields[0] as string;
    const old = airports.get(airport) ?? NOTHING;
    const speed = fields[13] as string;
    airports.set(airport, {
      airport,
      strikes: old.strikes + 1,
      damaging: old.damaging + (fields[2] === "None" ? 0 : 1),
      cost: old.cost + Number(fields[12]),
      speeds: old.speeds + (speed === "" ? 0 : 1),
      knots: old.knots + Number(speed),
    });
  }
  return { records, reported, airports, dead };
}

const NOTHING: Totals = { airport: "", strikes: 0, damaging: 0, cost: 0, speeds: 0, knots: 0 };

function reasonAgainst(fields: readonly string[]): string | undefined {
  const [airport, , damage = "", , , , phase = ""] = fields;
  if (damage.length === 1) return "unknown damage";
  if (/^\d$|^[12]\d$/.test(fields[13] ?? "") && /^(Climb|Approach|Descent)/.test(phase))
    return "impossible speed";
  return airport === MISSING ? "unknown airport" : undefined;
}

/** How what is left differs from what has to be. Empty: nothing differs. */
export function differences(straight: Straight, damaged: number, left: Left): string[] {
  const wrong: string[] = [];
  const check = (what: string, is: unknown, has: unknown): void => {
    if (is !== has) wrong.push(`${what}: ${String(is)}, and has to be ${String(has)}`);
  };
  check("the execution is", left.status, "completed");
  check("inputs", left.inputs, straight.records + damaged);
  const dead = new Map(straight.dead);
  if (damaged > 0) dead.set("damaged line", damaged);
  for (const reason of new Set([...dead.keys(), ...left.dead.keys()]))
    check(`dead letters, ${reason}`, left.dead.get(reason) ?? 0, dead.get(reason) ?? 0);
  const found = new Map(left.airports.map((totals) => [totals.airport, totals]));
  // Two rows for one airport would be two codes for one name.
  check("airports", left.airports.length, straight.airports.size);
  for (const [airport, wanted] of straight.airports)
    for (const column of ["strikes", "damaging", "cost", "speeds", "knots"] as const)
      check(`${column} at ${airport}`, Number(found.get(airport)?.[column] ?? 0), wanted[column]);
  return wrong;
}
