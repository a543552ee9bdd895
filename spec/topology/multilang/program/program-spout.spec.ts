// Spouts of ours under another host, which a script plays: what they emit at its commands, and what becomes of that.

import { describe, expect, test } from "vitest";
import { testClock } from "../../../../lib/testing/kit/clock.js";
import { spout } from "../../../../lib/topology/definition/component.js";
import { field } from "../../../../lib/topology/definition/field.js";
import { ReliableTuples } from "../../../../lib/topology/multilang/program/program-spout.js";
import { newPendingTuple } from "../../../../lib/topology/tracking/pending-tuple.js";
import { emitted, Storm, topologyOf } from "./storm.js";

const streams = { words: { word: field.text, at: field.number } };

describe("a spout", () => {
  /** Emits what is in the source, and keeps a record of what it is told. */
  function source(items: (readonly [id: unknown, word: string])[], retries: number) {
    const told: unknown[] = [];
    const definition = spout({
      streams,
      config: { retries },
      activate: () => told.push("activate"),
      deactivate: () => told.push("deactivate"),
      next: async ({ emit }) => {
        await undefined;
        const item = items.shift();
        if (item !== undefined)
          emit.words({ word: item[1], at: 0 }, item[0] === undefined ? {} : { id: item[0] });
      },
      ack: (id) => told.push(["ack", id]),
      fail: (id, _ctx, failure) => told.push(["fail", id, failure]),
    });
    return { definition, told };
  }

  test("answers each command with its emits and a sync, after an asynchronous next too", async () => {
    const { definition, told } = source([[undefined, "a"]], 0);
    const storm = new Storm(topologyOf({ source: definition }), "source");
    for (const command of ["activate", "next", "next", "deactivate"]) storm.command(command);
    expect(await storm.until(5)).toEqual([
      { command: "sync" },
      emitted(["a", 0]),
      { command: "sync" },
      { command: "sync" },
      { command: "sync" },
    ]);
    await storm.leave();
    expect(told).toEqual(["activate", "deactivate"]);
  });

  test("calls `next` for one command as long as it emits, up to 32 tuples or `maxPending` [N1503]", async () => {
    let calls = 0;
    const counts = (left: number) =>
      spout({
        streams,
        next: ({ emit }) => {
          calls++;
          if (left-- > 0) emit.words({ word: "w", at: calls }, { id: calls });
        },
      });
    const emits = async (storm: Storm): Promise<number> => {
      const before = storm.said.length;
      storm.command("next");
      await expect.poll(() => storm.said.slice(before).at(-1)).toEqual({ command: "sync" });
      return storm.said.length - before - 1;
    };
    const many = new Storm(topologyOf({ many: counts(40) }, { maxPending: 100 }), "many");
    expect([await emits(many), await emits(many), await emits(many)]).toEqual([32, 8, 0]);
    // The call that emits nothing ends a command.
    expect(calls).toBe(42);
    await many.leave();
    const few = new Storm(topologyOf({ few: counts(40) }, { maxPending: 5 }), "few");
    expect([await emits(few), await emits(few)]).toEqual([5, 0]);
    await few.leave();
  });

  test("has ids of any kind, each tuple one of its own on the wire", async () => {
    const key = { file: "a", line: 1 };
    const { definition, told } = source(
      [
        [key, "a"],
        [key, "b"],
        [0, "c"],
      ],
      0,
    );
    const storm = new Storm(topologyOf({ source: definition }), "source");
    storm.command("next");
    expect(await storm.until(4)).toEqual([
      emitted(["a", 0], { id: "3-1" }),
      emitted(["b", 0], { id: "3-2" }),
      emitted(["c", 0], { id: "3-3" }),
      { command: "sync" },
    ]);
    for (const id of ["3-2", "3-3", "3-3", "of another host"]) storm.command("ack", id);
    storm.command("fail", "3-1");
    await storm.until(9);
    expect(told.slice(1)).toEqual([
      ["ack", key],
      ["ack", 0],
      ["fail", key, { type: "failed", attempts: 1, deadLettered: false }],
    ]);
    await storm.leave();
  });

  test("emits what failed again after its waits, as often as it is to, and only then hears of it [M6]", async () => {
    const clock = testClock();
    const { definition, told } = source([["x", "a"]], 2);
    const { environment } = clock;
    const storm = new Storm(topologyOf({ source: definition }), "source", {}, { environment });
    const sync = { command: "sync" };
    storm.command("next");
    for (const wait of [100, 200]) {
      storm.command("fail", "3-1");
      await storm.until(storm.said.length + 1);
      await clock.advance(wait / 2);
      storm.command("next");
      await storm.until(storm.said.length + 1);
      await clock.advance(wait);
      storm.command("next");
      await storm.until(storm.said.length + 2);
    }
    storm.command("fail", "3-1");
    const tried = [sync, sync, emitted(["a", 0], { id: "3-1" }), sync];
    expect(await storm.until(11)).toEqual([emitted(["a", 0], { id: "3-1" }), sync, ...tried, ...tried, sync]);
    expect(told.slice(1)).toEqual([["fail", "x", { type: "failed", attempts: 3, deadLettered: false }]]);
    await storm.leave();
  });

  test("sends what failed for good to its stream `dead`, where that is read [M6]", async () => {
    const { definition, told } = source([["x", "a"]], 0);
    const context = { "stream->target->grouping": { dead: { undertaker: { type: "SHUFFLE" } } } };
    const storm = new Storm(topologyOf({ source: definition }), "source", context);
    for (const [command, id] of [["next"], ["fail", "3-1"], ["next"], ["ack", "3-1"]] as const)
      storm.command(command, id);
    const sync = { command: "sync" };
    expect(await storm.until(6)).toEqual([
      emitted(["a", 0], { id: "3-1" }),
      sync,
      sync,
      emitted(["x", "words", { word: "a", at: 0 }, 1, "failed"], { stream: "dead", id: "3-1" }),
      sync,
      sync,
    ]);
    expect(told.slice(1)).toEqual([["fail", "x", { type: "failed", attempts: 1, deadLettered: true }]]);
    await storm.leave();
  });

  test("remembers nothing of what is settled", () => {
    const reliable = new ReliableTuples(3, 0, true);
    for (let n = 1; n <= 100; n++) {
      const kept = newPendingTuple("words", {}, { id: n });
      reliable.kept.add(kept);
      reliable.sent(kept);
      expect(reliable.decide("fail", `3-${n}`)?.type).toBe("letter");
      reliable.sent(kept);
      expect(reliable.decide("ack", `3-${n}`)?.type).toBe("failed");
      reliable.settled(kept);
      expect([reliable.kept.size, reliable.pending.inFlight, reliable.pending.find(0, n)]).toEqual([
        0,
        0,
        undefined,
      ]);
    }
    for (const id of ["3-101", "4-1", "3-1-1", "3-", "3-x", "x", "3-9999999999999999", 7, undefined])
      expect(reliable.decide("ack", id)).toBeUndefined();
  });

  test("fails a tuple that cannot be written as JSON, and its dead letter that cannot, and goes on", async () => {
    const told: unknown[] = [];
    const items: [n: unknown, id: unknown][] = [
      [1n, "values"],
      [1, 2n],
    ];
    const big = spout({
      streams: { numbers: { n: field.of<unknown>() } },
      config: { retries: 0 },
      next: ({ emit }) => {
        const [n, id] = items.shift() ?? [];
        if (id !== undefined) emit.numbers({ n }, { id });
      },
      fail: (id, _ctx, failure) => void told.push([id, failure]),
    });
    const context = { "stream->target->grouping": { dead: { undertaker: { type: "SHUFFLE" } } } };
    const storm = new Storm(topologyOf({ big }), "big", context);
    // A letter has the values and the id of its tuple in it, so neither of these can be written.
    for (const [command, id] of [["next"], ["next"], ["fail", "3-2"], ["next"]] as const) {
      const before = storm.said.length;
      storm.command(command, id);
      await storm.until(before + 1);
      await storm.settled();
    }
    const failure = { type: "failed", attempts: 1, deadLettered: false };
    expect(told).toEqual([
      ["values", failure],
      [2n, failure],
    ]);
    expect(storm.errors).toEqual([]);
    await storm.leave();
  });

  test("without `fail` logs, once, that no code handles a failure", async () => {
    let n = 0;
    const deaf = spout({
      streams,
      config: { retries: 0 },
      next: ({ emit }) => emit.words({ word: "a", at: ++n }, { id: n }),
    });
    const storm = new Storm(topologyOf({ deaf }), "deaf");
    for (const [command, id] of [["next"], ["next"], ["fail", "3-1"], ["fail", "3-2"]] as const)
      storm.command(command, id);
    await storm.until(6);
    const logged = storm.heard.filter(({ command }) => command === "log");
    expect(logged).toEqual([
      {
        command: "log",
        level: 4,
        msg: expect.stringContaining("failed for good after 1 tries, and no code handles that"),
      },
    ]);
    await storm.leave();
  });

  test("is not asked for more than it may have under way [M6]", async () => {
    let calls = 0;
    const eager = spout({
      streams,
      config: { maxPending: 2 },
      next: ({ emit }) => emit.words({ word: "a", at: ++calls }, { id: calls }),
    });
    const storm = new Storm(topologyOf({ eager }), "eager");
    for (let i = 0; i < 4; i++) storm.command("next");
    await storm.until(6);
    expect(calls).toBe(2);
    storm.command("ack", "3-1");
    storm.command("next");
    await storm.until(9);
    expect(calls).toBe(3);
    await storm.leave();
  });

  test("is notified at its end of tuples under way, whose outcome it would never learn", async () => {
    const { definition, told } = source([["x", "a"]], 2);
    const storm = new Storm(topologyOf({ source: definition }), "source");
    storm.command("next");
    await storm.until(2);
    await storm.leave();
    expect(told.slice(1)).toEqual([
      ["fail", "x", { type: "stopped", attempts: 1, deadLettered: false }],
      "deactivate",
    ]);
  });

  test("that is done is not asked any more", async () => {
    let calls = 0;
    const once = spout({
      streams,
      next: ({ done }) => {
        calls++;
        done();
      },
    });
    const storm = new Storm(topologyOf({ once }), "once");
    for (let i = 0; i < 3; i++) storm.command("next");
    await storm.until(3);
    expect(calls).toBe(1);
    await storm.leave();
  });
});
