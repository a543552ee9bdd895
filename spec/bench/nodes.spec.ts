// The benchmarks of nodes over NATS, with little work, on a real server: what the other processes run is bundled first.

import { afterAll, beforeAll, expect, it } from "vitest";
import { Compiled } from "../support/compiled.js";
import { describeNats, type NatsServer, startNats } from "../support/nats.js";
import { bareCalls, bareRoundTrip, bareSend } from "./nats.js";
import { nodeCalls, nodeKill, nodeRoundTrip, nodeSend, type TwoNodes } from "./nodes.js";
import { type Program, runOnce, WrongCountError } from "./program.js";

const PROGRAMS: readonly (readonly [
  name: string,
  far: "nodes-far" | "nats-far",
  unit: string,
  program: (two: TwoNodes) => Program,
])[] = [
  ["node-send", "nodes-far", "perCpuSecond", (two) => nodeSend(3_000, two)],
  ["node-calls", "nodes-far", "perCpuSecond", (two) => nodeCalls(300, two)],
  ["node-round-trip", "nodes-far", "ns", (two) => nodeRoundTrip(20, two)],
  ["node-kill", "nodes-far", "p99Us", (two) => nodeKill(2, two)],
  ["node-send on bare NATS", "nats-far", "perCpuSecond", (two) => bareSend(3_000, two)],
  ["node-calls on bare NATS", "nats-far", "perCpuSecond", (two) => bareCalls(300, two)],
  ["node-round-trip on bare NATS", "nats-far", "ns", (two) => bareRoundTrip(20, two)],
];

describeNats("the programs of two processes", () => {
  const compiled = new Compiled("bench-nodes");
  let server: NatsServer;

  beforeAll(async () => {
    server = await startNats();
    await compiled.bundle("spec/bench", "nodes-far", "nats-far");
  });
  afterAll(async () => {
    await server?.stop();
    compiled.remove();
  });

  const between = (far: string): TwoNodes => ({
    servers: () => server.address,
    far: compiled.argsFor(`spec/bench/${far}.ts`),
  });

  it.each(PROGRAMS)("%s gives its figure", async (_name, far, unit, of) => {
    expect((await runOnce(of(between(far))))[unit]).toBeGreaterThan(0);
  });

  it("has no figure when the count is wrong", async () => {
    const program = nodeCalls(300, between("nodes-far"));
    const wrong = { ...program, expected: program.expected + 1 };
    await expect(runOnce(wrong)).rejects.toBeInstanceOf(WrongCountError);
  });
});
