// Topologies with bolts in threads, on real threads.

import { bolt, field, grouping, spout, type TopologyRef, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { until } from "../../support/until.js";
import { batches, CLOSED, CRASHES, crashing, grind, split } from "./programs/words.js";
import { workshop } from "./support.js";

const shop = workshop("threads-topology", "words");

/** A spout of these texts, and how each ended. */
function source(texts: readonly string[]) {
  const ends: string[] = [];
  let next = 0;
  const lines = spout({
    streams: { lines: { text: field.text } },
    next: ({ emit, done }) => {
      if (next === texts.length) done();
      else {
        const text = texts[next++] as string;
        emit.lines({ text }, { id: text });
      }
    },
    ack: (id: string) => void ends.push(`${id}: acked`),
    fail: (id: string, _ctx, { type, attempts }) => void ends.push(`${id}: ${type} ${attempts}`),
  });
  return { lines, ends };
}

function sink() {
  const words: string[] = [];
  const threads = new Set<number>();
  const keep = bolt({
    input: { word: field.text, thread: field.number },
    execute: ({ values: { word, thread } }) => {
      words.push(word);
      threads.add(thread);
    },
  });
  return { keep, words, threads };
}

const board = (): Int32Array => new Int32Array(new SharedArrayBuffer(16));

/** Crashes of tasks that the topology has seen. */
const restarts = (running: TopologyRef, name: string): number =>
  running.tasks(name).reduce((sum, { restarts: one }) => sum + one, 0);

describe("a bolt in threads", () => {
  it("works on the tuples of its tasks there, and what it emits joins their trees [N1218]", async () => {
    const workers = await shop.open();
    const texts = Array.from({ length: 500 }, (_, i) => `line ${i}`);
    const [{ lines, ends }, { keep, words, threads }] = [source(texts), sink()];
    const running = await shop.system.start(
      topology("words")
        .spout("lines", lines)
        .bolt("split", split, {
          on: workers,
          tasks: 2,
          from: { "lines.lines": grouping.shuffle() },
        })
        .bolt("keep", keep, {
          from: { "split.words": grouping.fields("word") },
        })
        .build(),
    );
    await running.finished();
    expect(ends.sort()).toEqual(texts.map((text) => `${text}: acked`).sort());
    expect(words.sort()).toEqual(texts.flatMap((text) => text.split(" ")).sort());
    expect(threads.size).toBe(2);
    expect(threads.has(0)).toBe(false);
    await running.stop();
  });

  it("fails the tuple of the spout when a bolt behind it fails what it emitted [N1218]", async () => {
    const workers = await shop.open();
    const { lines, ends } = source(["line 1", "line 2"]);
    const picky = bolt({
      input: { word: field.text, thread: field.number },
      execute: ({ values: { word } }) => {
        if (word === "2") throw new Error("not this word");
      },
    });
    const running = await shop.system.start(
      topology("words", { retries: 0 })
        .spout("lines", lines)
        .bolt("split", split, { on: workers, from: { "lines.lines": grouping.shuffle() } })
        .bolt("picky", picky, { from: { "split.words": grouping.shuffle() } })
        .build(),
    );
    await until(() => ends.length === 2);
    expect(ends.toSorted()).toEqual(["line 1: acked", "line 2: failed 1"]);
    await running.stop();
  });

  it.each(["exit", "loop"])(
    "whose thread ends at once fails what it had, which is retried in another one: %s [N1219]",
    async (how) => {
      const data = board();
      data[CRASHES] = 2;
      const workers = await shop.open({ data, hungMs: 300, intensity: 10 });
      const texts = [...Array.from({ length: 200 }, (_, i) => `line ${i}`), how, "last", `${how} again`];
      const [{ lines, ends }, { keep, words }] = [source(texts), sink()];
      const running = await shop.system.start(
        topology("words", {
          retries: 10,
          retryBackoff: { minMs: 1, maxMs: 5 },
          messageTimeoutMs: 60_000,
        })
          .spout("lines", lines)
          .bolt("split", split, {
            on: workers,
            tasks: 2,
            from: { "lines.lines": grouping.shuffle() },
          })
          .bolt("keep", keep, { from: { "split.words": grouping.shuffle() } })
          .build(),
      );
      await running.finished();
      expect(ends.sort()).toEqual(texts.map((text) => `${text}: acked`).sort());
      expect([...new Set(words)].sort()).toEqual(
        [...new Set(texts.flatMap((text) => text.split(" ")))].sort(),
      );
      expect(Atomics.load(data, CRASHES)).toBe(0);
      await running.stop();
    },
  );

  it("that throws fails that tuple alone; one that settles by itself crashes, and its task is restarted [N1220]", async () => {
    const data = board();
    data[CRASHES] = 1;
    const workers = await shop.open({ data, size: 1 });
    const [{ lines, ends }, { keep, words }] = [source(["a", "crash", "b"]), sink()];
    const running = await shop.system.start(
      topology("words", { retries: 0 })
        .spout("lines", lines)
        .bolt("split", split, {
          on: workers,
          from: { "lines.lines": grouping.shuffle() },
        })
        .bolt("keep", keep, { from: { "split.words": grouping.shuffle() } })
        .build(),
    );
    await running.finished();
    expect(ends.sort()).toEqual(["a: acked", "b: acked", "crash: failed 1"]);
    expect(words.sort()).toEqual(["a", "b"]);
    expect(restarts(running, "split")).toBe(0);
    await running.stop();
    Atomics.store(data, CRASHES, 1);
    const again = source(["c"]);
    const more = sink();
    const second = await shop.system.start(
      topology("more", { retries: 3, retryBackoff: { minMs: 1, maxMs: 5 } })
        .spout("lines", again.lines)
        .bolt("split", crashing, {
          on: workers,
          program: "crashing",
          from: { "lines.lines": grouping.shuffle() },
        })
        .bolt("keep", more.keep, {
          from: { "split.words": grouping.shuffle() },
        })
        .build(),
    );
    await second.finished();
    expect(again.ends).toEqual(["c: acked"]);
    expect(restarts(second, "split")).toBe(1);
    await second.stop();
  });

  it("is flushed when its topology drains, and closed when it stops [N1221]", async () => {
    const data = board();
    const workers = await shop.open({ data, size: 1 });
    const { lines, ends } = source(["a", "b", "c", "d", "e", "f"]);
    const sizes: number[] = [];
    const keep = bolt({
      input: { size: field.number },
      execute: ({ values: { size } }) => void sizes.push(size),
    });
    const running = await shop.system.start(
      topology("batches")
        .spout("lines", lines)
        .bolt("batches", batches, {
          on: workers,
          from: { "lines.lines": grouping.shuffle() },
        })
        .bolt("split", split, {
          on: workers,
          from: { "lines.lines": grouping.shuffle() },
        })
        .bolt("keep", keep, { from: { "batches.sizes": grouping.shuffle() } })
        .build(),
    );
    await until(() => sizes.length === 1);
    await running.stop();
    expect(sizes).toEqual([4, 2]);
    expect(ends).toHaveLength(6);
    expect(Atomics.load(data, CLOSED)).toBe(1);
    expect(workers.nodes().map(({ children }) => children)).toEqual([0]);
  });

  it("that has no program there, or is no bolt, is refused by name [N1222]", async () => {
    const workers = await shop.open({ size: 1 });
    const { lines } = source([]);
    const unknown = topology("unknown", { restarts: 0 })
      .spout("lines", lines)
      .bolt("nothing", split, {
        on: workers,
        from: { "lines.lines": grouping.shuffle() },
      })
      .build();
    await expect(shop.system.start(unknown)).rejects.toThrow(/nothing/);
    const wrong = topology("wrong").spout("lines", lines, {
      on: workers,
    } as never);
    expect(() => wrong.build()).toThrow(/on must be left out for a spout/);
    const bad = topology("bad").bolt("split", split, { on: {} } as never);
    expect(() => bad.build()).toThrow(/on must be what starts programs/);
    expect(() => topology("bad").bolt("split", split, { program: "split" }).build()).toThrow(/on must be/);
  });

  it("with a value that cannot travel fails that tuple alone [N1222]", async () => {
    const workers = await shop.open({ size: 1 });
    const failed: unknown[] = [];
    const numbers = spout({
      streams: { numbers: { n: field.of<number>() } },
      next: ({ emit, done }) => {
        for (const n of [1, (() => 2) as unknown as number, 3]) emit.numbers({ n }, { id: typeof n });
        done();
      },
      fail: (id: string) => void failed.push(id),
    });
    let count = 0;
    const keep = bolt({
      input: { n: field.number },
      execute: () => void count++,
    });
    const running = await shop.system.start(
      topology("values", { retries: 0 })
        .spout("numbers", numbers)
        .bolt("grind", grind, {
          on: workers,
          from: { "numbers.numbers": grouping.shuffle() },
        })
        .bolt("keep", keep, { from: { "grind.done": grouping.shuffle() } })
        .build(),
    );
    await running.finished();
    expect([failed, count]).toEqual([["function"], 2]);
    await running.stop();
  });
});
