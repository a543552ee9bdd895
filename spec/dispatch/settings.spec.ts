// Settings of groups, dispatches, members and envelopes are checked at the boundary.

import {
  ConsumerGroup,
  consumer,
  type DispatchOptions,
  dispatch,
  GROUP_DEFAULTS,
  type GroupOptions,
  isolated,
  type JoinOptions,
  leastLoaded,
  System,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { settingsOf } from "../../lib/dispatch/settings.js";
import { CLOCK_DEFAULTS, testClock } from "../../lib/testing/kit/clock.js";

let system: System;
beforeEach(() => {
  system = new System({ environment: testClock().environment, report: false });
});
afterEach(() => system.stop());

const refused = (path: string): unknown => expect.objectContaining({ code: "ERR_OPTION", path });

const settings: readonly [string, unknown][] = [
  ["deadlineMs", -1],
  ["deadlineMs", "5s"],
  ["maxAttempts", 0],
  ["maxAttempts", 1.5],
  ["onCrash", "ignore"],
  ["patienceMs", Number.NaN],
  ["handoffMs", Number.POSITIVE_INFINITY],
  ["handoffMs", -1],
  ["compensationTimeoutMs", -1],
];

describe("a group's options", () => {
  it.each([
    ...settings,
    ["name", ""],
    ["name", 3],
    ["route", "leastLoaded"],
    ["maxWaiting", -1],
    ["window", -1],
    ["window", Number.POSITIVE_INFINITY],
    ["windowMs", -1],
    ["windowBytes", 1.5],
  ] as [string, unknown][])("refuse %s of %s", (path, value) => {
    expect(() => new ConsumerGroup({ [path]: value } as GroupOptions<unknown>)).toThrow(
      refused(path) as Error,
    );
  });

  it("have the defaults of the table", () => {
    expect(new ConsumerGroup().settings).toMatchObject({
      deadlineMs: GROUP_DEFAULTS.deadlineMs,
      maxAttempts: GROUP_DEFAULTS.maxAttempts,
      onCrash: GROUP_DEFAULTS.onCrash,
      patienceMs: GROUP_DEFAULTS.patienceMs,
      handoffMs: GROUP_DEFAULTS.handoffMs,
      compensationTimeoutMs: GROUP_DEFAULTS.compensationTimeoutMs,
    });
    expect(new ConsumerGroup().name).toBe("consumers");
  });

  it("need a `compensate` function for the policy `compensate`", () => {
    expect(() => new ConsumerGroup({ onCrash: "compensate" })).toThrow(refused("compensate") as Error);
    expect(() => new ConsumerGroup({ onCrash: "compensate", compensate: () => undefined })).not.toThrow();
  });
});

describe("a dispatch's options", () => {
  it.each(settings)("refuse %s of %s, as a rejection", async (path, value) => {
    const dispatch = system.dispatch(new ConsumerGroup(), 1, { [path]: value } as DispatchOptions<unknown>);
    await expect(dispatch).rejects.toEqual(refused(path));
  });

  it.each([[undefined], [null], [5], ["pickers"], [{}], [{ dispatch: true }]])(
    "rejects with a group that is %j, and starts no process [D43]",
    async (group) => {
      const outside = system.dispatch(group as unknown as ConsumerGroup, 1);
      expect(system.population).toBe(0);
      await expect(outside).rejects.toEqual(refused("group"));
      const inside = new Promise((resolve, reject) => {
        system.spawn((ctx) => dispatch(ctx, group as unknown as ConsumerGroup, 1).then(resolve, reject));
      });
      await expect(inside).rejects.toEqual(refused("group"));
    },
  );

  it("are those of the group where they are left out", () => {
    const { settings: base } = new ConsumerGroup({ deadlineMs: 7, maxAttempts: 8, patienceMs: 9 });
    expect(settingsOf({ maxAttempts: 2 }, base)).toMatchObject({
      deadlineMs: 7,
      maxAttempts: 2,
      patienceMs: 9,
    });
  });
});

describe("a member's options", () => {
  it.each([
    ["id", ""],
    ["maxInFlight", 0],
    ["maxBuffer", 0.5],
    ["weight", -1],
    ["weight", Number.POSITIVE_INFINITY],
    ["weight", "2"],
  ])("refuse %s of %s", (path, value) => {
    const pid = system.spawn(consumer(() => undefined));
    const join = (): unknown => new ConsumerGroup().join(pid, { [path]: value } as JoinOptions);
    expect(join).toThrow(refused(path) as Error);
  });
});

describe("an envelope's options", () => {
  it.each([
    ["id", ""],
    ["id", 3],
    ["timestamp", Number.NaN],
    ["timestamp", "today"],
    ["priority", -1],
    ["priority", 1.5],
    ["priority", 10],
  ])("refuse %s of %s", (path, value) => {
    expect(() => system.envelope("a", { [path]: value })).toThrow(refused(path) as Error);
  });

  it("are kept, and the other fields have defaults", () => {
    const causal = { causedBy: "x", correlation: "y" };
    const given = { id: "a", timestamp: 5, causal, schema: "order/1", publisher: "shop", priority: 9 };
    expect(system.envelope("tea", given)).toEqual({ ...given, payload: "tea" });
    const made = system.envelope("tea");
    expect(made).toEqual({ id: expect.any(String), timestamp: CLOCK_DEFAULTS.wallTime, payload: "tea" });
    expect(system.envelope("tea").id).not.toBe(made.id);
  });
});

describe("an isolated route's options", () => {
  it.each<[string, () => unknown]>([
    ["module", () => isolated("")],
    ["module", () => isolated("./route.js")],
    ["module", () => isolated("https://example.org/route.js")],
    ["export", () => isolated("file:///route.js", { export: "" })],
    ["timeoutMs", () => isolated("file:///route.js", { timeoutMs: 0 })],
  ])("refuse a wrong %s", (path, make) => {
    expect(make).toThrow(refused(path) as Error);
  });

  it("are accepted by a group", () => {
    expect(new ConsumerGroup({ route: isolated("file:///route.js") }).route).toBeDefined();
    expect(new ConsumerGroup({ route: leastLoaded() }).route).toBeTypeOf("function");
  });
});
