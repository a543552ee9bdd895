// The choice of a task along one subscription, and what it remembers.

import type { ConsumerView, RoutingFunction } from "signalbox";
import { sticky } from "signalbox";
import { grouping } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { production } from "../../../lib/process/production.js";
import { Emission, Router, type Target, UNREACHABLE } from "../../../lib/topology/runtime/router.js";

const target = (task: number, pressure: ConsumerView["pressure"] = "accept"): Target => ({
  id: `sink-${task}`,
  task,
  pid: undefined as never,
  weight: 1,
  tags: { task },
  inFlight: 0,
  maxInFlight: 1,
  bufferDepth: 0,
  maxBuffer: Number.POSITIVE_INFINITY,
  delivered: 0,
  pressure,
});
const emission = (values: object = {}): Emission => {
  const made = new Emission("source", "numbers", "node", production);
  made.payload = values;
  return made;
};

describe("a router", () => {
  it("lets the grouping choose, and takes the task or its id", () => {
    const [one, two] = [target(1), target(2)];
    const byId: RoutingFunction = () => "sink-2";
    const byTask: RoutingFunction = (_envelope, consumers) => consumers[0];
    expect(new Router<Target>(byId, 0, production).choose(emission(), [one, two])).toBe(two);
    expect(new Router<Target>(byTask, 0, production).choose(emission(), [one, two])).toBe(one);
  });

  it("shows the grouping the emitted tuple: values, component, stream and node", () => {
    let shown: unknown;
    const nosy: RoutingFunction = ({ payload, publisher, schema, id, timestamp, ...rest }) => {
      shown = { payload, publisher, schema, id, timestamp, node: (rest as unknown as { node: string }).node };
      return undefined;
    };
    new Router<Target>(nosy, 0, production).choose(emission({ n: 1 }), [target(1)]);
    expect(shown).toMatchObject({ payload: { n: 1 }, publisher: "source", schema: "numbers", node: "node" });
  });

  it("counts turns from a given first turn, so that emitters do not begin with the same task", () => {
    const targets = [target(0), target(1), target(2)];
    for (const first of [0, 1, 2, 3]) {
      const router = new Router<Target>(grouping.shuffle(), first, production);
      const chosen = [1, 2, 3, 4].map(() => (router.choose(emission(), targets) as Target).task);
      expect(chosen).toEqual([0, 1, 2, 3].map((turn) => (turn + first) % 3));
    }
  });

  it("chooses no task when the grouping chooses none of those that run", () => {
    const none: RoutingFunction = () => undefined;
    const router = new Router<Target>(none, 0, production);
    expect(router.choose(emission(), [target(1), target(2, "reject")])).toBeUndefined();
  });

  it("reports that no task can be reached when none runs", () => {
    const router = new Router<Target>(grouping.shuffle(), 0, production);
    expect(router.choose(emission(), [target(1, "reject"), target(2, "reject")])).toBe(UNREACHABLE);
    expect(router.choose(emission(), [])).toBe(UNREACHABLE);
  });

  it("chooses no task, with `direct`, for an emit that names none, whether or not one runs", () => {
    const router = new Router<Target>(grouping.direct(), 0, production);
    expect(router.choose(emission(), [target(1)])).toBeUndefined();
    expect(router.choose(emission(), [target(1, "reject")])).toBeUndefined();
    const named = emission();
    named.directTask = 1;
    const down = target(1, "reject");
    expect(router.choose(named, [down])).toBe(down);
  });

  it("reports that no task can be reached when the grouping names an unknown one, and none runs", () => {
    const ghost: RoutingFunction = () => "ghost";
    const router = new Router<Target>(ghost, 0, production);
    expect(router.choose(emission(), [target(1)])).toBeUndefined();
    expect(router.choose(emission(), [target(1, "reject")])).toBe(UNREACHABLE);
  });
});

describe("a sticky grouping", () => {
  const byKey = (): Router<Target> =>
    new Router<Target>(
      sticky(({ payload }) => String((payload as { key: number }).key)),
      0,
      production,
    );

  it("has the router remember the task of the last tuple of each key", () => {
    const [one, two] = [target(1), target(2)];
    const router = byKey();
    const first = router.choose(emission({ key: 7 }), [one, two]);
    for (let i = 0; i < 5; i++) {
      router.choose(emission({ key: 100 + i }), [one, two]);
      expect(router.choose(emission({ key: 7 }), [one, two])).toBe(first);
      expect(router.choose(emission({ key: 7 }), [two, one])).toBe(first);
    }
  });

  it("forgets a task that was taken out", () => {
    const [one, two] = [target(1), target(2)];
    const router = byKey();
    const first = router.choose(emission({ key: 7 }), [one, two]) as Target;
    const rest = [one, two].filter((each) => each !== first);
    expect(router.choose(emission({ key: 7 }), rest)).toBe(rest[0]);
    expect(router.choose(emission({ key: 7 }), [one, two])).toBe(rest[0]);
  });

  it("remembers a hundred thousand keys, and forgets the oldest", () => {
    const targets = [target(1), target(2), target(3)];
    const given: (ConsumerView | undefined)[] = [];
    const watched: RoutingFunction = Object.assign(
      ((_envelope, consumers, { previous }) => {
        given.push(previous);
        return consumers[0];
      }) as RoutingFunction,
      { affinityKey: ({ payload }: { payload: unknown }) => String((payload as { key: number }).key) },
    );
    const router = new Router<Target>(watched, 0, production);
    const shown = emission();
    for (let key = 0; key <= 100_000; key++) {
      shown.payload = { key };
      router.choose(shown, targets);
    }
    given.length = 0;
    for (const key of [1, 0]) {
      shown.payload = { key };
      router.choose(shown, targets);
    }
    expect(given).toEqual([targets[0], undefined]);
  });
});
