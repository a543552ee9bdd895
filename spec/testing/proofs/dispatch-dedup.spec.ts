// Dispatches of the same envelope id join, under any schedule: the envelope is delivered once, and every caller gets the
// same outcome.

import {
  type Callbacks,
  ConsumerGroup,
  type Context,
  type Delivery,
  DispatchError,
  dispatch,
  type Envelope,
  type System,
} from "signalbox";
import { explore, type Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../../support/proof.js";

/** What happens to envelopes, by id. */
type Deed =
  | { readonly what: "ask"; readonly by: string; readonly id: string }
  /** A consumer acknowledged the envelope, and the answer counted. */
  | { readonly what: "ack"; readonly id: string; readonly consumer: string }
  /** The outcome of the caller: which consumer, at which attempt, and whether another caller was first. */
  | {
      readonly what: "delivered";
      readonly by: string;
      readonly id: string;
      readonly receipt: string;
      readonly duplicate: boolean;
    }
  /** The error of the caller. Each error has its own name; "withdrawn" means that the caller itself gave up. */
  | { readonly what: "failed"; readonly by: string; readonly id: string; readonly error: string };

const STATES = [
  "asked again while it is under way",
  "asked again when it has been delivered",
  "all who asked are told of one failure",
  "tried again after a failure",
] as const;

interface Verdict {
  readonly complaint: string | undefined;
  readonly states: ReadonlySet<(typeof STATES)[number]>;
}

/** What is known of one id. */
interface Known {
  /** Who waits for it, and what was known when they asked: whether it had been delivered, and how it had failed. */
  readonly waiting: Map<string, { readonly delivered: boolean; readonly errors: readonly string[] }>;
  acks: number;
  receipt: string | undefined;
  first: boolean;
  /** A dispatch that fails may have been acknowledged: one more is excused for each. */
  readonly errors: string[];
}

function judgeSame(deeds: readonly Deed[]): Verdict {
  const all = new Map<string, Known>();
  const states = new Set<(typeof STATES)[number]>();
  const complaint = ((): string | undefined => {
    for (const deed of deeds) {
      const wrong = follow(deed);
      if (wrong !== undefined) return `${JSON.stringify(deed)}: ${wrong}`;
    }
    for (const [id, { waiting, acks, errors }] of all) {
      for (const by of waiting.keys()) return `${by} is never told what became of ${id}`;
      if (acks > 1 + errors.length) return `${id} is delivered ${acks} times`;
    }
    return undefined;
  })();
  return { complaint, states };

  function known(id: string): Known {
    const one: Known = all.get(id) ?? {
      waiting: new Map(),
      acks: 0,
      receipt: undefined,
      first: false,
      errors: [],
    };
    all.set(id, one);
    return one;
  }

  function follow(deed: Deed): string | undefined {
    const one = known(deed.id);
    switch (deed.what) {
      case "ask":
        if (one.waiting.has(deed.by)) return "it asks a second time";
        if (one.receipt !== undefined) states.add("asked again when it has been delivered");
        else if (one.waiting.size > 0) states.add("asked again while it is under way");
        else if (one.errors.length > 0) states.add("tried again after a failure");
        one.waiting.set(deed.by, { delivered: one.receipt !== undefined, errors: [...one.errors] });
        return undefined;
      case "ack":
        one.acks++;
        return undefined;
      case "delivered":
        if (!one.waiting.delete(deed.by)) return "it was told before";
        if (one.acks === 0) return "nobody has acknowledged it";
        if (one.receipt !== undefined && one.receipt !== deed.receipt) return `its receipt is ${one.receipt}`;
        if (!deed.duplicate && one.first) return "there was a first one before";
        one.first ||= !deed.duplicate;
        one.receipt = deed.receipt;
        return undefined;
      case "failed":
        return fail(one, deed);
      default:
        return deed satisfies never;
    }
  }

  function fail(one: Known, { by, error }: Deed & { readonly what: "failed" }): string | undefined {
    const asked = one.waiting.get(by);
    if (asked === undefined) return "it was told before";
    if (asked.delivered && error !== "withdrawn") return "it was delivered before";
    if (asked.errors.includes(error) && error !== "withdrawn") return "that is an old failure";
    one.waiting.delete(by);
    if (one.errors.includes(error)) states.add("all who asked are told of one failure");
    one.errors.push(error);
    return undefined;
  }
}

interface Again {
  readonly system: System;
  readonly group: ConsumerGroup<string>;
  readonly envelope: Envelope<string>;
}

/** Processes that ask for the same two envelopes again and again, and consumers that crash on them. */
async function same(sim: Simulation, troubled: boolean): Promise<void> {
  const system = sim.system({ name: "s" });
  const deeds: Deed[] = [];
  const errors: unknown[] = [];
  const nameOf = (error: unknown): string => {
    if (!(error instanceof DispatchError)) return "withdrawn";
    if (!errors.includes(error)) errors.push(error);
    return `error ${errors.indexOf(error)}`;
  };
  sim.finally("each id is delivered once, and every caller gets the same outcome", () => {
    const { complaint, states } = judgeSame(deeds);
    for (const state of states) sim.sometimes(state);
    return complaint;
  });
  sim.finally(
    "nothing fails without trouble",
    () => troubled || !deeds.some(({ what }) => what === "failed"),
  );
  sim.finally("no timer is left", () => system.kernel.pendingTimers === 0);
  const group = new ConsumerGroup<string>({
    name: "pickers",
    maxAttempts: troubled ? 2 : 10,
    deadlineMs: 1_000,
  });
  const picker = (id: string): Callbacks<Delivery<string>> => ({
    init: (ctx) => {
      group.join(ctx.self, { id });
    },
    handle: async (_ctx, delivery) => {
      const manner = sim.oneOf(["at once", "later", "crash"], "manner");
      if (manner === "later") await sim.sleep(5);
      if (manner === "crash" && troubled) throw new Error("broken");
      if (delivery.ack()) deeds.push({ what: "ack", id: delivery.payload, consumer: id });
    },
  });
  sim.calm();
  for (const id of ["picker0", "picker1", "picker2"]) system.spawn(picker(id), { label: id });
  await sim.quiet();
  sim.storm();
  for (const name of ["ann", "bob", "cid"]) {
    system.spawn<never>(
      async (ctx) => {
        for (let i = 0; i < 2; i++) {
          const id = sim.oneOf(["a", "b"], "id");
          const by = `${name}${i}`;
          deeds.push({ what: "ask", by, id });
          await dispatch(ctx, group, system.envelope(id, { id })).then(
            ({ deliveredTo, attempts, duplicate }) =>
              deeds.push({ what: "delivered", by, id, receipt: `${deliveredTo} ${attempts}`, duplicate }),
            (error) => deeds.push({ what: "failed", by, id, error: nameOf(error) }),
          );
        }
      },
      { label: name },
    );
  }
  await sim.sleep(500);
  sim.calm();
  await sim.sleep(2_000);
}

describe("dispatches of the same envelope, under any schedule,", () => {
  it("join: the envelope is delivered once, and every caller gets the same receipt [D10]", async () => {
    await explored((sim) => same(sim, false), {
      quick: 100,
      name: "same envelopes",
      faults: {
        crash: { of: "s/picker*" },
        pause: { of: "s/**", forMs: [1, 5, 100] },
        delay: { of: "s/**", atMost: 2 },
        rush: { atMost: 1 },
      },
      sometimes: ["asked again while it is under way", "asked again when it has been delivered"],
    });
  });

  it("fail together, and may be tried again after that", async () => {
    await explored((sim) => same(sim, true), {
      quick: 100,
      name: "troubled envelopes",
      faults: {
        crash: [
          { of: ["s/picker*", "s/ann", "s/bob", "s/cid"], atMost: 2 },
          { of: "s/dispatch*", reason: "kill" },
        ],
        pause: { of: "s/**", forMs: [1, 5, 100] },
        delay: { of: "s/**", atMost: 2 },
        rush: { atMost: 1 },
      },
      sometimes: STATES,
    });
  });
});

describe("a caller that joins a dispatch in flight", () => {
  /** Ann dispatches an envelope that takes 5 ms; after 1 ms, `then` goes on. */
  const joined = (then: (sim: Simulation, again: Again) => Promise<void>) => async (sim: Simulation) => {
    const system = sim.system({ name: "s" });
    const group = new ConsumerGroup<string>();
    const picker = system.spawn<Delivery<string>>({
      handle: (_ctx, delivery) => sim.sleep(5).then(() => void delivery.ack()),
    });
    group.join(picker, { id: "picker" });
    const envelope = system.envelope("tea", { id: "a" });
    const ann = async (ctx: Context<never>): Promise<void> => void (await dispatch(ctx, group, envelope));
    system.spawn<never>(ann, { label: "ann" });
    await sim.sleep(1);
    await then(sim, { system, group, envelope });
  };

  it("gets the outcome although the first caller has exited", async () => {
    await explore(
      joined(async (_sim, { system, group, envelope }) => {
        expect((await system.dispatch(group, envelope)).deliveredTo).toBe("picker");
      }),
      { name: "another's exit", schedules: 100, faults: { crash: { of: "s/ann" } } },
    );
  });

  it("has its own deadline", async () => {
    await explore(
      joined(async (sim, { system, group, envelope }) => {
        await system.dispatch(group, envelope, { deadlineMs: 2 }).catch(() => undefined);
        expect(sim.now).toBe(3);
      }),
      { name: "a deadline of one's own", schedules: 1 },
    );
  });

  it("runs its `finally` blocks when it exits", async () => {
    await explore(
      joined(async (sim, { system, group, envelope }) => {
        let freed = false;
        const bob = system.spawn<never>((ctx) =>
          dispatch(ctx, group, envelope).finally(() => {
            freed = true;
          }),
        );
        await sim.quiet();
        sim.crash(bob, "kill");
        await sim.quiet();
        expect(freed).toBe(true);
      }),
      { name: "one's own exit", schedules: 1 },
    );
  });
});

describe("the model of same envelopes", () => {
  const ASK = { what: "ask", by: "ann", id: "a" } as const;
  const ACK = { what: "ack", id: "a", consumer: "picker" } as const;
  const GOT = { what: "delivered", by: "ann", id: "a", receipt: "picker 1", duplicate: false } as const;
  const AGAIN = { ...ASK, by: "bob" } as const;
  const SAME = { ...GOT, by: "bob", duplicate: true } as const;
  const FAILED = { what: "failed", by: "ann", id: "a", error: "no" } as const;

  it.each<[what: string, deeds: readonly Deed[]]>([
    ["delivered once to two", [ASK, AGAIN, ACK, GOT, SAME]],
    ["delivered, and asked for later", [ASK, ACK, GOT, AGAIN, SAME]],
    ["delivered at the second try", [ASK, ACK, FAILED, AGAIN, ACK, { ...SAME, duplicate: false }]],
  ])("accepts an envelope that is %s", (_what, deeds) => {
    expect(judgeSame(deeds).complaint).toBe(undefined);
  });

  it.each<[what: string, complaint: string, deeds: readonly Deed[]]>([
    ["is delivered twice", "a is delivered 2 times", [ASK, ACK, ACK, GOT]],
    ["is told to nobody", "ann is never told", [ASK, ACK]],
    ["is told twice", "it was told before", [ASK, ACK, GOT, GOT]],
    ["is delivered by nobody", "nobody has acknowledged it", [ASK, GOT]],
    ["has two receipts", "its receipt is picker 1", [ASK, AGAIN, ACK, GOT, { ...SAME, receipt: "other 1" }]],
    ["has two first ones", "there was a first one", [ASK, AGAIN, ACK, GOT, { ...SAME, duplicate: false }]],
    [
      "fails again with an old failure",
      "that is an old failure",
      [ASK, FAILED, AGAIN, { ...FAILED, by: "bob" }],
    ],
    [
      "fails after it was delivered",
      "it was delivered before",
      [ASK, ACK, GOT, AGAIN, { ...FAILED, by: "bob" }],
    ],
  ])("rejects an envelope that %s", (_what, complaint, deeds) => {
    expect(judgeSame(deeds).complaint).toContain(complaint);
  });
});
