// Bolts with windows of event time under another host: what fails comes again as new tuples, which nothing but their values
// tells from others.

import { describe, expect, test } from "vitest";
import { type TestClock, testClock } from "../../../../lib/testing/kit/clock.js";
import { batchBolt } from "../../../../lib/topology/components/batch.js";
import type { WindowView } from "../../../../lib/topology/components/window-held.js";
import { sliding, tumbling } from "../../../../lib/topology/components/window-plan.js";
import { windowBolt } from "../../../../lib/topology/components/windows.js";
import type { BoltContext, BoltDefinition } from "../../../../lib/topology/definition/component.js";
import { field } from "../../../../lib/topology/definition/field.js";
import type { Tuple } from "../../../../lib/topology/definition/tuple.js";
import { Storm, topologyOf } from "./storm.js";

const input = { word: field.text, at: field.number };
const streams = { results: { from: field.number, words: field.text }, late: { word: field.text } };
const by = (values: { at: number }) => values.at;

/** Emits the words of a window, together. */
function together(
  { tuples, start }: WindowView<Tuple<{ readonly word: string; readonly at: number }>>,
  { emit }: BoltContext<typeof streams, undefined>,
): void {
  emit.results({ from: start, words: tuples.map(({ values }) => values.word).join(" ") });
}

const LONG_AGO = 4_000;

/** Windows of ten, each result with its words. */
const minutes = windowBolt({
  input,
  streams,
  window: tumbling({ ms: 10, by }),
  late: "late",
  execute: together,
});

interface Emit {
  readonly command: string;
  readonly stream: string;
  readonly tuple: readonly unknown[];
  readonly anchors: readonly string[];
  readonly id: string;
}

/** A program with a message timeout of one second. It remembers tuples for four seconds, and gathers for a quarter of one. */
class Windows {
  readonly clock: TestClock = testClock();
  readonly storm: Storm;
  #read = 0;

  constructor(definition: BoltDefinition = minutes as unknown as BoltDefinition) {
    const { environment } = this.clock;
    const conf = { "topology.message.timeout.secs": 1 };
    this.storm = new Storm(topologyOf({ windows: definition }), "windows", {}, { environment }, conf);
  }

  /** Tuples of the form `a@5`. Returns what the program says then. */
  async come(...words: string[]): Promise<string[]> {
    for (const one of words) {
      const [word, at] = one.replace(/^\d:/, "").split("@") as [string, string];
      this.storm.tuple(one, [word, Number(at)]);
    }
    await this.storm.seen("all");
    return this.said();
  }

  async pass(ms: number): Promise<string[]> {
    await this.clock.advance(ms);
    await this.storm.settled();
    return this.said();
  }

  /** What the program has said since the last call. */
  said(): string[] {
    const all = this.storm.said.filter((one) => (one as Emit).command !== "sync") as Emit[];
    const since = all.slice(this.#read);
    this.#read = all.length;
    return since.map(({ command, stream, tuple, anchors, id }) =>
      command === "emit" ? `${stream} ${tuple.join(": ")} <- ${anchors.join(" ")}` : `${command} ${id}`,
    );
  }
}

/** Has the task crash once, when it knows which tuples are new. */
function crashLater({ process, shared }: Pick<BoltContext<object, undefined>, "process" | "shared">): void {
  if (shared.has("crashed")) return;
  shared.set("crashed", true);
  process.runAfter(LONG_AGO + 10, () => {
    throw new Error("a crash");
  });
}

describe("windows of event time under another host", () => {
  test("a window whose result failed is handed over again with all of its tuples that come again [N1490]", async () => {
    const windows = new Windows();
    await windows.pass(LONG_AGO);
    expect(await windows.come("a@1", "b@5", "c@12")).toEqual([
      "results 0: a b <- a@1 b@5",
      "ack a@1",
      "ack b@5",
    ]);
    // The result failed: Storm has both come again, as tuples with other ids.
    expect(await windows.come("2:b@5")).toEqual([]);
    expect(await windows.pass(100)).toEqual([]);
    expect(await windows.come("2:a@1")).toEqual([]);
    expect(await windows.pass(150)).toEqual(["results 0: a b <- 2:a@1 2:b@5", "ack 2:a@1", "ack 2:b@5"]);
    // And fails again.
    expect(await windows.come("3:a@1", "3:b@5")).toEqual([]);
    expect(await windows.pass(250)).toEqual(["results 0: a b <- 3:a@1 3:b@5", "ack 3:a@1", "ack 3:b@5"]);
    await windows.storm.leave();
  });

  test("and with the others that it had, which are settled [N1501]", async () => {
    const windows = new Windows();
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "b@5", "c@7", "d@12");
    // Only `b` failed, in another bolt.
    await windows.come("2:b@5");
    expect(await windows.pass(250)).toEqual(["results 0: a b c <- 2:b@5", "ack 2:b@5"]);
    // What fails together may come again in two parts. Each result is whole.
    await windows.come("3:c@7");
    expect(await windows.pass(250)).toEqual(["results 0: a b c <- 3:c@7", "ack 3:c@7"]);
    await windows.come("3:a@1", "3:b@5");
    expect(await windows.pass(250)).toEqual(["results 0: a b c <- 3:a@1 3:b@5", "ack 3:a@1", "ack 3:b@5"]);
    await windows.storm.leave();
  });

  test("also when the task has crashed since, and for windows that overlap [N1501]", async () => {
    const fragile = windowBolt({
      input,
      streams,
      window: sliding({ ms: 20, everyMs: 10, by }),
      execute: together,
      activate: crashLater,
    });
    const windows = new Windows(fragile as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    await windows.come("a@12", "b@15", "c@30");
    expect(await windows.pass(10)).toEqual(["fail c@30"]);
    await windows.come("2:b@15", "2:c@30");
    expect(await windows.pass(250)).toEqual([
      "results 0: a b <- 2:b@15",
      "results 10: a b <- 2:b@15",
      "ack 2:b@15",
    ]);
    await windows.storm.leave();
  });

  test("of tuples with the same values, each that comes again stands for one [N1501]", async () => {
    const windows = new Windows();
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "1:a@1", "b@5", "c@12");
    await windows.come("2:a@1");
    expect(await windows.pass(250)).toEqual(["results 0: a a b <- 2:a@1", "ack 2:a@1"]);
    await windows.come("3:a@1", "4:a@1");
    expect(await windows.pass(250)).toEqual(["results 0: a a b <- 3:a@1 4:a@1", "ack 3:a@1", "ack 4:a@1"]);
    await windows.storm.leave();
  });

  test("a tuple that did not come again is not in `added`, cannot be settled, and is no anchor [N1501]", async () => {
    const seen: string[] = [];
    const curious = windowBolt({
      input,
      streams,
      window: tumbling({ ms: 10, by }),
      execute: ({ tuples, added }, ctx) => {
        const [kept, came] = tuples;
        if (kept === undefined || came === undefined || added.length === 2) return;
        seen.push(...added.map(({ values }) => values.word));
        const attempts = [
          () => ctx.ack(kept),
          () => ctx.emit.results({ from: 0, words: "" }, { anchors: kept }),
        ];
        for (const attempt of attempts)
          try {
            attempt();
          } catch (error) {
            seen.push((error as Error).name);
          }
        ctx.emit.results({ from: 0, words: "came" }, { anchors: came });
        ctx.ack(came);
      },
    });
    const windows = new Windows(curious as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "b@5", "c@12");
    await windows.come("2:b@5");
    expect(await windows.pass(250)).toEqual(["results 0: came <- 2:b@5", "ack 2:b@5"]);
    expect(seen).toEqual(["b", "SettledError", "AnchorError"]);
    await windows.storm.leave();
  });

  test("and after a try that threw, without those of the try [N1501]", async () => {
    let throws = true;
    const fragile = windowBolt({
      input,
      streams,
      window: tumbling({ ms: 10, by }),
      retries: 0,
      execute: (window, ctx) => {
        if (throws) throw new Error("not yet");
        together(window, ctx);
      },
    });
    const windows = new Windows(fragile as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    expect(await windows.come("a@1", "poison@5", "c@12")).toEqual(["fail a@1", "fail poison@5"]);
    throws = false;
    await windows.come("2:a@1");
    expect(await windows.pass(250)).toEqual(["results 0: a <- 2:a@1", "ack 2:a@1"]);
    await windows.storm.leave();
  });

  test("and of windows that overlap, those that have ended; the tuple is in the open ones, too [N1490]", async () => {
    const overlapping = windowBolt({
      input,
      streams,
      window: sliding({ ms: 20, everyMs: 10, by }),
      execute: together,
    });
    const windows = new Windows(overlapping as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    expect(await windows.come("a@12", "b@20")).toEqual(["results 0: a <- a@12"]);
    expect(await windows.come("2:a@12")).toEqual([]);
    expect(await windows.pass(250)).toEqual(["results 0: a a <- a@12 2:a@12"]);
    expect(await windows.come("c@30")).toEqual([
      "results 10: a a b <- a@12 2:a@12 b@20",
      "ack a@12",
      "ack 2:a@12",
    ]);
    await windows.storm.leave();
  });

  test("while other windows go on [N1490]", async () => {
    const windows = new Windows();
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "b@12");
    expect(await windows.come("2:a@1", "c@23")).toEqual(["results 10: b <- b@12", "ack b@12"]);
    expect(await windows.pass(250)).toEqual(["results 0: a <- 2:a@1", "ack 2:a@1"]);
    expect(await windows.come("d@31")).toEqual(["results 20: c <- c@23", "ack c@23"]);
    await windows.storm.leave();
  });

  test("a tuple whose equal has not come is late, and late again when it comes again [N1491]", async () => {
    const windows = new Windows();
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "b@12");
    expect(await windows.come("late@2")).toEqual(["late late <- late@2", "ack late@2"]);
    expect(await windows.come("2:late@2")).toEqual(["late late <- 2:late@2", "ack 2:late@2"]);
    // After four to eight timeouts nothing comes again.
    for (const word of ["c@13", "d@14"]) {
      expect(await windows.pass(LONG_AGO)).toEqual([]);
      expect(await windows.come(word)).toEqual([]);
    }
    expect(await windows.come("2:a@1")).toEqual(["late a <- 2:a@1", "ack 2:a@1"]);
    await windows.storm.leave();
  });

  test("a program that runs for less than four message timeouts has no late tuple: it may have crashed [N1492]", async () => {
    const windows = new Windows();
    // The program before this one was killed with `a` and `b`. The host has them fail when their time is over.
    expect(await windows.come("c@12")).toEqual([]);
    await windows.pass(1_000);
    expect(await windows.come("2:a@1")).toEqual([]);
    expect(await windows.pass(250)).toEqual(["results 0: a <- 2:a@1", "ack 2:a@1"]);
    expect(await windows.come("2:b@5")).toEqual([]);
    expect(await windows.pass(250)).toEqual(["results 0: a b <- 2:b@5", "ack 2:b@5"]);
    await windows.pass(2_500);
    expect(await windows.come("d@3")).toEqual(["late d <- d@3", "ack d@3"]);
    await windows.storm.leave();
  });

  test("tuples that a task held when it crashed still get into their window [N1493]", async () => {
    const fragile = windowBolt({
      input,
      streams,
      window: tumbling({ ms: 10, by }),
      execute: together,
      retries: 0,
      activate: crashLater,
    });
    const windows = new Windows(fragile as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "b@5");
    expect(await windows.pass(10)).toEqual(["fail a@1", "fail b@5"]);
    // Another tuple is quicker, and then one of both.
    expect(await windows.come("c@12", "2:a@1")).toEqual([]);
    expect(await windows.come("2:b@5")).toEqual([]);
    expect(await windows.pass(250)).toEqual(["results 0: a b <- 2:a@1 2:b@5", "ack 2:a@1", "ack 2:b@5"]);
    // The program has gone on, so it knows what is late.
    expect(await windows.come("late@3")).toEqual(["fail late@3"]);
    await windows.storm.leave();
  });

  test("gathered tuples count for `maxHeld` [N1490]", async () => {
    const small = windowBolt({
      input,
      streams,
      window: tumbling({ ms: 10, by }),
      maxHeld: 2,
      execute: ({ start }, { emit }) => emit.results({ from: start, words: "" }),
    });
    const windows = new Windows(small as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    await windows.come("a@1", "b@2", "c@12");
    expect(await windows.come("2:a@1", "2:b@2")).toEqual(["fail 2:b@2"]);
    // But they do not wait for room when their time has come.
    await windows.come("d@13");
    expect(await windows.pass(250)).toEqual(["results 0:  <- 2:a@1", "ack 2:a@1"]);
    await windows.storm.leave();
  });

  test("without `late`, a late tuple fails, and the log says so [N1491]", async () => {
    const plain = windowBolt({ input, window: tumbling({ ms: 10, by }), execute: () => undefined });
    const windows = new Windows(plain as unknown as BoltDefinition);
    await windows.pass(LONG_AGO);
    expect(await windows.come("a@1", "b@12", "late@2")).toEqual(["ack a@1", "fail late@2"]);
    expect(windows.storm.heard.filter(({ command }) => command === "log").map(({ msg }) => msg)).toEqual([
      "failed a tuple of lines.lines for good: it is late, as 0 were before; `late` takes such tuples",
    ]);
    await windows.storm.leave();
  });
});

test("at the end of a program no batch and no window is handed over: what is held comes again [N1498]", async () => {
  const batches = batchBolt({
    input,
    streams,
    size: 3,
    execute: (batch, { emit }) => emit.results({ from: batch.length, words: "" }),
  });
  for (const definition of [batches, minutes]) {
    const windows = new Windows(definition as unknown as BoltDefinition);
    expect(await windows.come("a@1", "b@5")).toEqual([]);
    expect(await windows.storm.leave()).toBeUndefined();
    expect(windows.said()).toEqual([]);
  }
});
