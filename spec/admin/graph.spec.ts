// A running topology as a graph: its figures, its rates, its bottleneck, and scaling by an operator.

import { grouping, topology } from "signalbox/topology";
import { expect, onTestFinished, test } from "vitest";
import { KernelOperations } from "../../lib/admin/system/kernel-operations.js";
import { remoteOperations, systemService } from "../../lib/admin/system/system-table.js";
import { Sink, Source, Stage, upTo } from "../topology/support.js";
import { wireTo } from "./support/wire.js";

/** A source, and a bolt that works so long on each number. */
async function working(ms: number, options: { readonly maxPending?: number } = {}) {
  const stage = new Stage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const source = new Source();
  const sink = new Sink(() => (ms > 0 ? stage.sleep(ms) : undefined));
  const sums = topology("sums", { sampleRate: 1, messageTimeoutMs: 600_000, drainMs: 0, ...options })
    .spout("source", source.spout)
    .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
    .build();
  const running = await stage.start(sums);
  return { stage, source, running, on: new KernelOperations(stage.system.kernel) };
}

test("has the components, the subscriptions with their totals, and the rates from the second look on [N1540]", async () => {
  const { stage, source, on } = await working(0);
  source.put(...upTo(10));
  await stage.settle();
  const first = await on.graph("sums");
  expect(first).toMatchObject({
    name: "sums",
    phase: "running",
    restarts: 0,
    pid: expect.stringMatching(/^stage\./),
  });
  expect(first.components.map(({ name }) => name)).toEqual(["__acker", "sink", "source"]);
  expect(first.edges).toEqual([
    { from: "source", stream: "numbers", to: "sink", grouping: "shuffle", perS: undefined, total: 10 },
  ]);
  expect(first.components[1]).toMatchObject({ executed: 10, acked: 10, waiting: 0 });
  expect(first.components[1]?.executedPerS).toBeUndefined();
  await stage.advance(1_000);
  source.put(...upTo(20));
  await stage.advance(1_000);
  const second = await on.graph("sums");
  expect(second.edges[0]).toMatchObject({ total: 30, perS: 10 });
  expect(second.components[1]).toMatchObject({ executedPerS: 10 });
  expect(second.components[2]).toMatchObject({ kind: "spout", emittedPerS: 10 });
  expect(second.bottleneck).toBeUndefined();
  await expect(on.graph("till")).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
  const [supervisor] = stage.system.processes();
  await expect(on.graph(`stage.${supervisor?.id}1`)).rejects.toMatchObject({ code: "ERR_NO_PROCESS" });
});

test("names the bolt at its limit by what it did of late, and none once that is over [N1541]", async () => {
  const { stage, source, on } = await working(100);
  source.put(...upTo(60));
  await stage.advance(1_000);
  await on.graph("sums");
  await stage.advance(3_000);
  const busy = await on.graph("sums");
  const sink = busy.components.find(({ name }) => name === "sink");
  expect(sink?.capacity).toBeCloseTo(1, 1);
  expect(sink?.executeMs).toBeCloseTo(100, 0);
  expect(busy.bottleneck).toMatchObject({ component: "sink", why: expect.stringMatching(/tuples wait/) });
  // Minutes of the mean would still call it busy.
  await stage.advance(6_000);
  await on.graph("sums");
  await stage.advance(6_000);
  const idle = await on.graph("sums");
  expect(idle.bottleneck).toBeUndefined();
  expect(idle.components.find(({ name }) => name === "sink")?.capacity).toBe(0);
});

test("names the spout whose maxPending is the limit [N1541]", async () => {
  const { stage, source, on } = await working(10_000, { maxPending: 1 });
  source.put(...upTo(5));
  await stage.advance(500);
  await on.graph("sums");
  await stage.advance(2_000);
  const { bottleneck } = await on.graph("sums");
  expect(bottleneck).toMatchObject({ component: "source", why: expect.stringMatching(/maxPending/) });
});

test("is scaled while it runs, and refuses what its TopologyRef refuses, over the wire too [N1542]", async () => {
  const { stage, running, on } = await working(0);
  await stage.until(on.scale("sums", "sink", { tasks: 3 }));
  expect(running.tasks("sink")).toHaveLength(3);
  const { ask } = wireTo(systemService(stage.system.kernel));
  await stage.until(remoteOperations(ask).scale("sums", "sink", { tasks: 1 }));
  expect(running.tasks("sink")).toHaveLength(1);
  for (const wrong of [
    ["nobody", { tasks: 1 }],
    ["sink", { tasks: 0 }],
    ["sink", {}],
    ["sink", { tasks: 2, executors: 2 }],
  ])
    await expect(stage.until(on.scale("sums", wrong[0] as string, wrong[1] as never))).rejects.toMatchObject({
      code: "ERR_OPTION",
    });
  const both = [on.scale("sums", "sink", { tasks: 2 }), on.scale("sums", "sink", { tasks: 4 })];
  const outcomes = await stage.until(Promise.allSettled(both));
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});
