// Whose code ends the program: who has a name in a calm life, and who in the life after it.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { UNNAMED_LIVES } from "../../../lib/host/evidence/evidence-machine.js";
import { evidenceIn } from "../../../lib/host/evidence/evidence-place.js";
import { readNote } from "../../../lib/host/evidence/witness.js";
import { type EvidenceFolder, openEvidence, type Subject } from "../../../lib/host/index.js";
import { System } from "../../../lib/index.js";
import { childProgram } from "../../support/child-program.js";
import { EvidenceBox } from "../../support/evidence-box.js";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A life of a program: its subjects, and an end of the program at the point that `code` chooses. */
function life(place: EvidenceBox) {
  const before = new Set<unknown>(process.listeners("exit"));
  let folder: EvidenceFolder | undefined;
  const opening = { open: () => (folder = place.open()) };
  const [now, after, opened] = [() => 0, () => () => undefined, () => undefined];
  const evidence = openEvidence({ place: opening, who: "flows", now, after, opened });
  const [exit] = process.listeners("exit").filter((one) => !before.has(one));
  closing.push(() => evidence.close());
  return {
    evidence,
    /** What Node does in the last moments of the program. */
    exit: () => exit?.(1),
    end: () => {
      place.end();
      evidence.close();
    },
    /** Whose code runs, as the next life would read it. */
    noted: () => readNote(folder?.read("now")),
    isCarrying: () => (JSON.parse(folder?.read("lives") ?? "{}") as { isCarrying?: boolean }).isCarrying,
  };
}

/** Runs code of a subject in a process of its own, until the code has called `exit`. */
async function run(subject: Subject, code: (exit: () => void) => unknown, exit: () => void): Promise<void> {
  const system = new System({ report: false });
  closing.push(() => system.stop());
  await new Promise<void>((done) => {
    const exiting = (): void => {
      exit();
      done();
    };
    system.spawn(async (ctx) => {
      subject.own(ctx.self);
      await subject.run(() => code(exiting));
    });
  });
}

const named = (kind: string) => expect.objectContaining({ subject: "flow:a", kind });

/** Ways to come to the end of the program. */
const WAYS: readonly (readonly [string, (exit: () => void) => unknown])[] = [
  ["at once", (exit) => exit()],
  [
    "after an await of its own promise",
    async (exit) => {
      await Promise.resolve();
      exit();
    },
  ],
  [
    "after an await of the host",
    async (exit) => {
      await turn();
      await turn();
      exit();
    },
  ],
  ["in a continuation that it left behind", (exit) => void turn().then(exit)],
];

describe("code that ends the program in a calm life", () => {
  it.each(WAYS)("is named: %s [J380]", async (_, code) => {
    const place = new EvidenceBox();
    const first = life(place);
    await run(first.evidence.begin("flow:a"), code, first.exit);
    first.end();
    expect(life(place).evidence.markOf("flow:a")).toEqual(named("exit"));
  });

  it("is not named in a timer, and is in the next life [J381]", async () => {
    const place = new EvidenceBox();
    const inTimer = (exit: () => void): void => void setImmediate(exit);
    const first = life(place);
    await run(first.evidence.begin("flow:a"), inTimer, first.exit);
    first.end();
    const second = life(place);
    expect(second.evidence.markOf("flow:a")).toBeUndefined();
    await run(second.evidence.begin("flow:a"), inTimer, second.exit);
    second.end();
    expect(life(place).evidence.markOf("flow:a")).toEqual(named("exit"));
  });

  it("is not named by a process that runs code of several subjects [J382]", async () => {
    const place = new EvidenceBox();
    const { evidence, exit, end } = life(place);
    const [a, b] = [evidence.begin("flow:a"), evidence.begin("flow:b")];
    const system = new System({ report: false });
    closing.push(() => system.stop());
    await new Promise<void>((done) => {
      system.spawn(async () => {
        a.run(() => void turn().then(exit).then(done));
        await b.run(() => turn().then(() => turn()));
      });
    });
    end();
    const { evidence: next } = life(place);
    expect([next.markOf("flow:a"), next.markOf("flow:b")]).toEqual([undefined, undefined]);
  });

  it("is not accused once it has ended [J382]", async () => {
    const place = new EvidenceBox();
    const { evidence, exit, end } = life(place);
    const subject = evidence.begin("flow:a");
    await run(
      subject,
      async (exiting) => {
        await turn();
        subject.end();
        exiting();
      },
      exit,
    );
    end();
    expect(life(place).evidence.markOf("flow:a")).toBeUndefined();
  });
});

describe("a program that ends itself by code of no subject", () => {
  it("carries names in its next life only [J381]", () => {
    const place = new EvidenceBox();
    const carrying: unknown[] = [];
    for (let lives = 0; lives < 4; lives++) {
      const { exit, end, isCarrying } = life(place);
      carrying.push(isCarrying());
      exit();
      end();
    }
    expect(carrying).toEqual([false, true, false, true]);
  });
});

/** Looks at what a real program writes. */
const MOST_LOOKS = 200_000;

/** A folder of evidence whose next life is watched. */
function watchedIn(more: { readonly isCarrying: boolean }): string {
  const path = mkdtempSync(join(tmpdir(), "signalbox-witness-"));
  closing.push(() => rmSync(path, { recursive: true }));
  mkdirSync(join(path, "flows-0"));
  const lives = { life: 2, marks: [], isWatched: true, ...more };
  writeFileSync(join(path, "flows-0", "lives"), JSON.stringify(lives));
  return path;
}

describe("the note of a watched life", () => {
  /** Whose code ran at a point of the code of one of two subjects that share a process. */
  async function notedIn(place: EvidenceBox, code: (here: () => void) => unknown): Promise<unknown> {
    const { evidence, noted, end } = life(place);
    const [a, b] = [evidence.begin("message:a"), evidence.begin("message:b")];
    const system = new System({ report: false });
    closing.push(() => system.stop());
    let found: unknown;
    await new Promise<void>((done) => {
      system.spawn(async () => {
        const other = b.run(async () => {
          for (let turns = 0; turns < 5; turns++) await turn();
        });
        const here = (): void => {
          found = noted();
          done();
        };
        await a.run(() => code(here));
        await other;
      });
    });
    end();
    return found;
  }

  const killed = (): EvidenceBox => {
    const place = new EvidenceBox();
    life(place).end();
    return place;
  };

  it.each(WAYS)("names who runs, among several subjects of a process: %s [J620]", async (_, code) => {
    expect(await notedIn(killed(), code)).toBe("message:a");
  });

  it("names no subject while code of the library runs [J620]", async () => {
    const place = killed();
    const { evidence, noted } = life(place);
    const subject = evidence.begin("message:a");
    const seen: unknown[] = [];
    await subject.run(async () => {
      seen.push(noted());
    });
    seen.push(noted());
    expect(seen).toEqual(["message:a", undefined]);
  });

  it.each([false, true])(
    "says at once in its file that no code runs any more, before the library writes its commit, carried: %s [J620]",
    async (isCarrying) => {
      const files = evidenceIn(watchedIn({ isCarrying }));
      let folder: EvidenceFolder | undefined;
      const open = (): EvidenceFolder | undefined => (folder = files?.open("flows"));
      const [now, after, opened] = [() => 0, () => () => undefined, () => undefined];
      const evidence = openEvidence({ place: { open }, who: "flows", now, after, opened });
      closing.push(() => evidence.close());
      const noted = (): unknown => readNote(folder?.read("now"));
      const seen: unknown[] = [];
      await new Promise<void>((done) => {
        const system = new System({ report: false });
        closing.push(() => system.stop());
        system.spawn(async () => {
          const code = evidence.begin("message:a").run(async () => {
            seen.push(noted());
            await Promise.resolve();
            seen.push(noted());
          });
          seen.push(noted());
          // What follows the code of the subject in the same turn of the host's loop, as a commit does.
          await code;
          seen.push(noted());
          done();
        });
      });
      expect(seen).toEqual(["message:a", undefined, "message:a", undefined]);
    },
  );

  it.each([false, true])(
    "has no subject while the program is idle, carried: %s [J620]",
    async (isCarrying) => {
      const path = watchedIn({ isCarrying });
      const program = await childProgram(new URL("idle-child.ts", import.meta.url));
      closing.push(() => program.remove());
      const child = program.start(path);
      await child.prints("READY");
      const noted = (): string => readFileSync(join(path, "flows-0", "now"), "utf8");
      const isIdle = (): boolean => noted() === "0000message:a";
      // A look of this test does not turn the loop of the program. One look may read the head of one note and the rest of the next.
      for (let looks = 0; looks < MOST_LOOKS && !(isIdle() && isIdle()); looks++) await turn();
      expect(noted()).toBe("0000message:a");
    },
  );

  it("names timers once two lives in a row have ended without a name [J621]", async () => {
    const place = killed();
    const found: unknown[] = [];
    for (let lives = 0; lives <= UNNAMED_LIVES + 1; lives++)
      found.push(await notedIn(place, (here) => void setImmediate(here)));
    // Once names are needed, they are carried on.
    expect(found).toEqual([undefined, undefined, "message:a", "message:a"]);
  });
});
