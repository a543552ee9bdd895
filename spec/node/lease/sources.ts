// The suite that every source of leases passes, and the places that it is held to: a store in memory, PostgreSQL, and buckets of JetStream.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { type LeaseSource, singleton } from "signalbox/nodes";
import { expect, it } from "vitest";

/** A place that keeps leases, and time as it passes there. */
export interface LeasePlace {
  /** A source of a program of its own. */
  source(): Promise<LeaseSource>;
  /** A system whose clock is that of the place. */
  system(name: string): System;
  /** Lets so much time pass. */
  pass(ms: number): Promise<void>;
  /** Waits for what needs no time there but that of the machine. */
  until(isSo: () => boolean): Promise<void>;
}

/** The shortest lease that all sources have. */
const TTL = 1_000;
/** A source may end a lease late: JetStream looks once a second. */
const LATE = 2_500;
const never = new AbortController().signal;
let names = 0;
const fresh = (): string => `lease ${++names}`;

/** The tests of a source, in the `describe` of its place. */
export function sourceSuite(place: () => LeasePlace): void {
  const acquire = (source: LeaseSource, name: string, holder = "a", signal = new AbortController().signal) =>
    source.acquire(name, holder, TTL, signal);

  it("gives a lease to one holder, says who it is, and refuses all others [N1190]", async () => {
    const [a, b] = [await place().source(), await place().source()];
    const name = fresh();
    expect(await a.find(name, never)).toBeUndefined();
    const lease = await acquire(a, name);
    expect(lease?.token).toBeGreaterThan(0);
    expect(await acquire(b, name, "b")).toBeUndefined();
    expect(await acquire(a, name, "c")).toBeUndefined();
    expect(await b.find(name, never)).toEqual({ holder: "a", token: lease?.token });
  });

  it("gives it to one of many that ask at the same moment [N1190]", async () => {
    const sources = await Promise.all(Array.from({ length: 4 }, () => place().source()));
    for (let round = 0; round < 10; round++) {
      const name = fresh();
      const asked = [...sources, ...sources].map((source, i) => acquire(source, name, `holder ${i}`));
      const given = (await Promise.all(asked)).filter((lease) => lease !== undefined);
      expect(given).toHaveLength(1);
    }
  });

  it("keeps it for as long as it is renewed, and shows the same token [N1191]", async () => {
    const [a, b] = [await place().source(), await place().source()];
    const name = fresh();
    const lease = await acquire(a, name);
    if (lease === undefined) throw new Error("it was refused");
    for (let i = 0; i < 4; i++) {
      await place().pass(TTL / 2);
      expect(await a.renew(lease, never)).toBe(true);
    }
    expect(await acquire(b, name, "b")).toBeUndefined();
    expect(await b.find(name, never)).toEqual({ holder: "a", token: lease.token });
  });

  it("ends when its time is over: then another holder has it, with a larger token, and the old one has nothing [N1192]", async () => {
    const [a, b] = [await place().source(), await place().source()];
    const name = fresh();
    const old = await acquire(a, name);
    if (old === undefined) throw new Error("it was refused");
    await place().pass(TTL + LATE);
    const lease = await acquire(b, name, "b");
    expect(lease?.token).toBeGreaterThan(old.token);
    expect(await a.renew(old, never)).toBe(false);
    // What is not held any more cannot be given back.
    await a.release(old, never);
    expect(await b.find(name, never)).toEqual({ holder: "b", token: lease?.token });
  });

  it("is free at once when it is given back, and those who wait hear of it [N1193]", async () => {
    const [a, b] = [await place().source(), await place().source()];
    const name = fresh();
    let heard = 0;
    const end = b.watch?.(name, () => heard++);
    let before = 0;
    for (let round = 0; round < 3; round++) {
      const [from, to] = round % 2 === 0 ? [a, b] : [b, a];
      const lease = await acquire(from, name);
      if (lease === undefined) throw new Error("it was refused");
      expect(lease.token).toBeGreaterThan(before);
      before = lease.token;
      expect(await from.renew(lease, never)).toBe(true);
      await from.release(lease, never);
      expect(await to.find(name, never)).toBeUndefined();
      expect(await from.renew(lease, never)).toBe(false);
    }
    await place().until(() => heard >= 3);
    end?.();
  });

  it("28: keeps names apart that differ in anything [N1194]", async () => {
    const a = await place().source();
    const all = [
      "a",
      "a/",
      "A",
      "a b",
      "a.b",
      "a=b",
      "a=20b",
      "a*",
      ">",
      "ä",
      "\u0061\u0308",
      "日本",
      "😀",
      " ",
    ];
    const leases = await Promise.all(all.map((name) => acquire(a, `${fresh()} apart ${name}`)));
    expect(new Set(leases.map((lease) => lease?.name)).size).toBe(all.length);
    const same = await Promise.all(all.map((name) => acquire(a, `apart/${name}`)));
    expect(new Set(same.map((lease) => lease?.name)).size).toBe(all.length);
  });

  it("is given back by the source when nobody waits for it any more [N1195]", async () => {
    const [a, b] = [await place().source(), await place().source()];
    const name = fresh();
    const asked = new AbortController();
    const given = acquire(a, name, "a", asked.signal);
    asked.abort(new Error("it took too long"));
    await expect(given).rejects.toThrow("it took too long");
    let lease: unknown;
    const ask = async (): Promise<void> => {
      lease = await acquire(b, name, "b").catch(() => undefined);
    };
    for (let tries = 0; tries < 100 && lease === undefined; tries++) {
      await ask();
      await place().pass(10);
    }
    expect(lease).toBeDefined();
  });

  it("runs a singleton once, hands it on when its system stops, and after a kill of its contender [N1196]", async () => {
    const started: string[] = [];
    const tokens: number[] = [];
    let running = 0;
    let most = 0;
    const contend = async (name: string) => {
      const system = place().system(name);
      const only = singleton(system, {
        name: "only",
        lease: await place().source(),
        ttlMs: TTL,
        start: async (ctx, { token }) => {
          started.push(name);
          tokens.push(token);
          most = Math.max(most, ++running);
          ctx.signal.addEventListener("abort", () => running--);
          await ctx.receive();
        },
      });
      return { system, ref: await system.start(only) };
    };
    const a = await contend("a");
    await place().until(() => started.length === 1);
    const b = await contend("b");
    await place().pass(TTL * 2);
    expect(started).toEqual(["a"]);
    await a.system.stop();
    await place().until(() => started.length === 2);
    const c = await contend("c");
    b.system.exit(b.ref.pid, "kill");
    await place().pass(TTL + LATE);
    await place().until(() => started.length === 3);
    expect(started).toEqual(["a", "b", "c"]);
    expect(tokens).toEqual([...tokens].sort((one, two) => one - two));
    expect({ most, running }).toEqual({ most: 1, running: 1 });
    await Promise.all([b.system.stop(), c.system.stop()]);
  });
}

/** Time of the machine. */
export const realTime: Pick<LeasePlace, "pass" | "system" | "until"> = {
  system: (name) => new System({ name, report: false }),
  pass: (ms) => pause(ms),
  until: async (isSo) => {
    const { until } = await import("../../support/until.js");
    await until(isSo);
  },
};
