// Mistakes that a compiler does not see, or that JavaScript makes: each is told, and says what to do instead.

import type { ConsumerView } from "signalbox";
import {
  batchBolt,
  bolt,
  field,
  type Grouping,
  spout,
  spoutFrom,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { keptFor } from "../../lib/admin/history/kept.js";
import { KernelOperations } from "../../lib/admin/system/kernel-operations.js";
import { N, Sink, Source, Stage, upTo } from "./support.js";

describe("a grouping", () => {
  it("that returns no task fails the tuple, and the error says what it should return", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(upTo(2)), new Sink()];
    const junk = (() => 3) as never;
    await stage.start(
      topology("junk", { retries: 0 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": junk } })
        .build(),
    );
    await stage.settle();
    expect(source.failures).toHaveLength(2);
    expect(stage.reports.join("\n")).toContain(
      "the grouping of source.numbers must be a function that returns one of the tasks, or undefined; got 3",
    );
  });

  it("that throws once costs a tuple one try, and no item of an iterable", async () => {
    await using stage = new Stage();
    const acked: number[] = [];
    let broke = false;
    const items = spoutFrom(
      [1, 2, 3].map((n) => ({ n })),
      { fields: N, ack: ({ n }) => acked.push(n) },
    );
    const running = await stage.start(
      topology("hiccup")
        .spout("items", items)
        .bolt("sink", new Sink().bolt, {
          from: {
            "items.items": ({ payload }, tasks) => {
              if (payload.n === 2 && !broke) {
                broke = true;
                throw new Error("hiccup");
              }
              return tasks[0];
            },
          },
        })
        .build(),
    );
    await stage.until(running.finished());
    expect(acked.sort()).toEqual([1, 2, 3]);
  });
});

describe("a grouping that throws when a tuple comes back", () => {
  it("fails the tuple; the end of the task is noticed all the same, and the task is restarted", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Sink(() => new Promise(() => undefined))];
    let broken = false;
    const grouping: Grouping<{ readonly n: number }> = Object.assign(
      (_emission: unknown, tasks: readonly ConsumerView[]) => {
        if (broken) throw new Error("no way");
        return tasks[0];
      },
      { interchangeable: true },
    );
    const running = await stage.start(
      topology("back", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping } })
        .build(),
    );
    broken = true;
    await stage.kill(running, "keeper");
    expect(source.failures).toHaveLength(2);
    expect(running.tasks("keeper")[0]).toMatchObject({ pid: expect.anything(), restarts: 1 });
    expect(stage.reports.join("\n")).toContain("could not send on source.numbers: Error: no way");
  });
});

describe("a spout", () => {
  it("that emits with an id that is undefined gets an error, and the tuple is not sent untracked", async () => {
    await using stage = new Stage();
    const sink = new Sink();
    const rows = spout({
      streams: { numbers: N },
      next: ({ emit }) => emit.numbers({ n: 1 }, { id: ({} as { id?: number }).id as number }),
    });
    const built = topology("rows", { restarts: 0 })
      .spout("rows", rows)
      .bolt("sink", sink.bolt, { from: { "rows.numbers": {} } })
      .build();
    const running = await stage.start(built);
    expect(await stage.until(stage.system.exited(running.pid))).toMatchObject({ type: "noproc" });
    expect(sink.seen).toEqual([]);
    expect(stage.reports.join("\n")).toContain("emit.numbers(…).id must be given, or left out");
  });

  /** The complaints of a topology whose tuples all fail. */
  async function complaints(stage: Stage): Promise<readonly string[]> {
    const numbers = spoutFrom(
      upTo(5).map((n) => ({ n })),
      { fields: N },
    );
    const fails = bolt({ input: N, mode: "fail", execute: () => undefined });
    const running = await stage.start(
      topology("lost", { retries: 0 })
        .spout("numbers", numbers)
        .bolt("fails", fails, { from: { "numbers.items": {} } })
        .build(),
    );
    await stage.until(running.finished());
    return stage.reports.filter((line) =>
      line.includes("failed for good after 1 tries, and no code handles that"),
    );
  }

  it("whose tuples fail for good without `fail` or a subscriber of `dead` logs so once", async () => {
    await using stage = new Stage();
    const lines = await complaints(stage);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("listen to the event `deadTuple`");
  });

  it("logs the same while a history is kept: that notes dead tuples, and handles none [N1640]", async () => {
    await using stage = new Stage();
    const { kernel } = stage.system;
    const on = new KernelOperations(kernel);
    const release = keptFor(kernel).hold();
    const lines = await complaints(stage);
    const incidents = await on.recent({ kind: "deadTuple" });
    expect([lines.length, incidents.length]).toEqual([1, 1]);
    release();
  });

  it("logs nothing when somebody listens to `deadTuple`, beside a history or not [N1640]", async () => {
    for (const isKept of [false, true]) {
      await using stage = new Stage();
      const { kernel, events } = stage.system;
      new KernelOperations(kernel);
      const release = isKept ? keptFor(kernel).hold() : () => undefined;
      const dead: unknown[] = [];
      events.on("deadTuple", ({ id }) => void dead.push(id));
      expect(await complaints(stage)).toEqual([]);
      expect(dead).toHaveLength(5);
      release();
    }
  });
});

describe("values", () => {
  const wrong = bolt({
    input: N,
    streams: { words: { word: field.text, at: field.of<Date>() } },
    execute: ({ values: { n } }, { emit }) =>
      emit.words(n === 1 ? ({ word: 5, at: 0 } as never) : ({ word: "five" } as never)),
  });

  it("are compared with the declared fields where `checkValues` says so, naming component, stream and field [O33]", async () => {
    await using stage = new Stage();
    const [source, lines] = [new Source([1, 2]), [] as string[]];
    await stage.start(
      topology("checked", { retries: 0, checkValues: true })
        .spout("source", source.spout)
        .bolt("split", wrong, { from: { "source.numbers": {} } })
        .build(),
      { log: ({ text }) => lines.push(text.split("\n")[0] ?? "") },
    );
    expect(source.failures).toHaveLength(2);
    expect(lines).toEqual([
      expect.stringContaining("split emitted a tuple on words whose field word must be text; got 5"),
      expect.stringContaining("split emitted a tuple on words whose field at must be value; got none"),
    ]);
  });

  it("of spouts are, and are not where it says nothing", async () => {
    await using stage = new Stage();
    const said: string[] = [];
    const bad = spout({
      streams: { numbers: N },
      next: ({ emit, done }) => {
        done();
        try {
          emit.numbers({ n: "one" } as never, { id: 1 });
        } catch (error) {
          said.push((error as Error).message);
        }
      },
    });
    for (const checkValues of [true, false])
      await stage.start(topology("spout", { checkValues }).spout("bad", bad).build());
    expect(said).toEqual(['bad emitted a tuple on numbers whose field n must be number; got "one"']);
  });

  it("that an iterable yields must be objects: a stream of Node yields chunks", async () => {
    await using stage = new Stage();
    const chunks = spoutFrom(["a chunk"] as never, { fields: { text: field.text } });
    const running = stage.system.start(topology("chunks", { restarts: 0 }).spout("chunks", chunks).build(), {
      log: ({ text }) => stage.reports.push(text),
    });
    await stage.advance(100);
    await running.catch(() => undefined);
    expect(stage.reports.join("\n")).toContain(
      'an item of the source must be an object with the fields text; a stream yields chunks; got "a chunk"',
    );
  });
});

describe("a task's context", () => {
  async function said(work: (ctx: { emit: unknown; ack: (tuple: never) => void }, tuple: never) => unknown) {
    await using stage = new Stage();
    let error: unknown;
    const wrong = bolt({
      input: N,
      streams: { numbers: N, words: N },
      execute: (tuple, ctx) => {
        try {
          work(ctx, tuple as never);
        } catch (thrown) {
          error = thrown;
        }
      },
    });
    await stage.start(
      topology("wrong")
        .spout("source", new Source([1]).spout)
        .bolt("wrong", wrong, { from: { "source.numbers": {} } })
        .build(),
    );
    return (error as Error).message;
  }

  it("says which streams there are to emit on [O33]", async () => {
    expect(await said(({ emit }) => (emit as { oops: (values: object) => void }).oops({}))).toBe(
      'emit.oops must be a stream of wrong; there are numbers, words; got "oops"',
    );
  });

  it("says which bolts may ack [O33]", async () => {
    expect(await said(({ ack }, tuple) => ack(tuple))).toMatch(
      /^wrong \(task \d+\) called ctx.ack or ctx.fail, but its mode is `ack`: .* give the bolt `mode: "manual"`/,
    );
  });
});

describe("options", () => {
  it("of a run that are unknown are refused", async () => {
    await using stage = new Stage();
    const built = topology("run").spout("source", new Source().spout).build();
    await expect(stage.system.start(built, { loglevel: "info" } as never)).rejects.toMatchObject({
      message: expect.stringContaining("loglevel must be one of the options log, logLevel, restarts"),
    });
  });

  it.each([
    [1, "4 tuples, but gets 3 at most: maxPending is 1 × 3 of source"],
    [2, "4 tuples, but gets 2 at most: maxPending is 1 × 3 of source among 2 tasks"],
  ])(
    "of a count window that can never fill are refused, with the numbers, of %i tasks [O27]",
    (tasks, text) => {
      const four = windowBolt({ input: N, window: tumbling({ count: 4 }), execute: () => undefined });
      const begun = topology("never", { maxPending: 3 }).spout("source", new Source().spout);
      expect(() => begun.bolt("four", four, { tasks, from: { "source.numbers": {} } }).build()).toThrow(
        `four: settles no tuple before a task holds ${text}. Raise maxPending, or read with { anchored: false }`,
      );
      begun.bolt("four", four, { tasks, from: { "source.numbers": { anchored: false } } }).build();
      topology("enough", { maxPending: 4 * tasks })
        .spout("source", new Source().spout)
        .bolt("four", four, { tasks, from: { "source.numbers": {} } })
        .build();
    },
  );

  it("of one that fills from several tasks, or through a bolt that may make many of one, are not refused", () => {
    const four = windowBolt({ input: N, window: tumbling({ count: 4 }), execute: () => undefined });
    const relay = bolt({ input: N, streams: { numbers: N }, execute: () => undefined });
    const begun = topology("fills", { maxPending: 2 }).spout("source", new Source().spout, { tasks: 2 });
    begun.bolt("four", four, { from: { "source.numbers": {} } }).build();
    begun
      .bolt("relay", relay, { from: { "source.numbers": {} } })
      .bolt("four", four, { tasks: 9, from: { "relay.numbers": {} } })
      .build();
    const loose = spoutFrom([{ n: 1 }], { fields: N, reliable: false });
    topology("loose", { maxPending: 2 })
      .spout("loose", loose)
      .bolt("four", four, { from: { "loose.items": {} } })
      .build();
    const batch = batchBolt({ input: N, size: 4, execute: () => undefined });
    const one = topology("batch", { maxPending: 2 }).spout("source", new Source().spout);
    expect(() => one.bolt("batch", batch, { from: { "source.numbers": {} } }).build()).toThrow(
      "holds 4 tuples",
    );
  });

  it("of a window that would expire before it ends are refused with the bolt's name", () => {
    const slow = bolt({
      input: { n: field.number },
      mode: "manual",
      holdsMs: 60_000,
      execute: () => undefined,
    });
    const begun = topology("slow").spout("source", new Source().spout);
    expect(() => begun.bolt("slow", slow, { from: { "source.numbers": {} } }).build()).toThrow(
      "slow: holds tuples back for 60000 ms, but they expire after 30000: raise messageTimeoutMs",
    );
    begun.bolt("slow", slow, { from: { "source.numbers": { anchored: false } } }).build();
  });
});
