// The queue machine of several hosts against a naive model of their store: limits hold, and no flow waits while there is room.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Candidate,
  keyRoomOf,
  type QueueLimits,
  type Rate,
  roomOf,
} from "../../../lib/flow/queues/choice.js";
import {
  decide,
  initial,
  type PageEnd,
  type QueueEvent,
  type QueueState,
  type Turns,
  type View,
} from "../../../lib/flow/queues/queue-machine.js";
import { sized } from "../../support/proof.js";
import { type Job, World } from "./world.js";

const NONE = Number.POSITIVE_INFINITY;
const free: QueueLimits = {
  concurrency: NONE,
  perHost: NONE,
  perKey: NONE,
  rate: undefined,
  keyRate: undefined,
};

type Pending =
  | { readonly type: "read"; readonly from: PageEnd | undefined; readonly turns: Turns }
  | { readonly type: "answer"; readonly view: View }
  | {
      readonly type: "admit";
      readonly flows: readonly Candidate[];
      readonly version: number;
      readonly now: number;
    };

/** A host: the machine, what it waits for, and its alarm. */
class Host {
  readonly world: World;
  readonly id: number;
  state: QueueState;
  pending: Pending | undefined;
  alarmAt = NONE;
  /** Flows in the order in which they started here. */
  readonly started: Candidate[] = [];

  constructor(world: World, id: number) {
    this.world = world;
    this.id = id;
    this.state = initial({ limits: world.limits, pollMs: NONE });
  }

  take(event: QueueEvent): void {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    for (const effect of effects) {
      if (effect.type === "alarm") this.alarmAt = this.world.now + effect.inMs;
      else if (effect.type === "start") this.started.push(...effect.flows);
      else {
        expect(this.pending).toBeUndefined();
        this.pending = effect;
      }
    }
  }

  /** One step of what is pending: a read takes two, so that others act between its reading and its answer. */
  step(roll: number): void {
    const { pending, world } = this;
    this.pending = undefined;
    if (pending?.type === "read")
      this.pending = { type: "answer", view: world.page(pending.from, pending.turns) };
    else if (pending?.type === "answer") this.take({ type: "read", view: pending.view });
    else if (pending?.type === "admit") {
      const won = world.admit(pending.flows, pending.version, pending.now, this.id);
      this.take(won ? { type: "admitted" } : { type: "refused", roll });
    } else if (this.alarmAt <= world.now) {
      this.alarmAt = NONE;
      this.take({ type: "tick" });
    }
  }
}

class Cluster {
  readonly world: World;
  readonly hosts: Host[];
  constructor(limits: QueueLimits, pageLanes: number, hosts: number) {
    this.world = new World(limits, pageLanes);
    this.hosts = Array.from({ length: hosts }, (_, id) => new Host(this.world, id));
  }

  put(lane: string, rank: number, delayMs = 0): void {
    this.world.put(lane, rank, delayMs);
    for (const host of this.hosts) host.take({ type: "more" });
  }

  end(pick: number): void {
    const running = this.world
      .in("running")
      .filter(({ number, host }) => this.hosts[host]?.started.some((one) => one.number === number));
    const job = running[pick % running.length];
    if (job === undefined) return;
    job.state = "ended";
    for (const host of this.hosts) host.take(host.id === job.host ? { type: "left" } : { type: "room" });
  }

  /** Time goes on; delayed flows begin to wait. */
  pass(ms: number): void {
    this.world.now += ms;
    if (this.world.wake()) for (const host of this.hosts) host.take({ type: "more" });
  }

  /** Runs until nothing is pending, no alarm is left and no flow is delayed. */
  settle(): void {
    for (let steps = 0; steps < 20_000; steps++) {
      const busy = this.hosts.find(
        ({ pending, alarmAt }) => pending !== undefined || alarmAt <= this.world.now,
      );
      const dues = this.world.in("delayed").map(({ due }) => due);
      const next = Math.min(...this.hosts.map(({ alarmAt }) => alarmAt), ...dues);
      if (busy !== undefined) busy.step((steps % 7) / 7);
      else if (next === NONE) return;
      else this.pass(next - this.world.now);
      check(this.world, this.hosts);
    }
    throw new Error("it does not come to rest");
  }
}

function check({ limits, jobs, starts }: World, hosts: readonly Host[]): void {
  const running = jobs.filter(({ state }) => state === "running");
  expect(running.length).toBeLessThanOrEqual(limits.concurrency);
  for (const { id } of hosts)
    expect(running.filter(({ host }) => host === id).length).toBeLessThanOrEqual(limits.perHost);
  for (const lane of new Set(jobs.map((job) => job.lane))) {
    expect(running.filter((job) => job.lane === lane).length).toBeLessThanOrEqual(limits.perKey);
    inRate(
      limits.keyRate,
      starts.filter((one) => one.lane === lane).map(({ at }) => at),
    );
  }
  inRate(
    limits.rate,
    starts.map(({ at }) => at),
  );
}

/** No window of the period has more starts than the limit. */
function inRate(rate: Rate | undefined, times: readonly number[]): void {
  if (rate === undefined) return;
  for (const at of times)
    expect(times.filter((one) => one > at - rate.periodMs && one <= at).length).toBeLessThanOrEqual(
      rate.limit,
    );
}

/** The flows that wait although there is room for them on some host. */
function stuck({ world, hosts }: Cluster): Job[] {
  const room = Math.max(...hosts.map(({ state }) => roomOf(world.limits, world.use(), state.here)));
  return world.in("waiting").filter(({ lane }) => room > 0 && keyRoomOf(world.limits, world.use(lane)) > 0);
}

const most = fc.oneof(fc.constant(NONE), fc.integer({ min: 1, max: 4 }));
const rate = fc.option(
  fc.record({ limit: fc.integer({ min: 1, max: 3 }), periodMs: fc.integer({ min: 1, max: 500 }) }),
  { nil: undefined },
);
const limits = fc.record({ concurrency: most, perHost: most, perKey: most, rate, keyRate: rate });
const moves = fc.array(
  fc.record({
    what: fc.constantFrom("put", "put", "end", "step", "step", "step", "step", "pass", "lost" as const),
    host: fc.nat(2),
    lane: fc.constantFrom("", "a", "b", "c", "d", "e"),
    rank: fc.nat(2),
    ms: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_000 })),
  }),
  { maxLength: 80 },
);

describe("a queue of several hosts", () => {
  it("never exceeds a limit, and lets no flow wait while there is room [U1]", () => {
    fc.assert(
      fc.property(
        limits,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 3 }),
        moves,
        (given, pageLanes, count, list) => {
          const cluster = new Cluster(given, pageLanes, count);
          for (const { what, host, lane, rank, ms } of list) {
            const one = cluster.hosts[host % count] as Host;
            if (what === "put") cluster.put(lane, rank, ms);
            else if (what === "end") cluster.end(ms);
            else if (what === "step") one.step(ms / 1_001);
            else if (what === "pass") cluster.pass(ms);
            else one.take({ type: "room" });
            check(cluster.world, cluster.hosts);
          }
          cluster.settle();
          expect(stuck(cluster)).toEqual([]);
          // Flows end one by one: at last all have run, each once.
          while (cluster.world.in("running").length > 0) {
            cluster.end(0);
            cluster.settle();
            expect(stuck(cluster)).toEqual([]);
          }
          expect(new Set(cluster.world.jobs.map(({ state }) => state))).toEqual(
            new Set(list.some(({ what }) => what === "put") ? ["ended"] : []),
          );
          const numbers = cluster.hosts.flatMap(({ started }) => started.map(({ number }) => number));
          expect(numbers.sort((a, b) => a - b)).toEqual(cluster.world.jobs.map(({ number }) => number));
        },
      ),
      { numRuns: sized(60) },
    );
  });

  it("starts as many flows in each period as its rate allows, and the next when the first leaves it [U3]", () => {
    const cluster = new Cluster({ ...free, rate: { limit: 2, periodMs: 100 } }, 5, 2);
    for (let i = 0; i < 5; i++) cluster.put("", 0);
    cluster.settle();
    expect(cluster.world.starts.map(({ at }) => at)).toEqual([1_000, 1_000, 1_100, 1_100, 1_200]);
    const keyed = new Cluster({ ...free, keyRate: { limit: 1, periodMs: 100 } }, 5, 2);
    for (const lane of ["a", "b", "a"]) keyed.put(lane, 0);
    keyed.settle();
    expect(keyed.world.starts.map(({ lane, at }) => [lane, at])).toEqual([
      ["a", 1_000],
      ["b", 1_000],
      ["a", 1_100],
    ]);
  });

  it("serves each key in its turn while others have more than they can start [U5]", () => {
    const cluster = new Cluster({ ...free, concurrency: 1 }, 2, 1);
    for (let i = 0; i < 30; i++) cluster.put("a", 0);
    for (const lane of ["b", "c", "d", "e"]) for (let i = 0; i < 3; i++) cluster.put(lane, 0);
    cluster.settle();
    for (let i = 0; i < 14; i++) {
      cluster.end(0);
      cluster.settle();
    }
    const order = cluster.hosts[0]?.started.map(({ lane }) => lane).join("");
    expect(order).toBe("abcdeabcdeabcde");
  });

  it("keeps the turns of a rank while flows of another rank come between them [U5]", () => {
    const cluster = new Cluster({ ...free, concurrency: 1 }, 5, 1);
    for (const lane of ["a", "b", "c"]) for (let i = 0; i < 3; i++) cluster.put(lane, 5);
    cluster.settle();
    for (let i = 0; i < 5; i++) {
      cluster.put("vip", 0);
      cluster.end(0);
      cluster.settle();
      cluster.end(0);
      cluster.settle();
    }
    const slow = cluster.hosts[0]?.started
      .filter(({ lane }) => lane !== "vip")
      .map(({ lane }) => lane)
      .join("");
    expect(slow).toBe("abcabc");
  });

  it("lets a flow of higher priority that came later go first [U4]", () => {
    const cluster = new Cluster({ ...free, concurrency: 1 }, 5, 1);
    for (let i = 0; i < 3; i++) cluster.put("", 5);
    cluster.settle();
    cluster.put("", 0);
    cluster.end(0);
    cluster.settle();
    expect(cluster.hosts[0]?.started.map(({ number }) => number)).toEqual([0, 3]);
  });

  it("holds one page of the waiting flows, however many wait [U9]", () => {
    const cluster = new Cluster({ ...free, concurrency: 1 }, 2, 1);
    for (let i = 0; i < 200; i++) cluster.put("abcdefgh".charAt(i % 8), i % 3);
    cluster.settle();
    const [host] = cluster.hosts as [Host];
    expect(host.state.view?.candidates.length).toBeLessThanOrEqual(6);
    expect(host.state.view?.next).toBeDefined();
  });

  it("does not read again for each flow that comes while there is no room", () => {
    const cluster = new Cluster({ ...free, concurrency: 1 }, 2, 1);
    cluster.put("", 0);
    cluster.settle();
    cluster.put("", 0);
    cluster.settle();
    cluster.put("", 0);
    expect(cluster.hosts[0]?.pending).toBeUndefined();
  });

  it("waits longer after each admission that others overtook", () => {
    const roll = 0.5;
    let state = initial({ limits: free, pollMs: NONE });
    const waits: number[] = [];
    for (let i = 0; i < 4; i++) {
      [state] = decide(state, { type: "tick" });
      const [next, effects] = decide(state, { type: "refused", roll });
      state = next;
      for (const effect of effects) if (effect.type === "alarm") waits.push(effect.inMs);
    }
    expect(waits).toEqual([2, 4, 8, 16]);
  });

  it("looks now and then where notifications may get lost", () => {
    const [reading] = decide(initial({ limits: free, pollMs: 30_000 }), { type: "more" });
    const nothing: View = {
      now: 0,
      version: 0,
      use: { running: 0, recent: 0, freeAt: undefined },
      lanes: new Map(),
      candidates: [],
      next: undefined,
    };
    expect(decide(reading, { type: "read", view: nothing })[1]).toEqual([{ type: "alarm", inMs: 30_000 }]);
    const [patient] = decide(initial({ limits: free, pollMs: NONE }), { type: "more" });
    expect(decide(patient, { type: "read", view: nothing })[1]).toEqual([]);
    const late = { running: 0, recent: 1, freeAt: 1e12 };
    const rated = { ...free, rate: { limit: 1, periodMs: 1e12 } };
    const [slow] = decide(initial({ limits: rated, pollMs: NONE }), { type: "more" });
    const alarm = { type: "alarm", inMs: 60_000 };
    expect(decide(slow, { type: "read", view: { ...nothing, use: late } })[1]).toEqual([alarm]);
  });
});
