// A feed as a process, with streams that are read at any speed, in virtual time.

import fc from "fast-check";
import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Json } from "../../../lib/admin/json-view.js";
import { FeedDesk } from "../../../lib/observer/feed/desk.js";
import type { EventStream } from "../../../lib/observer/feed/event-stream.js";
import { OBSERVER_LIMITS } from "../../../lib/observer/feed/limits.js";
import { until } from "../../support/until.js";
import { EventReader } from "../support.js";

/** Tables, as operations give them, and anything else. */
const table = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(5)), {
    selector: ([pid]) => pid,
    maxLength: 9,
  })
  .map((rows): Json => rows.map(([pid, depth]) => ({ pid: `shop.${pid}`, depth })));
const value = fc.oneof({ weight: 3, arbitrary: table }, fc.jsonValue() as fc.Arbitrary<Json>);
/** A new value, or the failure of the operation, and which readers read meanwhile. */
const step = fc.record({
  value: fc.option(value, { nil: undefined, freq: 8 }),
  readers: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
});

it("however fast its viewers read, each has the latest value when it has read all [N1576]", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), value, async (steps, last) => {
      const clock = testClock();
      await using system = new System({ environment: clock.environment, report: false });
      let now: Json | undefined = null;
      const desk = new FeedDesk(OBSERVER_LIMITS, () => ({
        ...{ name: "shop", systems: [], names: [], leaveOf: () => "look" },
        look: async () => {
          if (now === undefined) throw new Error("it fails");
          return JSON.parse(JSON.stringify(now)) as Json;
        },
      }));
      await system.start(desk.feed());
      const wanted = { key: "all", op: "any", args: {}, hz: 4 };
      const readers = await Promise.all(
        [0, 1, 2].map(async () => new EventReader((await desk.open([wanted], () => undefined)).body)),
      );
      // A read that waits for the next event ends with it.
      const reading = new Map<EventReader, Promise<unknown>>();
      const read = (reader: EventReader): void => {
        if (reading.has(reader)) return;
        reading.set(
          reader,
          reader.next().then(() => reading.delete(reader)),
        );
      };
      for (const one of steps) {
        now = one.value;
        readers.filter((_, i) => one.readers[i]).forEach(read);
        await clock.advance(250);
      }
      now = JSON.parse(JSON.stringify(last)) as Json;
      const isLatest = (reader: EventReader): boolean =>
        JSON.stringify(reader.values.get("all")) === JSON.stringify(now);
      await until(async () => {
        readers.filter((reader) => !isLatest(reader)).forEach(read);
        await clock.advance(250);
        return readers.every(isLatest);
      });
      expect(readers.every(isLatest)).toBe(true);
      for (const reader of readers) await reader.cancel();
    }),
    { numRuns: 60 },
  );
});

/** A desk whose operation gives a new value each time, on a clock of the test. */
async function opened() {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  let count = 0;
  const desk = new FeedDesk(OBSERVER_LIMITS, () => ({
    ...{ name: "shop", systems: [], names: [], leaveOf: () => "look" },
    look: async () => ++count,
  }));
  const pid = await system.start(desk.feed());
  let closed = 0;
  const open = (): Promise<EventStream> =>
    desk.open([{ key: "all", op: "any", args: {}, hz: 4 }], () => void closed++);
  return { clock, system, pid, open, closed: () => closed };
}

describe("whoever opened a stream is told once that it has ended, and lets go of what belongs to it", () => {
  it("when its reader goes [N1642]", async () => {
    const { open, closed } = await opened();
    const { body } = await open();
    expect(closed()).toBe(0);
    await body.cancel();
    expect(closed()).toBe(1);
  });

  it("when it is ended, and then again [N1642]", async () => {
    const { open, closed } = await opened();
    const stream = await open();
    stream.end();
    stream.end();
    stream.drop();
    expect(closed()).toBe(1);
  });

  it("when its reader takes nothing for a minute [N1642]", async () => {
    const { clock, open, closed } = await opened();
    const reader = new EventReader((await open()).body);
    await reader.next();
    await clock.advance(OBSERVER_LIMITS.stalledMs + 1_000);
    expect(closed()).toBe(1);
    await expect(
      (async () => {
        while ((await reader.next()) !== undefined);
      })(),
    ).rejects.toMatchObject({ code: "ERR_OBSERVER_BUSY" });
  });

  it("when the feed crashes [N1642]", async () => {
    const { system, pid, open, closed } = await opened();
    const reader = new EventReader((await open()).body);
    system.exit(pid, "kill");
    expect(await reader.next()).toBeUndefined();
    expect(closed()).toBe(1);
  });

  it("when there is no room for it [N1642]", async () => {
    const { open, closed } = await opened();
    const streams = await Promise.all(Array.from({ length: OBSERVER_LIMITS.viewers }, open));
    await expect(open()).rejects.toMatchObject({ code: "ERR_OBSERVER_BUSY" });
    expect(closed()).toBe(0);
    for (const { body } of streams) await body.cancel();
    expect(closed()).toBe(OBSERVER_LIMITS.viewers);
  });
});
