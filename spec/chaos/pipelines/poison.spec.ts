// Which message is blamed when a real program dies: with default options, on SQLite, and with adapters that fail at first.

import { join } from "node:path";
import { System } from "signalbox";
import { openStore, sqlite } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { Random } from "../../../lib/testing/kit/random.js";
import { graded } from "../../support/proof.js";
import { GOOD, POISON_KINDS, type PoisonKind, READY } from "../poison/deeds.js";
import { lived, PROBE_MS } from "../poison/lives.js";
import { poisonProgram } from "../poison/program.js";
import { type Left, left } from "./left.js";

const program = poisonProgram(new URL("poison-child.ts", import.meta.url));
const { folder } = program;

const fileOf = (kind: string): string => join(folder, `${kind}.db`);

/** A life that lasts until the program ends, or the time is up. Gives what it printed. */
function life(kind: string, forMs: number): Promise<string> {
  const place = JSON.stringify({ type: "sqlite", path: fileOf(kind) });
  return lived(program.start(place, kind), forMs);
}

/** What is in the store between two lives. */
async function leftBy(kind: string): Promise<Left> {
  await using system = new System({ report: false });
  const store = await openStore(system, sqlite(fileOf(kind)), [PIPELINE_SCHEMA]);
  try {
    return await left(store);
  } finally {
    await store.close();
  }
}

const SEED = 7;
/** After eight lives it is there in the ninth one, at the latest. */
const MOST_LIVES = 9;
/** A kill comes at this time at the latest. */
const MOST_KILL_MS = 300;
/** A last life that has not ended by itself after this time hangs. */
const HANG_MS = 240_000;
/** The proof of flows has the other kinds in its short size. */
const kinds = graded<readonly PoisonKind[]>({
  quick: ["uncaught"],
  short: ["exit", "spin", "abort", "memory"],
  full: POISON_KINDS,
});

describe("the message that ended the program", () => {
  it.each(kinds)(
    "is in quarantine after eight lives at most, no other one is, and all others are done: %s [Y223]",
    async (kind) => {
      let now = await livedOnce(kind);
      for (let lives = 2; lives <= MOST_LIVES && now.quarantined.length === 0; lives++)
        now = await livedOnce(kind);
      expect(now.quarantined).toEqual([JSON.stringify(kind)]);
      for (let more = 0; more < MOST_LIVES && now.live > 1; more++) now = await livedOnce(kind);
      expect(now).toMatchObject({ live: 1, dead: [], execution: { done: GOOD, dead: 0 } });
    },
  );

  async function livedOnce(kind: string) {
    await life(kind, PROBE_MS);
    return leftBy(kind);
  }
});

describe("messages of a program that is killed from outside", () => {
  it("are never blamed, however often and at whatever moment, and none is a dead letter [Y224]", async () => {
    const random = new Random(SEED);
    const kills = graded({ quick: 3, short: 12, full: 50 });
    for (let kill = 0; kill < kills; kill++) {
      await life("none", random.unit() * MOST_KILL_MS);
      expect(await leftBy("none")).toMatchObject({ quarantined: [], dead: [] });
    }
    const printed = await life("none", HANG_MS);
    const { execution, ...others } = await leftBy("none");
    const { status, done } = execution ?? {};
    const all = {
      status: "completed",
      done: GOOD,
      live: 0,
      quarantined: [],
      dead: [],
      printed: `${READY}\n`,
    };
    expect({ status, done, ...others, printed }).toEqual(all);
  });
});
