// The ready-made routing functions: pure choices among the consumers they are given.

import fc from "fast-check";
import {
  available,
  ConsumerGroup,
  type ConsumerView,
  leastLoaded,
  match,
  type RoutingFunction,
  rendezvous,
  roundRobin,
  sticky,
  weighted,
  where,
} from "signalbox";
import { describe, expect, it } from "vitest";
import { hash } from "../../lib/process/stable-hash.js";
import { chiSquare, limit } from "../support/evenness.js";
import { context, envelopeOf, view } from "./support.js";

const envelope = envelopeOf("a payload");
const choose = (
  route: RoutingFunction<string>,
  consumers: readonly ConsumerView[],
  of = {},
): string | undefined => {
  const chosen = route(envelope, consumers, context(of));
  return typeof chosen === "object" ? chosen.id : chosen;
};
const full = { inFlight: 10 };
const swamped = { bufferDepth: 10 };

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 8 });
const anyView = fc.record({
  inFlight: fc.nat({ max: 12 }),
  bufferDepth: fc.nat({ max: 12 }),
  weight: fc.constantFrom(0, 0.5, 1, 2, 5),
});
const views = ids.chain((names) =>
  fc.tuple(...names.map((id) => anyView.map((of) => view(id, of)))).map((all): ConsumerView[] => all),
);
const roll = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe("available", () => {
  it("gives the consumers that accept", () => {
    const [ann, bob] = [view("ann"), view("bob", full)];
    expect(available([ann, bob, view("cem", swamped)])).toEqual([ann]);
  });

  it("or else the consumers that defer", () => {
    const bob = view("bob", full);
    expect(available([bob, view("cem", swamped)])).toEqual([bob]);
  });

  it("never gives consumers that reject", () => {
    expect(available([view("cem", swamped)])).toEqual([]);
  });
});

describe("leastLoaded", () => {
  it("chooses the consumer with the fewest envelopes in flight", () => {
    expect(choose(leastLoaded(), [view("ann", { inFlight: 2 }), view("bob", { inFlight: 1 })])).toBe("bob");
  });

  it("chooses the first among equals", () => {
    expect(choose(leastLoaded(), [view("ann"), view("bob")])).toBe("ann");
  });

  it("divides by the weight", () => {
    const heavy = view("ann", { inFlight: 3, weight: 4 });
    expect(choose(leastLoaded(), [heavy, view("bob", { inFlight: 1 })])).toBe("ann");
  });

  it("gives nothing to weight 0, idle or not", () => {
    const idle = view("ann", { weight: 0 });
    expect(choose(leastLoaded(), [idle, view("bob", { inFlight: 5 })])).toBe("bob");
    expect(choose(leastLoaded(), [idle])).toBe(undefined);
  });

  it("waits for a full consumer only when none accepts, and never for one that rejects", () => {
    expect(
      choose(leastLoaded(), [view("ann", { inFlight: 1, maxInFlight: 1 }), view("bob", { inFlight: 9 })]),
    ).toBe("bob");
    expect(choose(leastLoaded(), [view("ann", swamped), view("bob", full)])).toBe("bob");
    expect(choose(leastLoaded(), [view("ann", swamped)])).toBe(undefined);
  });

  it("finds the same consumer as sorting", () => {
    fc.assert(
      fc.property(views, (consumers) => {
        const sorted = available(consumers.filter((one) => one.weight > 0))
          .map((one) => ({ id: one.id, load: one.inFlight / one.weight }))
          .sort((a, b) => a.load - b.load);
        expect(choose(leastLoaded(), consumers)).toBe(sorted[0]?.id);
      }),
    );
  });
});

describe("roundRobin", () => {
  it("visits all consumers equally often, in the order in which they joined", () => {
    fc.assert(
      fc.property(ids, fc.nat(), (names, from) => {
        const consumers = names.map((id) => view(id));
        const visited = names.map((_, i) => choose(roundRobin(), consumers, { turn: from + i }));
        expect([...visited].sort()).toEqual([...names].sort());
        expect(choose(roundRobin(), consumers, { turn: from + names.length })).toBe(visited[0]);
      }),
    );
  });

  it("leaves out full consumers", () => {
    const consumers = [view("ann", full), view("bob"), view("cem")];
    expect([0, 1, 2].map((turn) => choose(roundRobin(), consumers, { turn }))).toEqual(["bob", "cem", "bob"]);
  });

  it("chooses none when all reject", () => {
    expect(choose(roundRobin(), [view("ann", swamped)])).toBe(undefined);
  });
});

describe("weighted", () => {
  it("gives each consumer its share", () => {
    const consumers = [view("ann", { weight: 1 }), view("bob", { weight: 3 }), view("cem", { weight: 0 })];
    const shares = new Map<unknown, number>();
    for (let i = 0; i < 400; i++) {
      const id = choose(weighted(), consumers, { roll: i / 400 });
      shares.set(id, (shares.get(id) ?? 0) + 1);
    }
    expect(Object.fromEntries(shares)).toEqual({ ann: 100, bob: 300 });
  });

  it("chooses an available consumer with a weight, whatever the roll", () => {
    fc.assert(
      fc.property(views, roll, (consumers, at) => {
        const eligible = available(consumers).filter((one) => one.weight > 0);
        const id = choose(weighted(), consumers, { roll: at });
        if (eligible.length === 0) expect(id).toBe(undefined);
        else expect(eligible.map((one) => one.id)).toContain(id);
      }),
    );
  });
});

describe("rendezvous", () => {
  const byPayload = rendezvous<string>((one) => one.payload);
  const placed = (key: string, names: readonly string[]): string | undefined => {
    const chosen = byPayload(
      envelopeOf(key),
      names.map((id) => view(id)),
      context(),
    );
    return typeof chosen === "object" ? chosen.id : chosen;
  };
  const keys = fc.array(fc.string(), { minLength: 1, maxLength: 30 });

  it("gives a key to the same consumer, whatever the order of the consumers", () => {
    fc.assert(
      fc.property(keys, ids, fc.nat(), (all, names, by) => {
        const turned = names.map((_, i) => names[(i + by) % names.length] as string);
        for (const key of all) expect(placed(key, turned)).toBe(placed(key, names));
      }),
    );
  });

  it("moves only the keys of the member that left", () => {
    fc.assert(
      fc.property(keys, ids, fc.nat(), (all, names, at) => {
        const gone = names[at % names.length];
        const rest = names.filter((id) => id !== gone);
        fc.pre(rest.length > 0);
        for (const key of all) {
          const before = placed(key, names);
          if (before !== gone) expect(placed(key, rest)).toBe(before);
          else expect(rest).toContain(placed(key, rest));
        }
      }),
    );
  });

  it("is even over short and similar keys", () => {
    const names = ["c1", "c2", "c3", "c4", "c5"];
    const shares = new Map<string | undefined, number>();
    for (let i = 0; i < 5_000; i++) {
      const id = placed(String(i), names);
      shares.set(id, (shares.get(id) ?? 0) + 1);
    }
    expect(shares.size).toBe(5);
    for (const share of shares.values()) {
      expect(share).toBeGreaterThan(850);
      expect(share).toBeLessThan(1_150);
    }
  });

  it.each([
    ["numbers", 2, String],
    ["numbers", 16, String],
    ["names that end alike", 5, (i: number) => `${i.toString(36)}@example.org`],
    ["names that begin alike", 7, (i: number) => `customer/${i}`],
    ["single signs", 3, (i: number) => String.fromCharCode(i)],
  ])("is even over keys that are %s, for %i consumers", (_name, members, key) => {
    const names = Array.from({ length: members }, (_, i) => `count-${i}`);
    expect(chiSquare(names, 4_000, (i) => placed(key(i), names))).toBeLessThan(limit(members));
  });

  it("is even for two consumers whose ids have the same hash", () => {
    const names = ["count-1579599", "count-1762382"];
    expect(hash(names[0] as string)).toBe(hash(names[1] as string));
    expect(chiSquare(names, 4_000, (i) => placed(String(i), names))).toBeLessThan(limit(2));
    for (let i = 0; i < 100; i++)
      expect(placed(String(i), [...names].reverse())).toBe(placed(String(i), names));
  });

  it("uses the consumers of each call, not those of the call before", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(ids, { minLength: 2, maxLength: 5 }), (key, calls) => {
        for (const names of calls) {
          const fresh = rendezvous<string>((one) => one.payload);
          const views = names.map((id) => view(id));
          expect(byPayload(envelopeOf(key), views, context())).toBe(fresh(envelopeOf(key), views, context()));
        }
      }),
    );
  });

  it("chooses its consumer, full or not", () => {
    const consumers = ["ann", "bob", "cem"].map((id) => view(id));
    const id = choose(byPayload, consumers);
    const filled = consumers.map((one) => (one.id === id ? view(one.id, full) : one));
    expect(choose(byPayload, filled)).toBe(id);
  });
});

describe("sticky", () => {
  it("stays with the consumer of the key's last envelope", () => {
    const [ann, bob] = [view("ann"), view("bob", { inFlight: 9 })];
    const route = sticky<string>((one) => one.payload);
    expect(route.affinityKey?.(envelope)).toBe("a payload");
    expect(choose(route, [ann, bob], { previous: bob })).toBe("bob");
  });

  it("has another function choose the first consumer of a key", () => {
    const route = sticky<string>((one) => one.payload, roundRobin());
    expect(choose(route, [view("ann"), view("bob")], { turn: 1 })).toBe("bob");
  });
});

describe("where", () => {
  const north = match.compare(match.tag("region"), "eq", "north");
  const consumers = [view("ann", { tags: { region: "south" } }), view("bob", { tags: { region: "north" } })];

  it("keeps only consumers for which the predicate is true", () => {
    expect(choose(where(north), consumers)).toBe("bob");
    expect(choose(where(match.not(north), roundRobin()), consumers, { turn: 7 })).toBe("ann");
  });

  it("chooses none when it is true for no consumer", () => {
    expect(choose(where(match.exists(match.tag("speed"))), consumers)).toBe(undefined);
  });

  it("keeps the key of a sticky function", () => {
    const route = where<string>(
      north,
      sticky((one) => one.payload),
    );
    expect(route.affinityKey?.(envelope)).toBe("a payload");
    expect(where(north).affinityKey).toBe(undefined);
  });
});

describe("the traits of a routing function", () => {
  it.each([
    ["least loaded", true, leastLoaded()],
    ["round robin", true, roundRobin()],
    ["weighted", true, weighted()],
    ["rendezvous", false, rendezvous(() => "a key")],
    ["sticky", undefined, sticky(() => "a key")],
  ])("%s: whether any consumer is as good is %s", (label, interchangeable, route) => {
    expect(route.label).toBe(label);
    expect([route.interchangeable, route.everyone]).toEqual([interchangeable, undefined]);
  });

  it("are those of the inner function after `where`", () => {
    const everyone = Object.assign(() => undefined, { label: "all", everyone: true });
    const always = match.exists(match.tag("site"));
    expect({ ...where(always) }).toEqual({ label: "least loaded", interchangeable: true });
    expect(() => where(always, everyone)).toThrow("a function that chooses one, not all");
    expect({ ...where(always, () => undefined) }).toEqual({});
  });

  it("keep a function for everyone out of a group, because a dispatch goes to one consumer", () => {
    const everyone = Object.assign(() => undefined, { everyone: true });
    const refusal = expect.objectContaining({
      code: "ERR_OPTION",
      path: "route",
      message: expect.stringContaining("a dispatch goes to one consumer, not to all"),
    });
    expect(() => new ConsumerGroup({ route: everyone })).toThrow(refusal);
    const group = new ConsumerGroup();
    expect(() => {
      group.route = everyone;
    }).toThrow(refusal);
    expect({ ...group.route }).toEqual({ label: "least loaded", interchangeable: true });
  });
});

describe("a keyed routing function without a key", () => {
  it.each([
    ["rendezvous", () => rendezvous("customer" as never)],
    ["sticky", () => sticky(undefined as never)],
  ])("%s is refused", (name, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "ERR_OPTION", path: `${name}(key)` }));
  });
});
