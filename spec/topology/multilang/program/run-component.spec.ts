// Components of ours under another host, which a script plays: one task, from its handshake to its end.

import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { testClock } from "../../../../lib/testing/kit/clock.js";
import { batchBolt } from "../../../../lib/topology/components/batch.js";
import { tumbling } from "../../../../lib/topology/components/window-plan.js";
import { windowBolt } from "../../../../lib/topology/components/windows.js";
import { type BoltContext, bolt, spout } from "../../../../lib/topology/definition/component.js";
import { field } from "../../../../lib/topology/definition/field.js";
import type { Tuple } from "../../../../lib/topology/definition/tuple.js";
import { runComponent } from "../../../../lib/topology/multilang/program/run-component.js";
import { gate } from "../../../support/gate.js";
import { emitted, Storm, topologyOf } from "./storm.js";

const streams = { words: { word: field.text, at: field.number } };
const input = { text: field.text };

const split = bolt({
  input,
  streams,
  execute: ({ values }, { emit }) => {
    for (const [at, word] of values.text.split(" ").entries()) {
      if (word === "bad") throw new Error("a bad word");
      emit.words({ word, at });
    }
  },
});

const heartbeat = { id: "h", comp: null, stream: "__heartbeat", task: -1, tuple: [] };
const tick = (id: string) => ({ id, comp: "__system", stream: "__tick", task: -1, tuple: [60] });

describe("a bolt", () => {
  test("answers the handshake, and leaves a file named after its process", async () => {
    const storm = new Storm(topologyOf({ split }), "split");
    storm.say(heartbeat);
    await storm.until(1);
    expect(storm.heard).toEqual([{ pid: process.pid }, { command: "sync" }]);
    expect(storm.pids).toEqual([String(process.pid)]);
    expect(await storm.leave()).toBeUndefined();
  });

  test("emits anchored to the tuple at hand, and acks it", async () => {
    const storm = new Storm(topologyOf({ split }), "split");
    storm.tuple("17", ["a b"]);
    storm.tuple(18, ["c"]);
    expect(await storm.until(5)).toEqual([
      emitted(["a", 0], { anchors: ["17"] }),
      emitted(["b", 1], { anchors: ["17"] }),
      { command: "ack", id: "17" },
      emitted(["c", 0], { anchors: [18] }),
      { command: "ack", id: 18 },
    ]);
    await storm.leave();
  });

  test("fails a tuple that it throws at, and goes on", async () => {
    const storm = new Storm(topologyOf({ split }), "split");
    storm.tuple("1", ["a bad"]);
    storm.tuple("2", ["b"]);
    expect(await storm.until(4)).toEqual([
      emitted(["a", 0], { anchors: ["1"] }),
      { command: "fail", id: "1" },
      emitted(["b", 0], { anchors: ["2"] }),
      { command: "ack", id: "2" },
    ]);
    expect(storm.errors[0]).toContain("split failed a tuple of lines.lines: Error: a bad word");
    await storm.leave();
  });

  test("fails a tuple that is none it can read", async () => {
    const storm = new Storm(topologyOf({ split }), "split");
    storm.tuple("1", [5]);
    storm.tuple("2", ["a", "b"]);
    expect(await storm.until(2)).toEqual([
      { command: "fail", id: "1" },
      { command: "fail", id: "2" },
    ]);
    expect(storm.errors[0]).toContain("field text of stream lines of lines must be a text; got 5");
    expect(storm.errors[1]).toContain("must have 1 values (text)");
    await storm.leave();
  });

  test("goes by the names of the fields that the host tells", async () => {
    const fields = { "source->stream->fields": { lines: { lines: ["file", "text"] } } };
    const storm = new Storm(topologyOf({ split }), "split", fields);
    storm.tuple("1", ["a.txt", "hello"]);
    expect((await storm.until(2))[0]).toEqual(emitted(["hello", 0], { anchors: ["1"] }));
    await storm.leave();
  });

  test("or of the topology's own streams", async () => {
    const lines = spout({
      streams: { lines: { file: field.text, text: field.text } },
      next: () => undefined,
    });
    const storm = new Storm(topologyOf({ lines, split }), "split");
    storm.tuple("1", ["a.txt", "hello"]);
    expect((await storm.until(2))[0]).toEqual(emitted(["hello", 0], { anchors: ["1"] }));
    await storm.leave();
  });

  test("of mode `fail` fails every tuple", async () => {
    const sink = bolt({ input, mode: "fail", execute: () => undefined });
    const storm = new Storm(topologyOf({ sink }), "sink");
    storm.tuple("1", ["a"]);
    expect(await storm.until(1)).toEqual([{ command: "fail", id: "1" }]);
    await storm.leave();
  });

  test("may be asynchronous: one tuple at a time, anchored to it all along, heartbeats answered meanwhile", async () => {
    const late = gate();
    const slow = bolt({
      input,
      streams,
      execute: async ({ values }, { emit }) => {
        await late.promise;
        emit.words({ word: values.text, at: 0 });
      },
    });
    const storm = new Storm(topologyOf({ slow }), "slow");
    storm.tuple("1", ["a"]);
    storm.tuple("2", ["b"]);
    storm.say(heartbeat);
    expect(await storm.until(1)).toEqual([{ command: "sync" }]);
    late.open();
    expect((await storm.until(5)).slice(1)).toEqual([
      emitted(["a", 0], { anchors: ["1"] }),
      { command: "ack", id: "1" },
      emitted(["b", 0], { anchors: ["2"] }),
      { command: "ack", id: "2" },
    ]);
    await storm.leave();
  });

  test("may work on several tuples at a time, each with its own anchor, and its end waits for them [M6]", async () => {
    const gates = new Map([..."abcd"].map((text) => [text, gate()]));
    const begun: string[] = [];
    const wide = bolt({
      input,
      streams,
      config: { concurrency: 2 },
      execute: async ({ values: { text } }, { emit }) => {
        begun.push(text);
        await gates.get(text)?.promise;
        if (text === "b") throw new Error("a bad word");
        emit.words({ word: text, at: 0 });
      },
      close: () => begun.push("close"),
    });
    const storm = new Storm(topologyOf({ wide }), "wide");
    for (const text of "abcd") storm.tuple(text, [text]);
    await storm.settled();
    expect(begun).toEqual(["a", "b"]);
    gates.get("b")?.open();
    expect(await storm.until(1)).toEqual([{ command: "fail", id: "b" }]);
    gates.get("c")?.open();
    expect((await storm.until(3)).slice(1)).toEqual([
      emitted(["c", 0], { anchors: ["c"] }),
      { command: "ack", id: "c" },
    ]);
    await storm.settled();
    expect(begun).toEqual(["a", "b", "c", "d"]);
    const end = storm.leave();
    await storm.settled();
    expect(begun).toHaveLength(4);
    gates.get("a")?.open();
    gates.get("d")?.open();
    await end;
    expect(storm.said.slice(3)).toContainEqual(emitted(["a", 0], { anchors: ["a"] }));
    expect(begun[4]).toBe("close");
  });

  test("of mode `manual` settles when it likes, and anchors to what it holds", async () => {
    const held: Tuple<unknown>[] = [];
    const pairs = bolt({
      input,
      streams,
      mode: "manual",
      execute: (tuple, { emit, ack, fail }) => {
        if (held.push(tuple) < 2) return;
        emit.words({ word: "pair", at: 0 }, { anchors: held });
        emit.words({ word: "alone", at: 0 }, { anchors: [] });
        ack(held[0] as Tuple);
        fail(held[1] as Tuple);
      },
    });
    const storm = new Storm(topologyOf({ pairs }), "pairs");
    storm.tuple("1", ["a"]);
    storm.tuple("2", ["b"]);
    expect(await storm.until(4)).toEqual([
      emitted(["pair", 0], { anchors: ["1", "2"] }),
      emitted(["alone", 0], { anchors: [] }),
      { command: "ack", id: "1" },
      { command: "fail", id: "2" },
    ]);
    await storm.leave();
  });

  test.each<[string, string, (tuple: Tuple, ctx: BoltContext<typeof streams, unknown>) => void]>([
    [
      "acks twice",
      "ERR_TUPLE_SETTLED",
      (tuple, { ack }) => {
        ack(tuple);
        ack(tuple);
      },
    ],
    [
      "anchors to what it has acked",
      "ERR_TUPLE_ANCHOR",
      (tuple, { ack, emit }) => {
        ack(tuple);
        emit.words({ word: "late", at: 0 });
      },
    ],
  ])("that %s is told so", async (_text, code, work) => {
    let error: unknown;
    const wrong = bolt({
      input,
      streams,
      mode: "manual",
      execute: (tuple, ctx) => {
        try {
          work(tuple as unknown as Tuple, ctx as BoltContext<typeof streams, unknown>);
        } catch (thrown) {
          error = thrown;
        }
      },
    });
    const storm = new Storm(topologyOf({ wrong }), "wrong");
    storm.tuple("1", ["a"]);
    expect(await storm.until(1)).toEqual([{ command: "ack", id: "1" }]);
    await storm.leave();
    expect(error).toMatchObject({ code, component: "wrong", task: 3 });
  });

  test("hears which tasks its emits went to, when it asks", async () => {
    const told: unknown[] = [];
    const asks = bolt({
      input,
      streams,
      execute: (_tuple, { emit }) => {
        emit.words({ word: "a", at: 0 }, { onTasks: (tasks) => told.push(["a", ...tasks]) });
        emit.words({ word: "b", at: 0 });
        emit.words({ word: "c", at: 0 }, { task: 9, onTasks: (tasks) => told.push(["c", ...tasks]) });
        emit.words({ word: "d", at: 0 }, { onTasks: (tasks) => told.push(["d", ...tasks]) });
      },
    });
    const storm = new Storm(topologyOf({ asks }), "asks");
    storm.tuple("1", ["x"]);
    const anchors = ["1"];
    expect((await storm.until(5)).slice(0, 4)).toEqual([
      emitted(["a", 0], { anchors, need_task_ids: true }),
      emitted(["b", 0], { anchors }),
      emitted(["c", 0], { anchors, task: 9 }),
      emitted(["d", 0], { anchors, need_task_ids: true }),
    ]);
    storm.say([4, 5], [6], heartbeat);
    await storm.until(6);
    expect(told).toEqual([
      ["c", 9],
      ["a", 4, 5],
      ["d", 6],
    ]);
    await storm.leave();
  });

  test("has its hooks called: init, activate, tick; deactivate and close at the end", async () => {
    const calls: unknown[] = [];
    const hooks = bolt({
      input,
      streams,
      init: ({ component, task, index, log }) => {
        log("warn", () => "hello");
        log("debug", () => "not wanted");
        calls.push(["init", component, task, index]);
        return { ticks: 0 };
      },
      activate: ({ state }) => calls.push(["activate", state.ticks]),
      execute: () => undefined,
      tick: ({ state, emit }) => {
        state.ticks++;
        emit.words({ word: "tick", at: state.ticks });
      },
      deactivate: () => calls.push(["deactivate"]),
      close: ({ state }, final) => calls.push(["close", state.ticks, final]),
    });
    const storm = new Storm(topologyOf({ hooks }), "hooks");
    storm.say(tick("t1"));
    expect(await storm.until(2)).toEqual([
      emitted(["tick", 1], { anchors: [] }),
      { command: "ack", id: "t1" },
    ]);
    expect(storm.heard[1]).toEqual({ command: "log", msg: "hello", level: 3 });
    expect(await storm.leave()).toBeUndefined();
    expect(calls).toEqual([["init", "hooks", 3, 1], ["activate", 0], ["deactivate"], ["close", 1, true]]);
  });

  test("without a tick of its own acks ticks", async () => {
    const storm = new Storm(topologyOf({ split }), "split");
    storm.say(tick("t1"));
    expect(await storm.until(1)).toEqual([{ command: "ack", id: "t1" }]);
    await storm.leave();
  });
});

/** Has a spout emit nothing after each call that emitted, so that a command of the host has one call. */
class Pace {
  #emitted = false;

  /** Whether this call has to emit nothing. */
  get isOver(): boolean {
    const was = this.#emitted;
    this.#emitted = false;
    return was;
  }

  emitted(): void {
    this.#emitted = true;
  }
}

describe("a component that crashes", () => {
  const fragile = bolt({
    input,
    streams,
    mode: "manual",
    init: () => ({ held: [] as Tuple<unknown>[] }),
    execute: (tuple, { state, emit, ack, process }) => {
      state.held.push(tuple);
      if (tuple.values.text === "die") throw new Error("died");
      if (tuple.values.text === "exit") process.exit("normal");
      if (tuple.values.text !== "go") return;
      emit.words({ word: "held", at: state.held.length }, { anchors: state.held });
      for (const one of state.held) ack(one);
    },
  });

  test("is started again; tuples that it held have failed, and those that waited are done", async () => {
    const storm = new Storm(topologyOf({ fragile }), "fragile");
    for (const [id, text] of ["a", "die", "b", "go"].entries()) storm.tuple(id, [text]);
    expect(await storm.until(5)).toEqual([
      { command: "fail", id: 0 },
      { command: "fail", id: 1 },
      emitted(["held", 2], { anchors: [2, 3] }),
      { command: "ack", id: 2 },
      { command: "ack", id: 3 },
    ]);
    expect(storm.errors[0]).toContain("fragile ended: Error: died");
    await storm.leave();
  });

  test("may do so by its own exit", async () => {
    const storm = new Storm(topologyOf({ fragile }), "fragile");
    storm.tuple("1", ["exit"]);
    storm.tuple("2", ["go"]);
    expect(await storm.until(3)).toEqual([
      { command: "fail", id: "1" },
      emitted(["held", 1], { anchors: ["2"] }),
      { command: "ack", id: "2" },
    ]);
    await storm.leave();
  });

  test("too often ends, with the last error as the cause", async () => {
    const storm = new Storm(topologyOf({ fragile }, { intensity: 2, periodMs: 60_000 }), "fragile");
    for (const id of [1, 2, 3, 4]) storm.tuple(id, ["die"]);
    expect(await storm.ended).toMatchObject({
      code: "ERR_COMPONENT_FAILED",
      component: "fragile",
      cause: expect.objectContaining({ message: "died" }),
    });
    expect(storm.said).toHaveLength(3);
  });

  test("in its init does not lose the tuple that waits for it", async () => {
    let starts = 0;
    const late = bolt({
      input,
      init: () => {
        if (++starts < 3) throw new Error("not yet");
      },
      execute: () => undefined,
    });
    const storm = new Storm(topologyOf({ late }), "late");
    storm.tuple("1", ["a"]);
    expect(await storm.until(1)).toEqual([{ command: "ack", id: "1" }]);
    expect(storm.errors).toHaveLength(2);
    await storm.leave();
  });

  test("may be a spout: its command is answered, and it hears of what it emitted before [M5]", async () => {
    const acked: unknown[] = [];
    const pace = new Pace();
    let calls = 0;
    const breaks = spout({
      streams,
      next: ({ emit }) => {
        if (pace.isOver) return;
        if (++calls === 2) throw new Error("died");
        emit.words({ word: "w", at: calls }, { id: calls });
        pace.emitted();
      },
      ack: (id) => void acked.push(id),
    });
    const storm = new Storm(topologyOf({ breaks }), "breaks");
    storm.command("next");
    storm.command("next");
    storm.command("ack", "3-1");
    storm.command("next");
    expect(await storm.until(6)).toEqual([
      emitted(["w", 1], { id: "3-1" }),
      { command: "sync" },
      { command: "sync" },
      { command: "sync" },
      emitted(["w", 3], { id: "3-2" }),
      { command: "sync" },
    ]);
    storm.command("ack", "3-2");
    await storm.until(7);
    expect(acked).toEqual([1, 3]);
    await storm.leave();
  });

  test("as a spout tries again what failed before and after, in its next life, and tells it of what fails for good [M5]", async () => {
    const clock = testClock();
    const told: unknown[] = [];
    const words = ["a", "b", "die"];
    const pace = new Pace();
    const breaks = spout({
      streams,
      config: { retries: 1, retryBackoff: { minMs: 100, maxMs: 100, jitter: 0 } },
      init: () => ({ life: told.push("init") }),
      next: ({ emit }) => {
        if (pace.isOver) return;
        const word = words.shift();
        if (word === "die") throw new Error("died");
        if (word === undefined) return;
        emit.words({ word, at: 0 }, { id: word });
        pace.emitted();
      },
      fail: (id, _ctx, failure) => void told.push([id, failure]),
    });
    const { environment } = clock;
    const storm = new Storm(topologyOf({ breaks }), "breaks", {}, { environment });
    const next = async (emits: number): Promise<unknown[]> => {
      const before = storm.said.length;
      storm.command("next");
      return (await storm.until(before + emits + 1)).slice(before, -1);
    };
    expect([await next(1), await next(1)]).toEqual([
      [emitted(["a", 0], { id: "3-1" })],
      [emitted(["b", 0], { id: "3-2" })],
    ]);
    // One waits for its retry when the task crashes, the other is still under way.
    storm.command("fail", "3-1");
    await storm.until(storm.said.length + 1);
    expect(await next(0)).toEqual([]);
    await clock.advance(100);
    expect(await next(1)).toEqual([emitted(["a", 0], { id: "3-1" })]);
    storm.command("fail", "3-2");
    storm.command("fail", "3-1");
    await storm.until(storm.said.length + 2);
    await clock.advance(100);
    expect(await next(1)).toEqual([emitted(["b", 0], { id: "3-2" })]);
    storm.command("fail", "3-2");
    await storm.until(storm.said.length + 1);
    const failure = { type: "failed", attempts: 2, deadLettered: false };
    expect(told).toEqual(["init", "init", ["a", failure], ["b", failure]]);
    await storm.leave();
  });

  test("or that ends by its own exit, keeps what is under way, and closes as for a restart [M5]", async () => {
    const told: unknown[] = [];
    const pace = new Pace();
    let calls = 0;
    const leaves = spout({
      streams,
      next: ({ emit, process }) => {
        if (pace.isOver) return;
        if (++calls === 2) process.exit("normal");
        emit.words({ word: "w", at: calls }, { id: calls });
        pace.emitted();
      },
      ack: (id) => void told.push(["ack", id]),
      fail: (id, _ctx, { type }) => void told.push(["fail", id, type]),
      close: (_ctx, final) => void told.push(["close", final]),
    });
    const storm = new Storm(topologyOf({ leaves }), "leaves");
    for (const [command, id] of [["next"], ["next"], ["next"], ["ack", "3-1"]] as const)
      storm.command(command, id);
    await storm.until(6);
    await storm.leave();
    expect(told).toEqual([
      ["close", false],
      ["ack", 1],
      ["fail", 3, "stopped"],
      ["close", true],
    ]);
  });

  test("has what it shares disposed of at the end, and not before [M6]", async () => {
    const told: unknown[] = [];
    const shares = bolt({
      input,
      mode: "manual",
      init: ({ shared }) => {
        told.push(`init ${shared.size}`);
        shared.set("pool", { [Symbol.asyncDispose]: async () => void told.push("disposed") });
        shared.set("broken", {
          [Symbol.dispose]: () => {
            throw new Error("cannot be disposed of");
          },
        });
      },
      execute: () => {
        throw new Error("died");
      },
    });
    const storm = new Storm(topologyOf({ shares }), "shares");
    storm.tuple("1", ["a"]);
    await storm.until(1);
    await storm.settled();
    expect(told).toEqual(["init 0", "init 2"]);
    await storm.leave();
    expect(told).toEqual(["init 0", "init 2", "disposed"]);
    expect(storm.errors[1]).toContain("cannot be disposed of");
  });

  test("is started again after the waits of its configuration", async () => {
    const clock = testClock();
    let starts = 0;
    const late = bolt({
      input,
      config: { restartBackoff: { minMs: 1_000, maxMs: 4_000, jitter: 0 } },
      init: () => {
        if (++starts < 4) throw new Error("not yet");
      },
      execute: () => undefined,
    });
    const { environment } = clock;
    const storm = new Storm(topologyOf({ late }), "late", {}, { environment });
    storm.tuple("1", ["a"]);
    await storm.untilHeard(2);
    await clock.advance(999);
    expect(starts).toBe(1);
    await clock.advance(1);
    expect(starts).toBe(2);
    await clock.advance(2_000);
    expect(starts).toBe(3);
    await clock.advance(4_000);
    expect(await storm.until(1)).toEqual([{ command: "ack", id: "1" }]);
    await storm.leave();
  });
});

describe("a bolt with a clock of its own", () => {
  const words = (said: readonly unknown[]): unknown[] =>
    (said as { command: string; tuple?: unknown[] }[]).flatMap(({ command, tuple }) =>
      command === "emit" ? tuple?.[0] : [],
    );

  test("hands over a batch that does not fill, whether or not anything comes [M7]", async () => {
    const clock = testClock();
    const batches = batchBolt({
      input,
      streams,
      size: 3,
      everyMs: 1_000,
      execute: async (batch, { emit }) => {
        await undefined;
        emit.words({ word: batch.map(({ values }) => values.text).join(" "), at: batch.length });
      },
    });
    const { environment } = clock;
    const storm = new Storm(topologyOf({ batches }), "batches", {}, { environment });
    for (const id of ["a", "b", "c", "d"]) storm.tuple(id, [id]);
    expect(words(await storm.until(4))).toEqual(["a b c"]);
    await clock.advance(999);
    expect(storm.said).toHaveLength(4);
    await clock.advance(1_000);
    expect((await storm.until(6)).slice(4)).toEqual([
      emitted(["d", 1], { anchors: ["d"] }),
      { command: "ack", id: "d" },
    ]);
    storm.tuple("e", ["e"]);
    await storm.seen("e");
    await clock.advance(2_000);
    expect(words(await storm.until(8))).toEqual(["a b c", "d", "e"]);
    await storm.leave();
  });

  test("hands over a window of time when that is over [M7]", async () => {
    const clock = testClock();
    const windows = windowBolt({
      input,
      streams,
      window: tumbling({ ms: 1_000 }),
      execute: ({ tuples }, { emit }) =>
        emit.words({ word: tuples.map(({ values }) => values.text).join(" "), at: tuples.length }),
    });
    const { environment } = clock;
    const storm = new Storm(topologyOf({ windows }), "windows", {}, { environment });
    for (const id of ["a", "b"]) storm.tuple(id, [id]);
    await storm.seen("c");
    await clock.advance(2_000);
    expect(words(await storm.until(3))).toEqual(["a b"]);
    await storm.leave();
  });

  test("that hangs ends after its `executeTimeoutMs`, and its tuple has failed", async () => {
    const clock = testClock();
    const hangs = bolt({
      input,
      config: { executeTimeoutMs: 500 },
      execute: ({ values }) => (values.text === "hang" ? new Promise(() => undefined) : undefined),
    });
    const { environment } = clock;
    const storm = new Storm(topologyOf({ hangs }), "hangs", {}, { environment });
    storm.tuple("1", ["hang"]);
    storm.tuple("2", ["fine"]);
    await storm.seen("3");
    await clock.advance(500);
    expect((await storm.until(3)).slice(1)).toEqual([
      { command: "fail", id: "1" },
      { command: "ack", id: "2" },
    ]);
    expect(storm.errors[0]).toContain("did not finish a tuple of lines.lines within 500 ms");
    await storm.leave();
  });
});

describe("the host", () => {
  test("that names a missing component gets the names of the others", async () => {
    const storm = new Storm(topologyOf({ split }), "splitt");
    expect(await storm.ended).toMatchObject({ code: "ERR_MULTILANG" });
    expect(storm.errors).toEqual(["topology test has no component splitt; it has split"]);
  });

  test.each<[string, unknown, string]>([
    ["sends a command to a bolt", { command: "next" }, "split is a bolt, and was sent a command"],
    ["sends task ids without a request", [1], "task ids came without a request: 1"],
    ["sends what is no message", { id: 1 }, "tuple of a tuple must be an array"],
  ])("that %s is told so", async (_text, message, named) => {
    const storm = new Storm(topologyOf({ split }), "split");
    storm.say(message);
    expect(await storm.ended).toMatchObject({ message: expect.stringContaining(named) });
    expect(storm.errors[0]).toContain(named);
  });

  test("that goes away ends the component, what waits undone", async () => {
    const late = gate();
    const done: string[] = [];
    const slow = bolt({
      input,
      execute: async ({ values }) => {
        await late.promise;
        done.push(values.text);
      },
      close: () => void done.push("close"),
    });
    const storm = new Storm(topologyOf({ slow }), "slow");
    storm.tuple("1", ["a"]);
    storm.tuple("2", ["b"]);
    storm.say(heartbeat);
    await storm.until(1);
    const end = storm.leave();
    late.open();
    expect(await end).toBeUndefined();
    expect(done).toEqual(["a", "close"]);
  });

  test("that goes away before the handshake is no error", async () => {
    const nobody = new PassThrough();
    const run = runComponent(topologyOf({ split }), { input: nobody, output: new PassThrough() });
    nobody.end();
    await expect(run).resolves.toBeUndefined();
  });

  test("that does not read is waited for", async () => {
    const storm = new Storm(topologyOf({ split }), "split");
    await storm.until(0);
    storm.say(heartbeat);
    await storm.until(1);
    storm.output.pause();
    const long = "x".repeat(40_000);
    for (let id = 0; id < 5; id++) storm.tuple(id, [long]);
    await new Promise((resolve) => {
      setImmediate(() => setImmediate(() => setImmediate(resolve)));
    });
    expect(storm.output.writableLength + storm.output.readableLength).toBeLessThan(3 * 40_000);
    storm.output.resume();
    expect(await storm.until(11)).toHaveLength(11);
    await storm.leave();
  });

  test("that sends faster than the component works is held back, and nothing is lost", async () => {
    const storm = new Storm(topologyOf({ split }), "split", {}, { maxWaiting: 3 });
    for (let id = 0; id < 50; id++) storm.tuple(id, ["a"]);
    const said = await storm.until(100);
    const acks = (said as { command: string; id?: number }[]).filter(({ command }) => command === "ack");
    expect(acks.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_one, id) => id));
    await storm.leave();
  });
});

test.each<[string, unknown]>([
  ["nothing", undefined],
  ["no topology", { name: "x" }],
])("%s instead of a topology is an error, at once or when it is loaded", async (_text, wrong) => {
  const streams = { input: new PassThrough(), output: new PassThrough() };
  const error = { code: "ERR_OPTION", path: "runComponent(topology)" };
  await expect(runComponent(wrong as never, streams)).rejects.toMatchObject(error);
  const storm = new Storm((() => wrong) as never, "x");
  expect(await storm.ended).toMatchObject(error);
  expect(storm.errors[0]).toContain("a topology, or a function that returns one");
});

test("a host that goes away while the topology is loaded ends the component", async () => {
  const late = gate();
  const input = new PassThrough();
  const run = runComponent(
    async () => {
      await late.promise;
      return topologyOf({ split });
    },
    { input, output: new PassThrough() },
  );
  input.destroy();
  await expect(run).resolves.toBeUndefined();
  late.open();
  await new Promise((resolve) => setImmediate(resolve));
  expect(input.isPaused()).toBe(true);
});

test.each([
  ["logLevel", "loud"],
  ["maxWaiting", 0],
  ["maxMessage", 0],
])("the option %s is checked", async (path, value) => {
  await expect(runComponent(topologyOf({ split }), { [path]: value } as object)).rejects.toMatchObject({
    code: "ERR_OPTION",
    path,
  });
});
