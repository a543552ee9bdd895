// Who is blamed when a real program dies: with default options, on SQLite.

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { graded } from "../../support/proof.js";
import { HURT, POISON, POISON_KINDS, type PoisonKind } from "../poison/deeds.js";
import { lived, PROBE_MS } from "../poison/lives.js";
import { poisonProgram } from "../poison/program.js";
import { patientsIn } from "./patients.js";

const program = poisonProgram(new URL("poison-child.ts", import.meta.url));
const { folder } = program;

/** Who was in hospital in a life. */
async function life(kind: string, forMs: number, until?: string): Promise<readonly string[]> {
  const place = JSON.stringify({ type: "sqlite", path: join(folder, `${kind}.db`) });
  return patientsIn(await lived(program.start(place, kind), forMs, until));
}

const SEED = 7;
/** After eight lives it is there in the ninth one, at the latest. */
const MOST_LIVES = 9;
const MOST_MS = 2_000;
/** The proof of pipelines has the other kinds in its short size. */
const kinds = graded<readonly PoisonKind[]>({
  quick: ["uncaught"],
  short: ["uncaught", "stack"],
  full: POISON_KINDS,
});

describe("the flow that ended the program", () => {
  it.each(kinds)("is in hospital after eight lives, and no other one is: %s [N201]", async (kind) => {
    let patients: readonly string[] = [];
    for (let lives = 1; lives <= MOST_LIVES && patients.length === 0; lives++)
      patients = await life(kind, PROBE_MS, HURT);
    expect(patients).toEqual([POISON]);
  });
});

describe("flows of a program that is killed from outside", () => {
  it("are never in hospital, however often and at whatever moment [N202]", async () => {
    const random = new Random(SEED);
    const patients = new Set<string>();
    const kills = graded({ quick: 3, short: 12, full: 50 });
    for (let kill = 0; kill < kills; kill++)
      for (const id of await life("none", random.unit() * MOST_MS)) patients.add(id);
    expect([...patients]).toEqual([]);
  });
});
