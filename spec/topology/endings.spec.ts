// How tasks and topologies end when they have to end soon, or otherwise than meant.

import { type Pid, supervisor } from "signalbox";
import { bolt, grouping, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Source, Stage, upTo } from "./support.js";

describe("a stop without time to drain", () => {
  it("is over at once, also when a bolt's task hangs, and calls the spouts' `fail` for abandoned tuples [O29]", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(3));
    const hung = bolt({ input: N, execute: () => new Promise<void>(() => undefined) });
    const running = await stage.start(
      topology("hung")
        .spout("source", source.spout)
        .bolt("hung", hung, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const before = stage.clock.now;
    expect(await stage.until(running.stop({ drainMs: 0 }))).toEqual({ drained: false, unfinished: 3 });
    expect(stage.clock.now).toBe(before);
    expect(source.failures.map(({ type }) => type)).toEqual(["stopped", "stopped", "stopped"]);
  });

  it("ends a drain in progress", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("hastened")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const drained = running.stop();
    await stage.settle();
    const before = stage.clock.now;
    await stage.until(running.stop({ drainMs: 0 }));
    expect(stage.clock.now).toBe(before);
    expect(await drained).toEqual({ drained: false, unfinished: 1 });
  });
});

describe("a director that is killed", () => {
  it("leaves no task beside those of its successor [O30]", async () => {
    await using stage = new Stage();
    let [alive, most] = [0, 0];
    const counted = bolt({
      input: N,
      init: () => {
        most = Math.max(most, ++alive);
      },
      execute: ({ values: { n } }) => (n === 1 ? new Promise<void>(() => undefined) : undefined),
      close: () => void alive--,
    });
    const source = new Source([1]);
    const plan = topology("killed")
      .spout("source", source.spout)
      .bolt("counted", counted, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
      .build();
    await stage.system.start(supervisor({ children: [{ id: "killed", start: plan, name: "killed" }] }));
    await stage.settle();
    const before = stage.system.processes().length;
    stage.system.exit(plan.at(stage.system, "killed").pid as Pid<never>, "kill");
    await stage.settle();
    const labels = stage.system.processes().map((pid) => pid.label);
    expect(labels.filter((label) => label?.includes("counted")).length).toBeLessThanOrEqual(2);
    await stage.advance(60_000);
    expect(stage.system.processes()).toHaveLength(before);
    expect(plan.at(stage.system, "killed").phase).toBe("running");
  });
});

describe("a bolt that settles by itself", () => {
  it("forgets a tuple that expired while it held it, and may still settle that [O32]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("forgets", { messageTimeoutMs: 1_000, retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const pending = () => running.metrics().components.find(({ name }) => name === "keeper")?.pending;
    await stage.advance(900);
    expect(pending()).toBe(1);
    await stage.advance(1_200);
    expect(source.outcomes).toEqual([[1, "expired", 1]]);
    expect(pending()).toBe(0);
    keeper.last.pass();
    keeper.last.ack();
    keeper.last.fail();
    expect(running.metrics().components.find(({ name }) => name === "keeper")).toMatchObject({
      acked: 0,
      failed: 0,
      expired: 1,
    });
  });
});

describe("a spout's task that is being taken out", () => {
  it("keeps its retries when its executor is restarted meanwhile [O28]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(4)), new Keeper()];
    const running = await stage.start(
      topology("executor", { retryBackoff: { minMs: 100, maxMs: 100, jitter: 0 }, maxPending: 2 })
        .spout("source", source.spout, { tasks: 2, executors: 1, intensity: 0 })
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const scaled = running.scale("source", 1);
    await stage.settle();
    stage.strike(running, "source", 0);
    await stage.advance(200);
    expect([source.failures, keeper.got.length]).toEqual([[], 8]);
    for (const held of keeper.got) held.ack();
    await stage.until(scaled);
    await stage.settle();
    expect([...source.acked].sort()).toEqual(upTo(4));
  });

  it("keeps its retries when it crashes meanwhile [O28]", async () => {
    await using stage = new Stage();
    const numbers = upTo(4);
    const [source, keeper] = [new Source(numbers), new Keeper()];
    const running = await stage.start(
      topology("scaled-in", { retryBackoff: { minMs: 100, maxMs: 100, jitter: 0 }, maxPending: 2 })
        .spout("source", source.spout, { tasks: 2 })
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.got).toHaveLength(4);
    const scaled = running.scale("source", 1);
    await stage.settle();
    stage.strike(running, "source", 1);
    await stage.advance(200);
    for (const held of keeper.got.slice(4)) held.ack();
    for (const held of keeper.got.slice(0, 4)) held.ack();
    await stage.until(scaled);
    await stage.settle();
    expect([...source.acked].sort()).toEqual(numbers);
    expect(source.failures).toEqual([]);
  });
});
