// Who is blamed when a real program dies: with default options, on SQLite.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { proving } from "../../support/proof.js";
import { HURT, POISON, POISON_KINDS, READY } from "./poison.js";

let program: ChildProgram;
const folder = mkdtempSync(join(tmpdir(), "signalbox-poison-"));
beforeAll(async () => {
  // A small heap: it is full before the machine is.
  program = await childProgram(new URL("poison-child.ts", import.meta.url), ["--max-old-space-size=96"]);
});
afterAll(() => {
  program.remove();
  rmSync(folder, { recursive: true });
});

/** Who was in hospital, as far as a life told. */
function hurt(stdout: string): readonly string[] {
  const lines = stdout.split("\n").filter((line) => line.startsWith(HURT));
  return [...new Set(lines.flatMap((line) => JSON.parse(line.slice(HURT.length)) as string[]))];
}

/** A life that lasts until the program ends itself, or somebody is in hospital, or the time is up. */
async function life(kind: string, forMs: number, until?: string): Promise<readonly string[]> {
  const place = JSON.stringify({ type: "sqlite", path: join(folder, `${kind}.db`) });
  const child = program.start(place, kind);
  const patience = new AbortController();
  await Promise.race([
    child.ended,
    child
      .prints(READY)
      .then(() => pause(forMs, undefined, { signal: patience.signal }))
      .catch(() => undefined),
    ...(until === undefined ? [] : [child.prints(until).catch(() => child.ended)]),
  ]);
  patience.abort();
  child.signal("SIGKILL");
  return hurt((await child.ended).stdout);
}

const SEED = 7;
const MOST_LIVES = 9;
/** A supervisor kills a program that does not answer for so long. */
const PROBE_MS = 4_000;
const MOST_MS = 2_000;

describe("the flow that ended the program", () => {
  it.each(proving ? POISON_KINDS : (["uncaught"] as const))(
    "is in hospital after eight lives, and no other one is: %s [N201]",
    async (kind) => {
      let patients: readonly string[] = [];
      for (let lives = 1; lives <= MOST_LIVES && patients.length === 0; lives++)
        patients = await life(kind, PROBE_MS, HURT);
      expect(patients).toEqual([POISON]);
    },
  );
});

describe("flows of a program that is killed from outside", () => {
  it("are never in hospital, however often and at whatever moment [N202]", async () => {
    const random = new Random(SEED);
    const patients = new Set<string>();
    const kills = proving ? 50 : 3;
    for (let kill = 0; kill < kills; kill++)
      for (const id of await life("none", random.unit() * MOST_MS)) patients.add(id);
    expect([...patients]).toEqual([]);
  });
});
