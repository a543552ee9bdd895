// The machine of a feed: what is asked for when, and what each viewer is sent.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../lib/admin/json-view.js";
import { applied } from "../../../lib/observer/feed/difference.js";
import { decide, initial } from "../../../lib/observer/feed/feed-machine.js";
import type {
  FeedEffect,
  FeedEvent,
  FeedInput,
  FeedLimits,
  Wanted,
} from "../../../lib/observer/feed/feed-state.js";

const LIMITS: FeedLimits = {
  ...{ viewers: 3, viewsOfOne: 4, views: 6, polls: 2 },
  ...{ pollMs: 10_000, heartbeatMs: 15_000, stalledMs: 60_000 },
};
const view = (op: string, more: Partial<Wanted> = {}): Wanted => ({ key: op, op, args: {}, hz: 1, ...more });
type Moment<T> = T extends { readonly now: number } ? Omit<T, "now"> : never;

/** A machine with a clock, whose questions a test answers. */
class Bench {
  now = 0;
  readonly state = initial(LIMITS);
  effects: readonly FeedEffect[] = [];
  /** All questions so far, by the operation. */
  readonly asked: { op: string; poll: number; view: string; at: number }[] = [];
  readonly sent = new Map<number, FeedEvent[]>();

  do(event: Moment<FeedInput>): readonly FeedEffect[] {
    [, this.effects] = decide(this.state, { ...event, now: this.now } as FeedInput);
    for (const effect of this.effects) {
      if (effect.type === "poll") this.asked.push({ ...effect, at: this.now });
      if (effect.type === "send") {
        const all = this.sent.get(effect.viewer) ?? [];
        this.sent.set(effect.viewer, [...all, ...effect.events]);
      }
    }
    return this.effects;
  }

  open(viewer: number, ...wanted: Wanted[]): readonly FeedEffect[] {
    const opened = this.do({ type: "open", viewer, wanted });
    this.do({ type: "ready", viewer });
    return [...opened, ...this.effects];
  }

  at(now: number): readonly FeedEffect[] {
    this.now = now;
    return this.do({ type: "tick" });
  }

  /** Answers the last question about an operation. */
  answer(op: string, value: Json): readonly FeedEffect[] {
    const last = this.asked.findLast((one) => one.op === op);
    return this.do({ type: "answer", poll: last?.poll ?? 0, view: last?.view ?? "", value });
  }

  fail(op: string, message: string): readonly FeedEffect[] {
    const last = this.asked.findLast((one) => one.op === op);
    const fault = { name: "Error", message };
    return this.do({ type: "failure", poll: last?.poll ?? 0, view: last?.view ?? "", fault });
  }

  events(viewer: number): FeedEvent[] {
    const events = this.sent.get(viewer) ?? [];
    this.sent.delete(viewer);
    return events;
  }
}

const types = (events: readonly FeedEvent[]): string[] => events.map(({ type }) => type);

it("a feed that nobody looks at has no timer [N1641]", () => {
  const bench = new Bench();
  bench.open(1, view("top"));
  bench.open(2, view("top"), view("slow"));
  bench.answer("top", 1);
  expect(bench.do({ type: "close", viewer: 1 })).not.toContainEqual({ type: "rest" });
  // Also while a question is under way.
  expect(bench.do({ type: "close", viewer: 2 })).toContainEqual({ type: "rest" });
  expect(bench.at(60_000)).toEqual([]);
  expect(types(bench.open(3, view("top")) as never)).toContain("wake");
});

describe("a view", () => {
  it("is asked for once for all viewers, whatever the order of its arguments is [N1569]", () => {
    const bench = new Bench();
    bench.open(1, view("top", { args: { by: "age", limit: 5 } }));
    bench.open(2, view("top", { key: "mine", args: { limit: 5, by: "age" } }));
    bench.open(3, view("top", { args: { by: "age", limit: 6 } }));
    expect(bench.asked).toHaveLength(2);
    bench.answer("top", [1]);
    expect(bench.events(3)).toEqual([{ type: "whole", key: "top", revision: 1, value: [1] }]);
  });

  it("is sent whole first, then as changes, and not at all when nothing has changed [N1570]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.answer("top", { depth: 1, name: "a" });
    bench.do({ type: "ready", viewer: 1 });
    bench.at(1_000);
    bench.answer("top", { depth: 1, name: "a" });
    bench.at(2_000);
    bench.answer("top", { depth: 2, name: "a" });
    expect(bench.events(1)).toEqual([
      { type: "whole", key: "top", revision: 1, value: { depth: 1, name: "a" } },
      { type: "change", key: "top", revision: 2, from: 1, patch: ["o", [["depth", ["=", 2]]], []] },
    ]);
  });

  it("is asked for as often as the viewer who wants it most often asks, and no more [N1569]", () => {
    const bench = new Bench();
    bench.open(1, view("top", { hz: 1 }));
    bench.open(2, view("top", { hz: 4 }));
    bench.answer("top", 0);
    for (let now = 50; now <= 1_000; now += 50) {
      bench.at(now);
      bench.answer("top", now);
    }
    expect(bench.asked.map(({ at }) => at)).toEqual([0, 250, 500, 750, 1_000]);
    bench.do({ type: "close", viewer: 2 });
    for (let now = 1_050; now <= 3_000; now += 50) {
      bench.at(now);
      bench.answer("top", now);
    }
    expect(bench.asked.slice(5).map(({ at }) => at)).toEqual([1_250, 2_250]);
  });

  it("that takes long is asked for less often: it gets half of the time [N1571]", () => {
    const bench = new Bench();
    bench.open(1, view("slow", { hz: 4 }));
    bench.now = 3_000;
    bench.answer("slow", 1);
    bench.at(5_999);
    expect(bench.asked).toHaveLength(1);
    bench.at(6_000);
    expect(bench.asked).toHaveLength(2);
  });

  it("has one question at a time, and at most so many are asked at once, those first that wait longest [N1571]", () => {
    const bench = new Bench();
    bench.open(1, view("a"), view("b"), view("c"), view("d"));
    expect(bench.asked.map(({ op }) => op)).toEqual(["a", "b"]);
    bench.answer("b", 1);
    expect(bench.asked.map(({ op }) => op)).toEqual(["a", "b", "c"]);
    bench.at(5_000);
    expect(bench.asked).toHaveLength(3);
    bench.answer("c", 1);
    // `b` is due again, and `d` waits for longer.
    expect(bench.asked.at(-1)?.op).toBe("d");
  });

  it("without an answer is given up after a time, with a fault, and asked for again [N1571]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    const effects = bench.at(10_000);
    expect(effects).toContainEqual({ type: "abandon", poll: 1 });
    const [fault] = bench.events(1);
    expect(fault).toMatchObject({ type: "fault", key: "top", error: { code: "ERR_ADMIN_TIMEOUT" } });
    // Its answer is late.
    expect(bench.do({ type: "answer", poll: 1, view: bench.asked[0]?.view as string, value: 1 })).toEqual([]);
    bench.at(20_000);
    expect(bench.asked).toHaveLength(2);
  });

  it("that fails is a fault, told once, and the next value is whole [N1572]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.answer("top", 7);
    bench.do({ type: "ready", viewer: 1 });
    bench.at(1_000);
    bench.fail("top", "no such process");
    bench.do({ type: "ready", viewer: 1 });
    bench.at(2_000);
    bench.fail("top", "no such process");
    bench.at(3_000);
    bench.answer("top", 7);
    expect(bench.events(1)).toEqual([
      { type: "whole", key: "top", revision: 1, value: 7 },
      { type: "fault", key: "top", error: { name: "Error", message: "no such process" } },
      { type: "whole", key: "top", revision: 2, value: 7 },
    ]);
  });

  it("ends with its last viewer, and so does its question [N1569]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.open(2, view("top"));
    expect(bench.do({ type: "close", viewer: 1 })).toEqual([]);
    expect(bench.do({ type: "close", viewer: 2 })).toContainEqual({ type: "abandon", poll: 1 });
    expect(bench.state.views.size).toBe(0);
    expect(bench.state.polling).toBe(0);
    bench.at(60_000);
    expect(bench.asked).toHaveLength(1);
  });
});

describe("a viewer", () => {
  it("that is slow is sent nothing more, and then `reset` and the latest value [N1573]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    for (let i = 0; i < 10; i++) {
      bench.at(i * 1_000);
      bench.answer("top", i);
    }
    expect(bench.events(1)).toEqual([{ type: "whole", key: "top", revision: 1, value: 0 }]);
    bench.do({ type: "ready", viewer: 1 });
    expect(bench.events(1)).toEqual([
      { type: "reset", key: "top" },
      { type: "whole", key: "top", revision: 10, value: 9 },
    ]);
  });

  it("that has missed one revision gets a change [N1573]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.answer("top", 0);
    bench.at(1_000);
    bench.answer("top", 1);
    bench.do({ type: "ready", viewer: 1 });
    expect(types(bench.events(1))).toEqual(["whole", "change"]);
  });

  it("is not held up by another one that is slow [N1573]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.open(2, view("top"));
    for (let i = 0; i < 5; i++) {
      bench.at(i * 1_000);
      bench.answer("top", i);
      bench.do({ type: "ready", viewer: 2 });
    }
    expect(types(bench.events(1))).toEqual(["whole"]);
    expect(types(bench.events(2))).toEqual(["whole", "change", "change", "change", "change"]);
  });

  it("that comes later gets the value that is known at once, whole [N1570]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.answer("top", 5);
    bench.open(2, view("top", { key: "later" }));
    expect(bench.events(2)).toEqual([{ type: "whole", key: "later", revision: 1, value: 5 }]);
  });

  it("gets a sign of life when there is nothing to send, and is closed when it takes nothing for a minute [N1574]", () => {
    const bench = new Bench();
    bench.open(1, view("top"));
    bench.answer("top", 1);
    bench.do({ type: "ready", viewer: 1 });
    for (let now = 1_000; now < 15_000; now += 1_000) {
      bench.at(now);
      bench.answer("top", 1);
    }
    expect(types(bench.events(1))).toEqual(["whole"]);
    bench.at(15_000);
    expect(types(bench.events(1))).toEqual(["heartbeat"]);
    bench.at(74_999);
    expect(bench.state.viewers.size).toBe(1);
    expect(bench.at(75_000)).toContainEqual({ type: "drop", viewer: 1 });
    expect(bench.state.viewers.size).toBe(0);
    expect(bench.state.views.size).toBe(0);
  });

  it("is refused beyond the limits: of viewers, of its views, and of all views [N1575]", () => {
    const bench = new Bench();
    const five = ["a", "b", "c", "d", "e"].map((op) => view(op));
    expect(bench.open(1, ...five)).toContainEqual({
      type: "refuse",
      viewer: 1,
      problem: "a viewer may have 4 views; this one asks for 5",
    });
    bench.open(1, ...five.slice(0, 4));
    const more = ["f", "g", "h"].map((op) => view(op));
    expect(kinds(bench.open(2, ...more))).toContain("refuse");
    bench.open(2, ...more.slice(0, 2));
    // Views that are looked at already are no new ones.
    expect(kinds(bench.open(3, ...five.slice(0, 4)))).not.toContain("refuse");
    expect(kinds(bench.open(4, view("a")))).toContain("refuse");
    bench.do({ type: "close", viewer: 2 });
    expect(kinds(bench.open(4, view("a")))).not.toContain("refuse");
  });
});

const kinds = (effects: readonly FeedEffect[]): string[] => effects.map(({ type }) => type);

/** A page: what it has after the events that it got. */
function pageOf(events: readonly FeedEvent[]): Map<string, { revision: number; value: Json }> {
  const page = new Map<string, { revision: number; value: Json }>();
  for (const event of events) {
    if (event.type === "whole") page.set(event.key, { revision: event.revision, value: event.value });
    if (event.type === "reset") page.delete(event.key);
    if (event.type !== "change") continue;
    const { revision = 0, value = null } = page.get(event.key) ?? {};
    expect(revision).toBe(event.from);
    page.set(event.key, { revision: event.revision, value: applied(value, event.patch) });
  }
  return page;
}

it("whenever viewers come, stall and go on, each has the latest value once it has taken all [N1576]", () => {
  const step = fc.oneof(
    fc.record({ type: fc.constant("answer" as const), op: fc.constantFrom("a", "b"), value: fc.jsonValue() }),
    fc.record({ type: fc.constant("fail" as const), op: fc.constantFrom("a", "b") }),
    fc.record({
      type: fc.constantFrom("ready" as const, "close" as const, "open" as const),
      viewer: fc.integer({ min: 1, max: 3 }),
    }),
    fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 3_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const bench = new Bench();
      const got = new Map<number, FeedEvent[]>();
      const take = (): void => {
        for (const viewer of [1, 2, 3]) got.get(viewer)?.push(...bench.events(viewer));
      };
      for (const one of steps) {
        if (one.type === "answer") bench.answer(one.op, JSON.parse(JSON.stringify(one.value)));
        else if (one.type === "fail") bench.fail(one.op, "gone");
        else if (one.type === "pass") bench.at(bench.now + one.ms);
        else if (one.type === "ready") bench.do({ type: "ready", viewer: one.viewer });
        else if (one.type === "close") {
          bench.do({ type: "close", viewer: one.viewer });
          got.delete(one.viewer);
        } else if (!bench.state.viewers.has(one.viewer)) {
          got.set(one.viewer, []);
          bench.open(one.viewer, view("a"), view("b"));
        }
        take();
      }
      // All take what is left, twice: a sign of life may come first.
      for (let i = 0; i < 2; i++)
        for (const viewer of got.keys()) {
          bench.do({ type: "ready", viewer });
          take();
        }
      for (const [viewer, events] of got)
        for (const known of bench.state.viewers.has(viewer) ? bench.state.views.values() : [])
          if (known.value !== undefined)
            expect(JSON.stringify(pageOf(events).get(known.op)?.value)).toBe(JSON.stringify(known.value));
    }),
    { numRuns: 500 },
  );
});
