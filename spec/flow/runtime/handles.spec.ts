// Handles of flow hosts outlive the process of their host: operations go on with the next one.

import { System, supervisor } from "signalbox";
import { defineFlow, FlowOutcomeUnknownError, flowHost, HostGoneError } from "signalbox/flow";
import { describe, expect, onTestFinished, test } from "vitest";
import { flows, HOST_CLAIMS } from "../../../lib/flow/journal/tables.js";
import type { Pid } from "../../../lib/process/pid.js";
import type { Store } from "../../../lib/store/index.js";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { CLAIM_LOST, OpenedSource } from "../../support/opened-store.js";

const gate = defineFlow<string, string, { go: string }>("gate", (flow) => flow.receive("go"));
const two = defineFlow<string, string[], { go: string }>("two", async (flow) => [
  await flow.receive("go"),
  await flow.receive("go"),
]);
const quick = defineFlow("quick", async (flow, n: number) => flow.step("double", () => n * 2));

/** The default lease of stores. */
const LEASE_MS = 15_000;

/** A host under a supervisor, with the default intensity unless another is given. */
async function supervised(more: { readonly hostId?: string } = {}, clock?: TestClock, intensity?: number) {
  const system = new System({
    report: false,
    ...(clock === undefined ? {} : { environment: clock.environment }),
  });
  onTestFinished(() => system.stop());
  const source = new OpenedSource();
  const definition = flowHost({ store: source, flows: [gate, two, quick], name: "flows", ...more });
  const tree = await system.start(
    supervisor({
      strategy: "one_for_one",
      children: [{ id: "flows", start: definition }],
      ...(intensity !== undefined && { intensity }),
    }),
  );
  const pid = system.whereis("flows") as Pid<never>;
  return { system, source, tree, definition, pid, host: definition.at(system, pid) };
}

describe("a handle whose host has lost its claim", () => {
  test("goes on with the next host: waits for results, queries and messages [N360]", async () => {
    const { source, host, system, pid } = await supervised();
    const run = await host.start(gate, "", { id: "a" });
    const others = await Promise.all(["b", "c"].map((id) => host.start(gate, "", { id })));
    const results = [run, ...others].map((one) => one.result());
    await source.revoke(HOST_CLAIMS);
    await Promise.all(["a", "b", "c"].map((id) => host.get(id).send("go", id)));
    expect(await Promise.all(results)).toEqual(["a", "b", "c"]);
    expect(system.whereis("flows")).not.toBe(pid);
    expect((await run.info()).status).toBe("completed");
  });

  test("goes on with the next host also when the claim was lost before its host listened [N366]", async () => {
    const clock = testClock();
    const { source, host, system, pid } = await supervised({}, clock, 3);
    source.loseNextClaim();
    await source.revoke(HOST_CLAIMS);
    const run = await clock.until(host.start(quick, 4, { id: "early" }));
    expect(await clock.until(run.result())).toBe(8);
    // The first, the one whose claim was lost at once, and the one that works.
    expect(source.opened.length).toBe(3);
    expect(system.whereis("flows")).not.toBe(pid);
  });

  test("is not needed for such a host to end: nobody asks it for anything [N366]", async () => {
    const clock = testClock();
    const { source, system, pid } = await supervised({}, clock, 3);
    source.loseNextClaim();
    await source.revoke(HOST_CLAIMS);
    await clock.advance(1_000);
    expect(source.opened.length).toBe(3);
    expect(system.whereis("flows")).toBeDefined();
    expect(system.whereis("flows")).not.toBe(pid);
  });

  test("has the supervisor of a plain program start the host again, with the default intensity [N361]", async () => {
    const clock = testClock();
    const { source, host, tree } = await supervised({ hostId: "till" }, clock);
    for (let i = 0; i < 3; i++) {
      await source.revoke(HOST_CLAIMS);
      expect(await host.start(quick, i).then((run) => run.result())).toBe(2 * i);
      // A host holds its claim for its lease at least, which is longer than the period of the supervisor.
      await clock.advance(LEASE_MS);
    }
    expect(tree.pid.process).toBeDefined();
  });
});

describe("a handle whose host was killed", () => {
  test("answers a start once, and says that it was no other that started the flow [N362]", async () => {
    const { source, host, system, pid } = await supervised();
    // The commit is done, and its answer is lost.
    source.before = async (commit) => {
      source.before = undefined;
      const done = await commit();
      system.exit(pid, "kill");
      return done;
    };
    const run = await host.start(quick, 5, { id: "once" });
    expect(run).toMatchObject({ id: "once", attached: false });
    expect(await run.result()).toBe(10);
    expect((await host.start(quick, 5, { id: "once" })).attached).toBe(true);
  });

  test("sends a message once, although the first answer was lost [N362]", async () => {
    const { source, host, system, pid } = await supervised();
    const run = await host.start(two, "");
    source.before = async (commit) => {
      source.before = undefined;
      const done = await commit();
      system.exit(pid, "kill");
      return done;
    };
    await run.send("go", "first");
    await run.send("go", "second");
    expect(await run.result()).toEqual(["first", "second"]);
  });

  test("says that the outcome of what must not be repeated is unknown [N363]", async () => {
    const { source, host, system, pid } = await supervised();
    await host.start(gate, "", { id: "paused" });
    source.before = (commit) => {
      source.before = undefined;
      system.exit(pid, "kill");
      return commit();
    };
    const error = await host
      .get("paused")
      .pause()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(FlowOutcomeUnknownError);
    expect(error).toMatchObject({ flowId: "paused", operation: "pause" });
  });

  test("repeats what its host had not begun with [N363]", async () => {
    const { source, host, system, pid } = await supervised();
    await host.start(gate, "", { id: "paused" });
    const paused = host.get("paused").pause();
    system.exit(pid, "kill");
    await paused;
    const [row] = await (source.opened.at(-1) as Store).scan(flows, {
      index: "id",
      prefix: ["paused"],
      limit: 1,
    });
    expect(row?.wish ?? row?.status).toMatch(/^pause/);
  });
});

describe("a handle that no host follows", () => {
  test("ends with an error of its own after a minute: claim lost [N364]", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    onTestFinished(() => system.stop());
    const source = new OpenedSource();
    const host = await system.start(flowHost({ store: source, flows: [gate] }));
    const run = await host.start(gate, "", { id: "a" });
    const ended = run.result().catch((thrown: unknown) => thrown);
    await source.revoke(HOST_CLAIMS);
    await clock.advance(59_000);
    expect(await Promise.race([ended, "waits"])).toBe("waits");
    await clock.advance(1_000);
    const error = await ended;
    expect(error).toBeInstanceOf(HostGoneError);
    expect(error).toMatchObject(CLAIM_LOST);
  });

  test("ends within the caller's own timeout, or by its signal [N364]", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    onTestFinished(() => system.stop());
    const source = new OpenedSource();
    const host = await system.start(flowHost({ store: source, flows: [gate] }));
    const run = await host.start(gate, "", { id: "a" });
    const controller = new AbortController();
    const late = run.result({ timeoutMs: 5_000 }).catch((thrown: unknown) => thrown);
    const aborted = run.result({ signal: controller.signal }).catch((thrown: unknown) => thrown);
    await clock.advance(2_000);
    await source.revoke(HOST_CLAIMS);
    await system.idle();
    controller.abort("enough");
    expect(await aborted).toBe("enough");
    await clock.advance(3_000);
    expect(await late).toMatchObject({ code: "ERR_CALL_TIMEOUT", timeoutMs: 5_000 });
  });

  test("ends at once when the program has stopped its host, or the supervisor has ended [N364]", async () => {
    const system = new System({ report: false });
    onTestFinished(() => system.stop());
    const host = await system.start(flowHost({ store: new OpenedSource(), flows: [gate] }));
    const run = await host.start(gate, "");
    const ended = run.result().catch((thrown: unknown) => thrown);
    await host.stop();
    expect(await ended).toMatchObject({
      code: "ERR_HOST_GONE",
      claimLost: false,
      reason: { type: "shutdown" },
    });
    await expect(run.info()).rejects.toMatchObject({ code: "ERR_HOST_GONE" });

    const other = await supervised();
    const waits = (await other.host.start(gate, "")).result().catch((thrown: unknown) => thrown);
    other.system.exit(other.tree.pid, "kill");
    expect(await waits).toMatchObject({ code: "ERR_HOST_GONE" });
  });

  test("follows a host that the program starts by hand [N360]", async () => {
    const system = new System({ report: false });
    onTestFinished(() => system.stop());
    const source = new OpenedSource();
    const definition = flowHost({ store: source, flows: [gate] });
    const first = await system.start(definition);
    const run = await first.start(gate, "", { id: "a" });
    const result = run.result();
    await source.revoke(HOST_CLAIMS);
    await system.start(definition);
    await run.send("go", "on");
    expect(await result).toBe("on");
  });
});
