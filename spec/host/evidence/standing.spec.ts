// Lives that end without a word, counted over the hosts of one store.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { System } from "signalbox";
import { memory, openStore, type Store } from "signalbox/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  decide,
  type EvidenceEvent,
  type EvidenceState,
  initial,
  nextAge,
  SHORT_LIFE_MS,
  STANDING_LIVES,
  WATCH_MS,
} from "../../../lib/host/evidence/evidence-machine.js";
import {
  chargeOf,
  ended,
  fresh,
  isUnnamed,
  STALE_MS,
  type StandingEnds,
} from "../../../lib/host/evidence/standing.js";
import { STANDING_SCHEMA, standingEnds } from "../../../lib/host/evidence/standing-rows.js";
import { type Evidence, evidencePlaceOf, openEvidence } from "../../../lib/host/index.js";

const HOSTS = ["a", "b", "c"] as const;
/** A note of who runs: the length of the subject, then the subject. */
const NOBODY_RAN = "0000";
const NOTE_HEAD = "0006";
const SUBJECTS = ["flow:1", "flow:2", "flow:3"] as const;

/** The rows of a store after what happened in it. */
class Rows {
  readonly of = new Map<string, StandingEnds>();

  ends(host: string, subject: string | undefined, at = 0): void {
    this.of.set(host, ended(this.of.get(host), host, subject, at));
  }

  progress(subject: string): void {
    for (const [host, row] of this.of) if (row.subject === subject) this.of.delete(host);
  }

  /** How many ends are charged to the subject now. */
  charge(subject: string): number {
    const ends = chargeOf([...this.of.values()], subject, 1)?.ends ?? 0;
    if (ends > 0)
      for (const [host, row] of this.of)
        if (row.subject === subject) this.of.set(host, { ...row, charged: row.times });
    return ends;
  }
}

describe("ends at one subject", () => {
  it("are evidence from the third on, whichever hosts they end, and each end is charged once [J540]", () => {
    const property = fc.property(
      fc.array(fc.tuple(fc.constantFrom(...HOSTS), fc.boolean()), { minLength: 1, maxLength: 20 }),
      (deaths) => {
        const rows = new Rows();
        let charged = 0;
        for (const [index, [host, isTaken]] of deaths.entries()) {
          rows.ends(host, SUBJECTS[0]);
          // Not each end is seen before the next: the host that takes the subject next may be faster.
          if (!isTaken && index < deaths.length - 1) continue;
          charged += rows.charge(SUBJECTS[0]);
          expect(charged).toBe(Math.max(0, index + 1 - (STANDING_LIVES - 1)));
          expect(rows.charge(SUBJECTS[0])).toBe(0);
        }
      },
    );
    fc.assert(property);
  });

  it("count only in a row for each host: an end at another subject and progress on any host make it start anew [J541]", () => {
    const end = fc.record({ host: fc.constantFrom(...HOSTS), at: fc.option(fc.constantFrom(...SUBJECTS)) });
    const progress = fc.record({ by: fc.constantFrom(...SUBJECTS) });
    const property = fc.property(fc.array(fc.oneof(end, end, end, progress), { maxLength: 40 }), (past) => {
      const rows = new Rows();
      for (const one of past)
        if ("by" in one) rows.progress(one.by);
        else rows.ends(one.host, one.at ?? undefined);
      for (const subject of SUBJECTS) {
        const since = past.findLastIndex((one) => "by" in one && one.by === subject) + 1;
        const ofHost = (host: string): number => {
          const named = past
            .slice(since)
            .flatMap((one) => ("by" in one || one.host !== host ? [] : [one.at]));
          const known = named.filter((at) => at !== null).reverse();
          const other = known.findIndex((at) => at !== subject);
          return other < 0 ? known.length : other;
        };
        const times = HOSTS.reduce((sum, host) => sum + ofHost(host), 0);
        expect(chargeOf([...rows.of.values()], subject, 1) !== undefined).toBe(times >= STANDING_LIVES);
      }
    });
    fc.assert(property);
  });

  it("are over when the host has not come back for an hour", () => {
    const row = ended(undefined, "a", SUBJECTS[0], 0);
    expect(fresh([row], STALE_MS - 1)).toEqual([row]);
    expect(fresh([row], STALE_MS)).toEqual([]);
  });
});

describe("the life of a host that hears of an end without a word", () => {
  it("is watched from then on for five minutes [J542]", () => {
    const property = fc.property(fc.nat(2 * WATCH_MS), (ms) => {
      let watched: boolean[] = [];
      let state: EvidenceState = initial();
      const told = (event: EvidenceEvent): void => {
        const [next, effects] = decide(state, event);
        state = next;
        for (const effect of effects) if (effect.type === "watch") watched = [...watched, effect.on];
      };
      told({ type: "started", end: undefined });
      if (ms > 0) told({ type: "aged", ms, at: 0 });
      told({ type: "alarmed", ms });
      told({ type: "alarmed", ms: ms + 1 });
      expect({ watched, isWatched: state.isWatched }).toEqual({ watched: [true], isWatched: true });
      let last = 0;
      for (let next = nextAge(state); next !== undefined; next = nextAge(state)) {
        last = next;
        told({ type: "aged", ms: next, at: 0 });
      }
      expect({ watched, last }).toEqual({ watched: [true, false], last: ms + WATCH_MS });
    });
    fc.assert(property);
  });
});

describe("a host that was notified of the end of another one", () => {
  it("counts its own end for a minute from then on, however long it has lived [J624]", () => {
    const property = fc.property(fc.nat(3 * WATCH_MS), fc.nat(2 * SHORT_LIFE_MS), (livedMs, thenMs) => {
      let state: EvidenceState = initial();
      const told = (event: EvidenceEvent): void => {
        [state] = decide(state, event);
      };
      const agedTo = (ms: number): void => {
        for (let next = nextAge(state); next !== undefined && next <= ms; next = nextAge(state))
          told({ type: "aged", ms: next, at: 0 });
      };
      told({ type: "started", end: undefined });
      agedTo(livedMs);
      told({ type: "alarmed", ms: livedMs });
      agedTo(livedMs + thenMs);
      told({ type: "started", end: { type: "unknown", standing: SUBJECTS[0], at: 0 }, isCounted: true });
      const isCounted = thenMs < SHORT_LIFE_MS;
      expect(state.stood).toEqual(isCounted ? { subject: SUBJECTS[0], times: 1 } : undefined);
    });
    fc.assert(property, {
      examples: [
        [WATCH_MS, SHORT_LIFE_MS - 1],
        [WATCH_MS, SHORT_LIFE_MS],
      ],
    });
  });
});

describe("a host that is notified of ends without a name", () => {
  it("carries names further once there were two, until it is watched no more [J622]", () => {
    const told = (state: EvidenceState, event: EvidenceEvent): EvidenceState => decide(state, event)[0];
    const first = told(initial(), { type: "started", end: undefined });
    const rows = new Rows();
    const seen = HOSTS.map((host) => {
      rows.ends(host, undefined);
      return told(first, { type: "alarmed", ms: 0, isUnnamed: isUnnamed([...rows.of.values()]) }).isCarrying;
    });
    expect(seen).toEqual([false, true, true]);
    const alarmed = told(first, { type: "alarmed", ms: 0, isUnnamed: true });
    const aged = told(told(alarmed, { type: "aged", ms: SHORT_LIFE_MS, at: 0 }), {
      ...{ type: "aged", ms: WATCH_MS, at: 0 },
    });
    expect([aged.isWatched, aged.isCarrying]).toEqual([false, false]);
  });
});

describe("hosts of a store", () => {
  let folder: string;
  let store: Store;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-standing-"));
    store = await openStore(new System({ report: false }), memory(), [STANDING_SCHEMA]);
  });
  afterEach(async () => {
    for (const one of running.splice(0)) one.close();
    await store.close();
    rmSync(folder, { recursive: true });
  });

  const running: Evidence[] = [];
  const timers: (() => void)[] = [];

  /** A host whose last life was watched, and ended without a word: while code of this subject ran, if one is given. */
  async function died(host: string, subject?: string, isFirst = false): Promise<Evidence> {
    const slot = join(folder, host, "flows-0");
    mkdirSync(slot, { recursive: true });
    const lives = { life: 2, marks: [], isWatched: true, host };
    const note = subject === undefined ? NOBODY_RAN : NOTE_HEAD + subject;
    const files = isFirst ? {} : { lives: JSON.stringify(lives), now: note };
    for (const [file, text] of Object.entries({ ...files, pid: "999999999" }))
      writeFileSync(join(slot, file), text);
    const evidence = openEvidence({
      place: evidencePlaceOf(join(folder, host), { label: "test" }, true),
      ...{ who: "flows", isCounted: true, id: () => host, now: () => 0, opened: () => undefined },
      after: (_, fn) => {
        timers.push(fn);
        return () => undefined;
      },
    });
    running.push(evidence);
    const claim = await store.claim(host, { owner: host });
    if (claim === undefined) throw new Error("the claim is held");
    await evidence.share(store, claim);
    return evidence;
  }

  const rowsNow = (): Promise<unknown[]> => store.scan(standingEnds, {});

  /** What hosts write and hear of takes turns of the store. */
  async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await store.clock();
  }

  it("accuse the subject at which the life of each of three ended, and no other one; whichever takes it charges it for all [J540]", async () => {
    const first = await died("a", "flow:1");
    const second = await died("b", "flow:1");
    expect(second.find("flow:1").mark).toBeUndefined();
    const third = await died("c", "flow:1");
    for (const host of [first, second, third]) {
      await until(() => host.markOf("flow:1") !== undefined);
      expect(host.find("flow:1").mark).toMatchObject({ kind: "standing", ends: 1 });
      expect(host.find("flow:2")).toEqual({ mark: undefined, mayRun: true });
      expect(host.isCalm).toBe(false);
    }
    first.taken("flow:1");
    for (const host of [first, second, third]) await until(() => host.markOf("flow:1") === undefined);
    const fourth = await died("d", "flow:1");
    expect(fourth.markOf("flow:1")).toMatchObject({ ends: 1 });
  });

  it("accuse no subject that has made progress on one of them [J541]", async () => {
    const first = await died("a", "flow:1");
    await died("b", "flow:1");
    first.begin("flow:1").progressed();
    await until(async () => (await rowsNow()).length === 0);
    const third = await died("c", "flow:1");
    expect(third.find("flow:1").mark).toBeUndefined();
    expect(await rowsNow()).toMatchObject([{ host: "c", times: 1 }]);
  });

  it("forget where the lives of one ended that lives for a minute [J541]", async () => {
    await died("a", "flow:1");
    while (timers.length > 0) timers.shift()?.();
    await until(async () => (await rowsNow()).length === 0);
    expect(timers).toEqual([]);
  });

  it("keep no row of one that has not come back for an hour [J541]", async () => {
    const at = Math.floor(await store.clock()) - STALE_MS;
    const gone = { host: "gone", subject: "flow:1", times: 2, charged: 0, at };
    await store.commit({ writes: [{ type: "put", table: standingEnds, row: gone }] });
    const first = await died("a", "flow:1");
    expect(first.markOf("flow:1")).toBeUndefined();
    expect(await rowsNow()).toMatchObject([{ host: "a", times: 1 }]);
  });

  it("watch who runs when the life of one has ended without a word, from their first life on [J542]", async () => {
    const calm = await died("a", undefined, true);
    const lives = (): { isWatched: boolean } =>
      JSON.parse(readFileSync(join(folder, "a", "flows-0", "lives"), "utf8"));
    expect(lives().isWatched).toBe(false);
    await died("b");
    await until(() => lives().isWatched);
    calm.begin("flow:1").run(() => {
      expect(readFileSync(join(folder, "a", "flows-0", "now"), "utf8")).toContain("flow:1");
    });
  });

  it("carry names further when the lives of two have ended without a name [J622]", async () => {
    await died("a", undefined, true);
    const lives = (): { isCarrying: boolean } =>
      JSON.parse(readFileSync(join(folder, "a", "flows-0", "lives"), "utf8"));
    await died("b");
    await died("c");
    await until(() => lives().isCarrying);
  });
});
