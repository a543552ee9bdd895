// The real ledgers against the oracle of their rule: whatever hosts and people do, and whatever happens to the process and its store.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { proving, sized } from "../../support/proof.js";
import { KINDS, type Kind } from "./bench.js";
import { commands, type Mix } from "./commands.js";
import { Drive } from "./drive.js";

/** The cost of a run differs: SQLite writes to a disk. PostgreSQL is part of the proofs alone. */
const RUNS: Readonly<Record<string, readonly [quick: number, share: number]>> = {
  volatile: [30, 1],
  memory: [16, 0.2],
  SQLite: [2, 0.03],
  ...(proving && { PGlite: [2, 0.01] }),
};

const kinds = (names: readonly string[] = Object.keys(RUNS)): Kind[] =>
  KINDS.filter(({ name }) => name in RUNS && names.includes(name));

/** What hosts do, and what happens to them. */
const WORK: Mix = { want: 6, settle: 8, check: 6, retry: 1, emit: 1, pass: 1, source: 2, dead: 1, crash: 2 };
const TROUBLE: Mix = { fail: 1, unknown: 1, unread: 1, hold: 1 };
/** What people do. Nothing of an execution that lives in memory alone can be changed by them. */
const PEOPLE: Mix = { cancel: 1, "give up": 1, move: 1, "put back": 2, drop: 1 };
const ALL = Object.keys(RUNS);
const STORED = ["memory", "SQLite", "PGlite"];

/** Drives ledgers of these kinds by such commands, many times, and checks that what matters has happened. */
async function driven(names: readonly string[], mix: Mix, seed: number, labels: readonly string[]) {
  const seen = new Map<string, number>();
  for (const kind of kinds(names)) await drivenOf(kind, mix, seed, seen);
  for (const label of labels) expect([label, seen.get(label) ?? 0]).not.toEqual([label, 0]);
}

async function drivenOf(
  { name, place }: Kind,
  mix: Mix,
  seed: number,
  seen: Map<string, number>,
): Promise<void> {
  const [quick, share] = RUNS[name] as readonly [number, number];
  await fc.assert(
    fc.asyncProperty(commands(mix), fc.constantFrom(1, 4, 400), async (all, batchMessages) => {
      const at = await place();
      try {
        const drive = new Drive(at.source, batchMessages, seen);
        await drive.begin();
        await fc.asyncModelRun(() => ({ model: drive.oracle, real: drive }), all);
        await drive.finish();
      } finally {
        await at.dispose();
      }
    }),
    { numRuns: sized(quick, share, quick), seed },
  );
}

describe("a ledger held against the oracle", () => {
  for (const { name } of kinds())
    it(`counts, settles, hands out and ends as the oracle does, over crashes and failing commits: ${name} [Y32]`, async () => {
      const mix = { ...WORK, ...TROUBLE, ...PEOPLE, close: 1, end: 1, want: 12, settle: 16 };
      await driven([name], mix, 32, []);
    });

  it("has as many pending as live messages and open sources, after every step and every crash [Y3]", async () => {
    const mix = { ...WORK, source: 4, close: 1, emit: 3, dead: 2, crash: 3, unknown: 1 };
    await driven(ALL, mix, 3, ["completed", "crash", "cut off"]);
  });

  it("is complete in the step that leaves no live message and no open source, and never before (bug 2) [Y4]", async () => {
    const mix = { ...WORK, want: 8, settle: 12, close: 6, dead: 2, hold: 1 };
    await driven(ALL, mix, 4, ["completed", "crash"]);
  });

  it("ends once, and takes no step of a host behind its end [Y5]", async () => {
    const mix = {
      ...WORK,
      want: 8,
      settle: 12,
      check: 2,
      close: 6,
      end: 1,
      cancel: 1,
      emit: 2,
      retry: 2,
      hold: 1,
    };
    await driven(ALL, mix, 5, ["completed", "cancelled", "behind the end"]);
  });

  it("goes on when a dead letter is put back, and completes once more, with exact counts; not when it was cancelled [Y446]", async () => {
    const mix = {
      want: 8,
      settle: 4,
      dead: 10,
      check: 6,
      close: 6,
      "put back": 8,
      drop: 1,
      end: 1,
      crash: 1,
    };
    await driven(STORED, mix, 446, ["put back", "reopened", "over"]);
  });

  it("lets no host settle a message that people have given up or moved [Y460]", async () => {
    const mix = { want: 8, settle: 4, check: 8, source: 3, "give up": 4, move: 4, retry: 1, crash: 1 };
    await driven(STORED, mix, 460, ["too late"]);
  });
});
