// Lines that components log, and what else a topology tells of itself: events and figures.

import { getEventListeners } from "node:events";
import { OptionError } from "signalbox";
import {
  bolt,
  grouping,
  type LogLevel,
  type LogLine,
  type RunOptions,
  spout,
  topology,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

const LEVELS: readonly LogLevel[] = ["trace", "debug", "info", "warn", "error"];

/** A topology whose one bolt logs a line of each level, and counts how often a line was built. */
async function logged(stage: Stage, options?: RunOptions): Promise<number> {
  let built = 0;
  const chatty = bolt({
    input: N,
    execute: (_tuple, { log }) => {
      for (const level of LEVELS)
        log(level, () => {
          built++;
          return `a line of ${level}`;
        });
      log("error", "ready made");
    },
  });
  await stage.start(
    topology("chat")
      .spout("source", new Source([1]).spout)
      .bolt("chatty", chatty, { from: { "source.numbers": grouping.shuffle() } })
      .build(),
    options,
  );
  return built;
}

describe("the log", () => {
  it("is the system's report, from `warn` on, by default", async () => {
    await using stage = new Stage();
    expect(await logged(stage)).toBe(2);
    expect(stage.reports).toHaveLength(3);
    expect(stage.reports[0]).toMatch(/^chat\/chatty \(task \d+\) warn: a line of warn$/);
    expect(stage.reports[2]).toMatch(/ error: ready made$/);
  });

  it("is a function, when one is given, and has as many levels as one likes", async () => {
    await using stage = new Stage();
    const lines: LogLine[] = [];
    expect(await logged(stage, { log: (line) => void lines.push(line), logLevel: "trace" })).toBe(5);
    expect(lines.map(({ level }) => level)).toEqual([...LEVELS, "error"]);
    expect(lines[0]).toEqual({
      level: "trace",
      topology: "chat",
      component: "chatty",
      task: expect.any(Number),
      text: "a line of trace",
    });
    expect(stage.reports).toEqual([]);
  });

  it("may throw: the topology goes on, and one report says so [H8]", async () => {
    await using stage = new Stage();
    const log = (): void => {
      throw new Error("no ink");
    };
    expect(await logged(stage, { log, logLevel: "trace" })).toBe(5);
    expect(stage.reports).toHaveLength(1);
    expect(stage.reports[0]).toContain("the log of the topology chat threw");
  });

  it("is nowhere with `false`, and no line is built", async () => {
    await using stage = new Stage();
    expect(await logged(stage, { log: false, logLevel: "trace" })).toBe(0);
    expect(stage.reports).toEqual([]);
  });

  it("has a line for a tuple that a bolt failed by throwing", async () => {
    await using stage = new Stage();
    const lines: LogLine[] = [];
    const broken = bolt({
      input: N,
      execute: () => {
        throw new Error("no ink");
      },
    });
    await stage.start(
      topology("broken", { retries: 0 })
        .spout("source", new Source([1]).spout)
        .bolt("broken", broken, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: (line) => void lines.push(line) },
    );
    expect(lines).toMatchObject([{ level: "error", component: "broken" }]);
    expect(lines[0]?.text).toMatch(/^failed a tuple of source\.numbers: Error: no ink/);
  });

  it("can be written to from `init`", async () => {
    await using stage = new Stage();
    const lines: string[] = [];
    const early = spout({
      streams: { numbers: N },
      init: ({ log }) => log("info", "here I am"),
      next: () => undefined,
    });
    await stage.start(topology("early").spout("early", early).build(), {
      logLevel: "info",
      log: ({ text }) => void lines.push(text),
    });
    expect(lines).toEqual(["here I am"]);
  });

  it("is refused with an OptionError when it is none", async () => {
    await using stage = new Stage();
    const built = topology("no").spout("source", new Source().spout).build();
    for (const options of [{ log: "yes" }, { logLevel: "loud" }, { restarts: -1 }, "quiet"])
      await expect(async () => stage.start(built, options as RunOptions)).rejects.toThrow(OptionError);
  });
});

describe("the event `tuple`", () => {
  it("publishes every tuple of a component with `debug`, with the tasks that got it", async () => {
    await using stage = new Stage();
    const told: unknown[] = [];
    stage.system.events.on("tuple", (tuple) => told.push(tuple));
    const running = await stage.start(
      topology("debug")
        .spout("source", new Source([7]).spout, { debug: true })
        .bolt("quiet", new Keeper().bolt, { tasks: 2, from: { "source.numbers": grouping.all() } })
        .build(),
    );
    const [task] = running.tasks("source").map((one) => one.task);
    const to = running.tasks("quiet").map((one) => one.task);
    expect(told).toEqual([
      { topology: "debug", component: "source", task, stream: "numbers", values: { n: 7 }, to },
    ]);
  });

  it("publishes a tuple without subscribers, too", async () => {
    await using stage = new Stage();
    const told: unknown[] = [];
    stage.system.events.on("tuple", ({ values, to }) => told.push([values, to]));
    await stage.start(
      topology("debug", { debug: true })
        .spout("source", new Source([7]).spout)
        .build(),
    );
    expect(told).toEqual([[{ n: 7 }, []]]);
  });
});

describe("the figures", () => {
  it("count exactly the tuples emitted, executed, acked and failed", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(100));
    const thirds = bolt({
      input: N,
      streams: { passed: N },
      execute: ({ values }, { emit }) => {
        if (values.n % 3 === 0) throw new Error("third");
        emit.passed(values);
      },
    });
    const running = await stage.start(
      topology("count", { retries: 1 })
        .spout("source", source.spout)
        .bolt("thirds", thirds, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", new Sink().bolt, { from: { "thirds.passed": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    await stage.advance(1_000);
    const { phase, uptimeMs, components } = running.metrics();
    const of = (name: string): unknown => components.find((one) => one.name === name);
    expect([phase, uptimeMs]).toEqual(["running", 1_000]);
    expect(of("source")).toMatchObject({
      emitted: 133,
      acked: 67,
      failed: 33,
      dead: 33,
      expired: 0,
      pending: 0,
    });
    expect(of("thirds")).toMatchObject({
      tasks: 2,
      executed: 133,
      acked: 67,
      failed: 66,
      errors: 66,
      emitted: 67,
      pending: 0,
      inputs: { "source.numbers": { executed: 133, acked: 67, failed: 66 } },
      streams: { passed: { emitted: 67 } },
    });
    expect(of("sink")).toMatchObject({ executed: 67, acked: 67, failed: 0, restarts: 0, lost: 0 });
  });

  it("count on through restarts of tasks, and can be read after the end", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source([1, 2]), new Sink()];
    const built = topology("restarts")
      .spout("source", source.spout)
      .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
      .build();
    const running = await stage.start(built);
    await stage.kill(running, "sink");
    source.put(3);
    await stage.settle();
    await running.stop();
    const figures = running.metrics();
    expect(figures.phase).toBe("ended");
    expect(figures.components.find(({ name }) => name === "sink")).toMatchObject({ restarts: 1, acked: 3 });
    expect(running.summary()).toContain("sink");
  });

  it("can be read after the end also by way of a name", async () => {
    await using stage = new Stage();
    const built = topology("named")
      .spout("source", new Source([1]).spout)
      .build();
    const started = await stage.start(built);
    stage.system.register("named", started.pid as never);
    const running = built.at(stage.system, "named");
    expect(running.phase).toBe("running");
    await running.stop();
    expect(running.metrics().phase).toBe("ended");
  });

  it("have the tuples that are pending and that wait at the moment", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(5)), new Keeper()];
    const stuck = bolt({ input: N, execute: () => new Promise<void>(() => undefined) });
    const running = await stage.start(
      topology("now")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("stuck", stuck, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const of = (name: string): unknown => running.metrics().components.find((one) => one.name === name);
    expect(of("source")).toMatchObject({ pending: 5 });
    expect(of("keeper")).toMatchObject({ pending: 5, waiting: 0 });
    expect(of("stuck")).toMatchObject({ pending: 5, waiting: 4 });
  });

  it("measure complete latency from the emit to the ack", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("latency", { sampleRate: 1 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(250);
    keeper.last.ack();
    await stage.settle();
    const figures = running.metrics().components;
    expect(figures.find(({ name }) => name === "source")?.completeLatency).toMatchObject({
      meanMs: 250,
      samples: 1,
    });
    expect(figures.find(({ name }) => name === "keeper")).toMatchObject({
      executeLatency: { meanMs: 0 },
      processLatency: { meanMs: 250 },
    });
  });

  it("measure no latency with a sample rate of 0", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source([1, 2]), new Sink()];
    const running = await stage.start(
      topology("unmeasured", { sampleRate: 0 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const figures = running.metrics().components;
    expect(figures.find(({ name }) => name === "source")).toMatchObject({
      acked: 2,
      completeLatency: undefined,
    });
    expect(figures.find(({ name }) => name === "sink")).toMatchObject({
      executed: 2,
      executeLatency: undefined,
    });
  });

  it("come to watchers again and again, the last at the end", async () => {
    await using stage = new Stage();
    const running = await stage.start(topology("watched").spout("source", new Source().spout).build());
    const seen: [string, number][] = [];
    const watching = (async () => {
      for await (const { phase, uptimeMs } of running.watch({ everyMs: 500 })) seen.push([phase, uptimeMs]);
    })();
    await stage.advance(1_200);
    await running.stop();
    await stage.until(watching);
    expect(seen).toEqual([
      ["running", 0],
      ["running", 500],
      ["running", 1_000],
      ["ended", 1_200],
    ]);
  });

  it("end for all watchers with one AbortSignal, which has a single listener", async () => {
    await using stage = new Stage();
    const running = await stage.start(topology("watched").spout("source", new Source().spout).build());
    const controller = new AbortController();
    const { signal } = controller;
    const watches = Array.from({ length: 20 }, () => running.watch({ everyMs: 500, signal }));
    for (const watch of watches) await watch.next();
    const nexts = watches.map((watch) => watch.next());
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort();
    expect((await Promise.all(nexts)).every(({ done }) => done)).toBe(true);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});
