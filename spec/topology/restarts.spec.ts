// When restarting a task does not help: its executor starts again, then the whole topology, after waits, and at last
// it ends, with the reason of the crash.

import { StartError, supervisor } from "signalbox";
import { bolt, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Sink, Source, Stage } from "./support.js";

const steady = { minMs: 1_000, maxMs: 8_000, jitter: 0 } as const;

/** The topology's restarts, as they are told. */
function restartsOf(stage: Stage): [reason: unknown, delayMs: number][] {
  const told: [unknown, number][] = [];
  stage.system.events.on("topologyRestart", ({ reason, delayMs }) => {
    told.push([reason.type === "crash" ? reason.error.message : reason.type, delayMs]);
  });
  return told;
}

describe("a task that crashes too often", () => {
  it("makes its executor fail, which is restarted with its tasks and no others", async () => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("executor", { intensity: 0 })
        .spout("source", new Source().spout)
        .bolt("worker", new Sink().bolt, {
          tasks: 4,
          executors: 2,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
    );
    await stage.kill(running, "worker", 0);
    expect(running.tasks("worker").map(({ restarts }) => restarts)).toEqual([1, 0, 1, 0]);
    expect(running.tasks("source")[0]?.restarts).toBe(0);
    expect(running.phase).toBe("running");
  });

  it("takes the whole topology with it in the end, which starts again after a wait", async () => {
    await using stage = new Stage();
    const told = restartsOf(stage);
    const [source, sink] = [new Source(), new Sink()];
    const running = await stage.start(
      topology("whole", { intensity: 0, restartsBackoff: steady })
        .spout("source", source.spout)
        .bolt("worker", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "worker");
    expect(running.phase).toBe("running");
    await stage.kill(running, "worker");
    expect(running.phase).toBe("restarting");
    expect(told).toEqual([["killed", 1_000]]);
    await stage.advance(999);
    expect(running.phase).toBe("restarting");
    await stage.advance(1);
    expect(running.phase).toBe("running");
    source.put(1);
    await stage.advance(100);
    expect(sink.seen).toEqual([1]);
  });

  it("loses nothing that is reliable and has retries: it is emitted again after the restart", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(
      topology("whole", { intensity: 0, restartsBackoff: steady })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "keeper");
    await stage.kill(running, "keeper");
    expect(running.phase).toBe("restarting");
    await stage.advance(1_000);
    expect([...keeper.numbers].sort()).toEqual([1, 1, 2, 2]);
    for (const held of keeper.got.slice(2)) held.ack();
    await stage.settle();
    expect([...source.acked].sort()).toEqual([1, 2]);
  });

  it("ends the topology, after as many restarts as there are, with the reason of the crash [O9]", async () => {
    await using stage = new Stage();
    const told = restartsOf(stage);
    const broken = spout({
      streams: { numbers: N },
      next: () => {
        throw new Error("the source is dry");
      },
    });
    const built = topology("loop", { restarts: 2, restartsBackoff: steady }).spout("broken", broken).build();
    const running = await stage.start(built);
    const end = await stage.until(stage.system.exited(running.pid));
    expect(told.map(([, delayMs]) => delayMs)).toEqual([1_000, 2_000]);
    expect(end).toMatchObject({ type: "crash", error: { message: "the source is dry" } });
  });

  it("ends the topology with the error of its `init`, when it cannot be started again", async () => {
    await using stage = new Stage();
    let broken = false;
    const fragile = bolt({
      input: N,
      init: () => {
        if (broken) throw new Error("no database");
      },
      execute: () => undefined,
    });
    const running = await stage.start(
      topology("fragile", { restarts: 0 })
        .spout("source", new Source().spout)
        .bolt("fragile", fragile, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const end = stage.system.exited(running.pid);
    broken = true;
    await stage.kill(running, "fragile");
    expect(await stage.until(end)).toMatchObject({ type: "crash", error: { message: "no database" } });
  });

  it("ends the topology at once when it is started with `restarts: 0`, whatever it was built with", async () => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("none", { intensity: 0, restarts: 5 })
        .spout("source", new Source().spout)
        .bolt("worker", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { restarts: 0 },
    );
    const end = stage.system.exited(running.pid);
    await stage.kill(running, "worker");
    await stage.kill(running, "worker");
    expect(await end).toEqual({ type: "killed" });
    expect(running.phase).toBe("ended");
  });

  it("has all restarts again when the topology has run well for a while", async () => {
    await using stage = new Stage();
    const told = restartsOf(stage);
    const running = await stage.start(
      topology("calm", { intensity: 0, restarts: 1, restartsBackoff: { ...steady, resetAfterMs: 60_000 } })
        .spout("source", new Source().spout)
        .bolt("worker", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    for (let round = 1; round <= 3; round++) {
      await stage.kill(running, "worker");
      await stage.kill(running, "worker");
      expect(told).toHaveLength(round);
      await stage.advance(61_001);
      expect(running.phase).toBe("running");
    }
    await stage.kill(running, "worker");
    await stage.kill(running, "worker");
    await stage.advance(2_000);
    await stage.kill(running, "worker");
    await stage.kill(running, "worker");
    expect(running.phase).toBe("ended");
  });

  it("is restarted after a wait, when there is one", async () => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("waits")
        .spout("source", new Source().spout, { restartBackoff: { minMs: 500, maxMs: 4_000, jitter: 0 } })
        .build(),
    );
    await stage.kill(running, "source");
    expect(running.tasks("source")[0]?.pid).toBeUndefined();
    await stage.advance(500);
    expect(running.tasks("source")[0]?.pid).toBeDefined();
  });
});

describe("a topology that cannot start", () => {
  it("says why, and is not tried again", async () => {
    await using stage = new Stage();
    const told = restartsOf(stage);
    const broken = bolt({
      input: N,
      init: () => {
        throw new Error("no database");
      },
      execute: () => undefined,
    });
    const built = topology("broken")
      .spout("source", new Source().spout)
      .bolt("broken", broken, { from: { "source.numbers": grouping.shuffle() } })
      .build();
    await expect(stage.until(stage.start(built))).rejects.toBeInstanceOf(StartError);
    expect(told).toEqual([]);
    expect(stage.system.population).toBe(0);
  });

  it("waits for an asynchronous `init`", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const seen: unknown[] = [];
    const slow = bolt({
      input: N,
      init: async () => ({ ready: true }),
      execute: ({ values }, { state }) => void seen.push([values.n, state.ready]),
    });
    await stage.start(
      topology("slow")
        .spout("source", source.spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(seen).toEqual([[1, true]]);
  });
});

describe("a restart of the whole", () => {
  it("activates bolts before they are given anything, as the first start does", async () => {
    await using stage = new Stage();
    const diary: string[] = [];
    const source = new Source([1]);
    const eager = bolt({
      input: N,
      mode: "manual",
      activate: () => void diary.push("active"),
      execute: () => void diary.push("given"),
    });
    const running = await stage.start(
      topology("order", { intensity: 0, restartsBackoff: steady })
        .spout("source", source.spout)
        .bolt("eager", eager, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "eager");
    await stage.kill(running, "eager");
    diary.length = 0;
    await stage.advance(1_000);
    expect(diary).toEqual(["active", "given"]);
  });

  it("leaves a topology paused that was paused", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    const running = await stage.start(
      topology("paused", { intensity: 0, restartsBackoff: steady })
        .spout("source", source.spout)
        .bolt("worker", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await running.pause();
    await stage.kill(running, "worker");
    await stage.kill(running, "worker");
    source.put(1);
    await stage.advance(5_000);
    expect([running.phase, sink.seen]).toEqual(["paused", []]);
    await running.resume();
    await stage.settle();
    expect([running.phase, sink.seen]).toEqual(["running", [1]]);
  });

  it("is not waited for by a stop", async () => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("stopped", { intensity: 0, restartsBackoff: steady })
        .spout("source", new Source().spout)
        .bolt("worker", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "worker");
    await stage.kill(running, "worker");
    expect(running.phase).toBe("restarting");
    await running.stop();
    expect([running.phase, stage.clock.now]).toEqual(["ended", 0]);
  });

  it("that a stop cuts short reports the abandoned tuples as unfinished", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(
      topology("stopped", { intensity: 0, restartsBackoff: steady })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "keeper");
    await stage.kill(running, "keeper");
    expect(running.phase).toBe("restarting");
    expect(await running.stop()).toEqual({ drained: false, unfinished: 2 });
  });
});

describe("a process of the tree that no task is", () => {
  const start = (stage: Stage, source: Source, sink: Sink): ReturnType<Stage["start"]> =>
    stage.start(
      topology("tree", { restartsBackoff: steady })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 4, executors: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );

  it("takes its tasks with it when it is an executor, which is started again", async () => {
    await using stage = new Stage();
    const running = await start(stage, new Source(), new Sink());
    stage.system.exit(stage.processOf("sink/1"), "kill");
    await stage.settle();
    expect(running.phase).toBe("running");
    expect(running.tasks("sink").map(({ restarts }) => restarts)).toEqual([0, 1, 0, 1]);
    expect(running.tasks("source")[0]?.restarts).toBe(0);
  });

  it.each(["bolts", "system", "tree"])(
    "has the whole restarted when it is the supervisor of %s",
    async (label) => {
      await using stage = new Stage();
      const [source, sink] = [new Source(), new Sink()];
      const running = await start(stage, source, sink);
      stage.system.exit(stage.processOf(label), "kill");
      await stage.settle();
      expect(running.phase).toBe("restarting");
      await stage.advance(1_000);
      source.put(1, 2);
      await stage.advance(100);
      expect([running.phase, sink.seen]).toEqual(["running", [1, 2]]);
    },
  );

  it("takes everything with it when it is the topology's own", async () => {
    await using stage = new Stage();
    const running = await start(stage, new Source(), new Sink());
    stage.system.exit(running.pid as never, { type: "killed" });
    stage.system.exit(running.pid as never, "kill");
    await stage.settle();
    expect([running.phase, stage.system.population]).toEqual(["ended", 0]);
  });
});

describe("under a supervisor", () => {
  it("a topology that has ended of a crash is started again, and found under its name", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    const wordCount = topology("child", { intensity: 0, restarts: 0 })
      .spout("source", source.spout)
      .bolt("worker", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
      .build();
    await stage.system.start(supervisor({ children: [{ id: "child", name: "child", start: wordCount }] }));
    const running = wordCount.at(stage.system, "child");
    const first = running.pid;
    await stage.kill(running, "worker");
    await stage.kill(running, "worker");
    expect(running.pid).not.toBe(first);
    source.put(1);
    await stage.advance(100);
    expect(sink.seen).toEqual([1]);
    expect(running.phase).toBe("running");
  });
});

describe("restarts", () => {
  it("that fail to start are logged, counted and published as others are [O34]", async () => {
    await using stage = new Stage();
    const [source, lines] = [new Source(), [] as string[]];
    let fails = 0;
    const moody = bolt({
      input: N,
      init: () => {
        if (fails-- > 0) throw new Error("not yet");
      },
      execute: () => undefined,
    });
    const published: string[] = [];
    stage.system.events.on("restart", ({ id }) => published.push(id));
    const running = await stage.start(
      topology("moody")
        .spout("source", source.spout)
        .bolt("moody", moody, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: ({ level, component, text }) => lines.push(`${level} ${component} ${text.split("\n")[0]}`) },
    );
    fails = 3;
    await stage.kill(running, "moody");
    expect(lines).toEqual(Array(3).fill("error moody could not start: Error: not yet"));
    expect(published).toEqual(Array(4).fill("moody-0"));
    expect(running.tasks("moody")[0]?.restarts).toBe(4);
    const { components, restarts } = running.metrics();
    expect(components.find(({ name }) => name === "moody")).toMatchObject({ restarts: 4, errors: 3 });
    expect(restarts).toBe(0);
  });

  it("of the whole are logged and counted as often as they are published [O34]", async () => {
    await using stage = new Stage();
    const [told, lines] = [restartsOf(stage), [] as string[]];
    const running = await stage.start(
      topology("whole", { intensity: 0, restartsBackoff: { minMs: 100, maxMs: 100, jitter: 0 } })
        .spout("source", new Source().spout)
        .bolt("sink", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: ({ level, component, text }) => lines.push(`${level} ${component} ${text}`) },
    );
    for (let kill = 0; kill < 2; kill++) await stage.kill(running, "sink");
    await stage.advance(200);
    expect(told).toHaveLength(1);
    expect(running.metrics().restarts).toBe(1);
    expect(lines).toEqual(["error __system the topology failed, and starts again in 100 ms: killed"]);
  });
});
