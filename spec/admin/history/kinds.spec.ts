// One incident of each kind, by systems that really have what goes wrong.

import { defineServer, type Pid, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { circuitBreaker, run } from "signalbox/service";
import { memory } from "signalbox/store";
import { bolt, grouping, topology } from "signalbox/topology";
import { describe, expect, test } from "vitest";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { Sessions } from "../../../lib/node/session/sessions.js";
import { NoAnswerError, watched } from "../../flow/defects/support.js";
import { FrameNetwork } from "../../node/session/frame-network.js";
import { gate } from "../../support/gate.js";
import { N, Sink, Source, Stage } from "../../topology/support.js";
import { shop } from "./bench.js";

describe("an incident [N1527]", () => {
  test("of kind highWater says whose mailbox is deep", async () => {
    const { clock, system, one } = await shop({ limits: { highWater: 8 } });
    const slow = system.spawn<number>({ handle: () => new Promise(() => undefined) }, { label: "slow" });
    for (let i = 0; i < 10; i++) system.send(slow, i);
    await clock.settle();
    expect(await one("highWater")).toMatchObject({
      label: "slow",
      path: "shop/slow",
      text: expect.stringContaining("messages wait at slow"),
    });
    system.exit(slow, "kill");
  });

  test("of kind longTurn says which process it was, and the overview how long", async () => {
    const { clock, system, on, one } = await shop();
    const hog = system.spawn<number>({ handle: (_ctx, ms) => void clock.elapse(ms) }, { label: "hog" });
    system.send(hog, 200);
    await clock.settle();
    expect(await one("longTurn")).toMatchObject({
      label: "hog",
      text: `a turn took 200 ms: hog (shop.${hog.id})`,
    });
    expect((await on.overview()).turns).toEqual({ late: 1, lastLateMs: 200 });
  });

  test("of kind lateError shows the error", async () => {
    const { clock, system, one } = await shop();
    const late = gate();
    const clerk = system.spawn<string>(
      {
        handle: async () => {
          await late.promise;
          throw new RangeError("too late");
        },
      },
      { label: "clerk" },
    );
    system.send(clerk, "go");
    await clock.settle();
    system.exit(clerk, "kill");
    late.open();
    await clock.settle();
    expect(await one("lateError")).toMatchObject({
      label: "clerk",
      error: { name: "RangeError", message: "too late" },
      text: expect.stringContaining("threw after its exit: RangeError: too late"),
    });
  });

  test("of kind deadTuple and topologyRestart names the topology and its component", async () => {
    await using stage = new Stage();
    const on = new KernelOperations(stage.system.kernel);
    await on.recent();
    const failing = bolt({ input: N, mode: "fail", execute: () => undefined });
    await stage.start(
      topology("told", { retries: 1 })
        .spout("source", new Source([7]).spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_000);
    const whole = await stage.start(
      topology("whole", { intensity: 0, restartsBackoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 } })
        .spout("source", new Source().spout)
        .bolt("worker", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    for (let i = 0; i < 2; i++) await stage.kill(whole, "worker");
    expect(await on.recent({ kind: "deadTuple" })).toMatchObject([
      { label: "told", text: "a tuple of source on numbers failed for good, after 2 attempts" },
    ]);
    expect(await on.recent({ kind: "topologyRestart" })).toMatchObject([
      { label: "whole", text: "whole starts again as a whole in 1000 ms", reason: "killed" },
    ]);
  });

  test("of kind breaker has its label, and the overview lists the breakers that are not closed", async () => {
    const { clock, system, on, all } = await shop();
    const Bank = circuitBreaker({
      label: "bank",
      minimumCalls: 2,
      backoff: { minMs: 500, maxMs: 500, jitter: 0 },
    });
    await system.start(supervisor({ children: [{ id: "bank", name: "bank", start: Bank }] }));
    const bank = Bank.at(system, "bank");
    const fails = () => Promise.reject(new Error("no"));
    for (let i = 0; i < 2; i++) await expect(clock.until(bank(fails)())).rejects.toThrow("no");
    await clock.settle();
    expect(await all("breaker")).toMatchObject([
      { breaker: "bank", text: expect.stringContaining("bank is open, was closed") },
    ]);
    const since = (await on.recent({ kind: "breaker" }))[0]?.at;
    expect((await on.overview()).breakers).toEqual([{ name: "bank", state: "open", since }]);
    await clock.advance(500);
    await clock.until(bank(() => Promise.resolve(1))());
    await clock.settle();
    expect((await on.overview()).breakers).toEqual([]);
  });

  test("of kind hospital and storeOutage names the flow, and the error of the store", async () => {
    const { clock, system, one, all } = await shop();
    let fails = false;
    const store = watched(memory(), () => {
      if (fails) throw new NoAnswerError("no answer");
    });
    const order = defineFlow("order", { onError: "hospital" }, async (flow, _: null) =>
      flow.step("charge", () => {
        throw new RangeError("declined");
      }),
    );
    const naps = defineFlow("naps", async (flow, _: null) => {
      await flow.sleep("3 seconds");
      return flow.step("n", () => 1);
    });
    const host = await clock.until(system.start(flowHost({ store, flows: [order, naps], socket: false })));
    await clock.until(host.start(order, null, { id: "order-7" }));
    await clock.settle();
    expect(await one("hospital")).toMatchObject({
      flow: "order-7",
      text: expect.stringContaining(
        "order-7 is kept until a person acts: code at charge: RangeError: declined",
      ),
    });
    await clock.until(host.start(naps, null, { id: "naps" }));
    fails = true;
    await clock.advance(10_000);
    fails = false;
    await clock.advance(30_000);
    const outages = await all("storeOutage");
    expect(outages[0]).toMatchObject({ text: "the store fails", error: { name: "NoAnswerError" } });
    expect(outages.at(-1)?.text).toMatch(/^the store works again/);
  });

  test("of kind nodeUp and nodeDown names the other node", async () => {
    const { clock, system, all } = await shop();
    const network = new FrameNetwork();
    new Sessions(system, network.carrier(system.node));
    const other = await shop({ name: "other", environment: clock.environment } as never);
    new Sessions(other.system, network.carrier(other.system.node));
    network.meet();
    for (let i = 0; i < 4; i++) await clock.settle();
    network.cut(system.node, other.system.node);
    await clock.advance(60_000);
    expect(await all("nodeUp")).toMatchObject([{ node: "other", text: "other is connected" }]);
    expect((await all("nodeDown"))[0]).toMatchObject({ node: "other", reason: "timeout" });
  });

  test("of kind application says the phases of a service", async () => {
    const { clock, system, all } = await shop();
    const Till = defineServer({ init: () => ({}), calls: {} });
    const service = run(supervisor({ children: [{ id: "till", start: Till }] }), {
      name: "shop",
      system,
      host: false,
    });
    await clock.until(service.started);
    await clock.until(service.stop());
    expect((await all("application")).map(({ text }) => text.replace(/:.*/, ""))).toEqual([
      "shop is starting",
      "shop is running",
      "shop is draining",
      "shop is stopping",
      "shop is stopped",
    ]);
  });
});

/** Events whose causes take more than a test of the history should build. */
test("of kind stranded and nodeRefused says which execution, and which node [N1527]", async () => {
  const { clock, system, one } = await shop();
  const host = system.spawn(() => new Promise(() => undefined), { label: "pipeline host" }) as Pid<unknown>;
  const execution = { execution: "e-1", pipeline: "orders", missing: [] };
  system.events.publish("executionStranded", { ...execution, host });
  const versions = { here: { least: 1, most: 1 }, there: { least: 2, most: 2 } };
  system.events.publish("nodeRefused", { node: { ...system.node, name: "old" }, ...versions });
  await clock.settle();
  expect(await one("stranded")).toMatchObject({
    path: "shop/pipeline host",
    text: "execution e-1 of orders cannot end: its pipeline was changed",
  });
  expect(await one("nodeRefused")).toMatchObject({ node: "old" });
  system.exit(host, "kill");
});

test("of kind action says what was asked for through an observer, whereof, and what came of it, and none of its values [N1527]", async () => {
  const { system, all } = await shop();
  const tell = (op: string, args: Readonly<Record<string, string>>, outcome: "done" | "refused"): void =>
    system.events.publish("observerAction", { op, args, outcome, tookMs: 3 });
  tell("flows.cancel", { id: "order-7", reason: "4711" }, "done");
  tell("pipelines.edit", { body: "4711" }, "refused");
  expect((await all("action")).map(({ label, text }) => [label, text])).toEqual([
    ["flows.cancel", "an observer asked for flows.cancel of order-7: done in 3 ms"],
    ["pipelines.edit", "an observer asked for pipelines.edit: refused in 3 ms"],
  ]);
  expect(JSON.stringify(await all())).not.toContain("4711");
});
