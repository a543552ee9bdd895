// Singletons over leases of a store: who runs when, and what becomes of the writes of an old holder.

import { defineServer, type Pid, System, supervisor } from "signalbox";
import {
  type HeldLease,
  holderAddress,
  type Lease,
  type LeaseSource,
  singleton,
  storeLeases,
} from "signalbox/nodes";
import { defineTable, FencedError, memory, openStore, type Schema, type Store } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";

const ledger = defineTable("ledger", { columns: { id: "text", by: "integer" }, key: ["id"] });
const SCHEMA: Schema = { name: "billing", version: 1, tables: [ledger] };
const TTL = 2_000;

type Clock = ReturnType<typeof testClock>;

const Billing = defineServer({
  init: (_ctx, lease: Lease, store: Store, seen: Lease[]) => {
    seen.push(lease);
    return { lease, store };
  },
  calls: {
    bill: ({ lease, store }, id: string) =>
      store
        .commit({ claim: lease, writes: [{ type: "insert", table: ledger, row: { id, by: lease.token } }] })
        .then(() => lease.token),
    crash: () => {
      throw new Error("out of paper");
    },
  },
});

type Handle = Awaited<ReturnType<typeof contender>>;

/** A source between a contender and its store, which a test cuts: then nothing of it is answered. */
class Cut implements LeaseSource {
  readonly label = "cut";
  readonly ttlMs = TTL;
  isCut = false;
  /** Called with each lease that is granted, before the contender has it. */
  granted: ((lease: HeldLease) => Promise<void>) | undefined;
  readonly #source: LeaseSource;

  constructor(source: LeaseSource) {
    this.#source = source;
  }

  acquire: LeaseSource["acquire"] = (...given) =>
    this.#way(async () => {
      const lease = await this.#source.acquire(...given);
      if (lease !== undefined) await this.granted?.(lease);
      return lease;
    });
  renew: LeaseSource["renew"] = (...given) => this.#way(() => this.#source.renew(...given));
  release: LeaseSource["release"] = (...given) => this.#way(() => this.#source.release(...given));
  find: LeaseSource["find"] = (...given) => this.#source.find(...given);

  watch(name: string, freed: () => void): () => void {
    return this.#source.watch?.(name, freed) ?? (() => undefined);
  }

  #way<T>(go: () => Promise<T>): Promise<T> {
    return this.isCut ? new Promise<T>(() => undefined) : go();
  }
}

async function contender(clock: Clock, source: ReturnType<typeof memory>, name: string, seen: Lease[]) {
  const reports: string[] = [];
  const system = new System({
    name,
    environment: clock.environment,
    report: { to: (text) => void reports.push(text) },
  });
  const store = await openStore(system, source, [SCHEMA]);
  const lease = new Cut(storeLeases(store));
  const billing = singleton(system, { name: "billing", lease, start: Billing, args: [store, seen] });
  return { system, store, lease, billing, reports, ref: await system.start(billing) };
}

/** Two systems with a handle each on a store that they share; the first holds the lease. */
async function two() {
  const clock = testClock();
  const source = memory({ shared: true, clock: () => clock.now });
  const seen: Lease[] = [];
  const a = await contender(clock, source, "a", seen);
  await clock.advance(10);
  const b = await contender(clock, source, "b", seen);
  await clock.advance(10);
  return { clock, seen, a, b };
}

const bill = async (clock: Clock, { ref }: Handle, id: string): Promise<number | undefined> =>
  (await clock.until(ref.here()))?.call.bill(id);

describe("a singleton", () => {
  it("runs where its lease is held and nowhere else, for as long as it is renewed [N1077]", async () => {
    const { clock, seen, a, b } = await two();
    await clock.advance(TTL * 50);
    expect(seen.map(({ token }) => token)).toEqual([1]);
    expect(await bill(clock, a, "one")).toBe(1);
    expect(await clock.until(b.ref.here())).toBeUndefined();
    const found = await a.lease.find("billing", new AbortController().signal);
    expect(holderAddress(found?.holder ?? "")).toEqual(a.system.address(a.ref.pid));
  });

  it("13, 34: runs elsewhere when its time is over, if its contender was killed, and only then [N1078]", async () => {
    const { clock, seen, a, b } = await two();
    a.system.exit(a.ref.pid, "kill");
    await clock.advance(TTL * 0.75);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.lost.aborted).toBe(true);
    await clock.advance(TTL / 2);
    expect(seen.map(({ token }) => token)).toEqual([1, 2]);
    expect(await bill(clock, b, "two")).toBe(2);
  });

  it("runs elsewhere at once when its system stops in order [N1079]", async () => {
    const { clock, seen, a, b } = await two();
    await clock.until(a.system.stop());
    await clock.settle();
    expect(seen.map(({ token }) => token)).toEqual([1, 2]);
    expect(await bill(clock, b, "two")).toBe(2);
  });

  it("2, 12: ends before its lease does when it is cut off from the source, and contends again after that [N1080]", async () => {
    const { clock, seen, a, b } = await two();
    a.lease.isCut = true;
    const order: string[] = [];
    const pid = (await clock.until(a.ref.here()))?.pid as Pid;
    seen[0]?.lost.addEventListener("abort", () => order.push(`lost, held: ${seen[0]?.isHeld}`));
    const began = (): number => seen.length;
    while (began() < 2) {
      await clock.advance(10);
      if (pid.process === undefined) order.push("ended");
    }
    // It had ended when the next one began.
    expect(order.slice(0, 2)).toEqual(["lost, held: false", "ended"]);
    expect(a.reports.join()).toContain("the lease billing with token 1 was lost");
    expect(await bill(clock, b, "two")).toBe(2);
    a.lease.isCut = false;
    await clock.advance(TTL);
    await clock.until(b.system.stop());
    await clock.advance(TTL);
    expect(await bill(clock, a, "three")).toBe(3);
  });

  it("does not begin under a lease that was lost before it could listen to that [N1085]", async () => {
    const { clock, seen, a, b } = await two();
    b.lease.granted = async ({ name, token }) => {
      b.lease.granted = undefined;
      await b.store.revoke(name, token);
    };
    await clock.until(a.system.stop());
    await clock.advance(10);
    await clock.advance(TTL);
    expect(await bill(clock, b, "two")).toBe(3);
    expect(seen.map(({ token }) => token)).toEqual([1, 3]);
  });

  it("20, 36: has the writes of its old holder refused, although that one does not know yet [N1081]", async () => {
    const { clock, seen, a, b } = await two();
    const old = await clock.until(a.ref.here());
    // An administrator takes the lease away, and another one gets it.
    await a.store.revoke("leases/billing", 1);
    await clock.until(b.store.claim("leases/billing", { owner: "b", renewedBy: "owner" }));
    const write = { type: "insert", table: ledger, row: { id: "late", by: 1 } } as const;
    await expect(a.store.commit({ claim: seen[0] as Lease, writes: [write] })).rejects.toThrow(FencedError);
    expect(await a.store.get(ledger, [["late"]])).toEqual([undefined]);
    await clock.advance(10);
    expect(seen[0]?.lost.aborted).toBe(true);
    expect(old?.pid.process).toBeUndefined();
  });

  it("of a process that slept is not held at its first turn, before any timer has fired [N1082]", async () => {
    const { clock, seen } = await two();
    expect(seen[0]?.isHeld).toBe(true);
    clock.elapse(TTL + 1);
    expect(seen[0]?.isHeld).toBe(false);
  });

  it("18: starts its process no earlier than the one before has ended, however that is told to stop", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const store = await openStore(system, memory({ shared: true, clock: () => clock.now }), []);
    const lease = new Cut(storeLeases(store));
    let running = 0;
    let most = 0;
    const stubborn = singleton(system, {
      name: "stubborn",
      lease,
      start: async (ctx, held, step: number) => {
        ctx.trapExit(true);
        running += step;
        most = Math.max(most, running);
        ctx.signal.addEventListener("abort", () => {
          running -= step;
        });
        // It does not heed its shutdown.
        await new Promise(() => held);
      },
      args: [1],
    });
    await system.start(stubborn);
    await clock.advance(TTL);
    expect(running).toBe(1);
    lease.isCut = true;
    await clock.advance(TTL * 0.95);
    expect(running).toBe(0);
    lease.isCut = false;
    await clock.advance(TTL * 3);
    expect({ running, most }).toEqual({ running: 1, most: 1 });
  });

  it("ends with the reason of its process, so that its supervisor decides, and its lease is free meanwhile [N1083]", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const store = await openStore(system, memory({ shared: true, clock: () => clock.now }), []);
    const seen: number[] = [];
    const start = (_ctx: unknown, { token }: Lease): void => {
      seen.push(token);
      if (token < 3) throw new Error("out of paper");
    };
    const billing = singleton(system, { name: "billing", lease: store, start });
    const top = await clock.until(
      system.start(
        supervisor({ intensity: 2, children: [{ id: "billing", start: billing, restart: "transient" }] }),
      ),
    );
    await clock.advance(10);
    // Its third run ends in order, so it is not started again.
    expect(seen).toEqual([1, 2, 3]);
    expect(await clock.until(top.child("billing"))).toBeUndefined();
    expect(await store.claims("leases/")).toEqual([]);
  });

  it("28: tells names apart that differ in anything", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const store = await openStore(system, memory({ shared: true, clock: () => clock.now }), []);
    const seen: string[] = [];
    for (const name of ["a", "a/", "A", "a b", "\u0061\u0301"])
      await system.start(
        singleton(system, { name, lease: store, start: (_ctx, lease) => void seen.push(lease.name) }),
      );
    await clock.advance(10);
    expect(new Set(seen).size).toBe(5);
  });

  it("gives back a lease that came too late, and gets it again", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const store = await openStore(system, memory({ clock: () => clock.now }), []);
    const seen: Lease[] = [];
    const slow = new Cut(storeLeases(store));
    let delayMs = TTL;
    const { acquire } = slow;
    slow.acquire = async (...given) => {
      const lease = await acquire(...given);
      const waited = delayMs;
      delayMs = 0;
      await new Promise<void>((go) => system.spawn((ctx) => ctx.runAfter(waited, go) && ctx.receive()));
      return lease;
    };
    await system.start(
      singleton(system, { name: "slow", lease: slow, start: (_ctx, lease) => void seen.push(lease) }),
    );
    await clock.advance(TTL * 3);
    expect(seen.map(({ token }) => token)).toEqual([2]);
  });

  it("says what is wrong with its options", () => {
    const system = new System({ report: false });
    const start = (): undefined => undefined;
    const wrong =
      (options: object, node: unknown = system) =>
      () =>
        singleton(node as never, options as never);
    const lease = { acquire: start, renew: start, release: start, find: start, ttlMs: TTL, label: "x" };
    expect(wrong({ name: "a", lease, start }, {})).toThrow("system must be a System");
    expect(wrong({ name: "", lease, start })).toThrow("name must be");
    expect(wrong({ name: "a", lease: {}, start })).toThrow("lease must be a source of leases");
    expect(wrong({ name: "a", lease, start: 7 })).toThrow("start must be");
    expect(wrong({ name: "a", lease, start, ttlMs: 10 })).toThrow("ttlMs must be");
    expect(wrong({ name: "a", lease, start, ttl: 10 })).toThrow("ttl");
  });
});
