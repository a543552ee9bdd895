// Requests and messages whose sender was killed between its commit and its notice: the host that has the flow in memory finds them by itself.

import { describe, expect, it } from "vitest";
import { defineFlow, type FlowHost } from "../../../lib/flow/index.js";
import { memory, type Scan } from "../../../lib/store/index.js";
import { watched } from "../defects/support.js";
import { type Bench, bench } from "./bench.js";
import { deafening } from "./deafening.js";

/** So long that no flow leaves memory by itself, which would find what came. */
const LIMITS = { idleMs: 3_600_000 };

interface Work {
  /** Ends the step. */
  done(): void;
  readonly body: () => Promise<string>;
}

function work(): Work {
  let done = (): void => undefined;
  const worked = new Promise<string>((resolve) => {
    done = () => resolve("worked");
  });
  return { done: () => done(), body: () => worked };
}

const waiting = defineFlow("waiting", (flow, _: undefined) => flow.receive<string>("word"));

/** Runs a long step, and then waits. */
const working = (long: Work, heard: string[] = []) =>
  defineFlow("working", async (flow, _: undefined) => {
    const step = flow.step("long", long.body);
    heard.push(await Promise.race([step, flow.receive<string>("word")]));
    await step;
    return flow.receive<string>("end");
  });

/** Two hosts of a store: the owner of the flows hears nothing of what the other one sends. */
async function deafOwner(definition: typeof waiting): Promise<{
  readonly owner: Bench;
  readonly sender: FlowHost;
  /** Starts a flow at the owner, and makes the owner deaf. */
  start(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const shared = memory({ shared: true });
  const store = deafening(shared);
  const owner = await bench([definition], { store: store.source, limits: LIMITS });
  const other = await bench([], { store: shared, clock: owner.clock });
  return {
    owner,
    sender: other.flows,
    async start() {
      await owner.until(owner.flows.start(definition, undefined, { id: "f" }));
      await owner.clock.advance(100);
      store.deaf = true;
    },
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await owner[Symbol.asyncDispose]();
    },
  };
}

/** The status of the flow after the time of two polls. */
async function statusOf({ clock, flows, until }: Bench): Promise<string> {
  await clock.advance(10_000);
  return (await until(flows.get("f").info())).status;
}

describe("what is asked of a flow in memory at another host, by a sender that notifies nobody", () => {
  it("kills a flow that waits, and one that runs a step [N1510]", async () => {
    for (const definition of [waiting, working(work())]) {
      await using hosts = await deafOwner(definition);
      await hosts.start();
      await hosts.owner.until(hosts.sender.get("f").kill());
      expect(await statusOf(hosts.owner)).toBe("killed");
    }
  });

  it("cancels a flow that waits, and one that runs a step [N1510]", async () => {
    for (const definition of [waiting, working(work())]) {
      await using hosts = await deafOwner(definition);
      await hosts.start();
      await hosts.owner.until(hosts.sender.get("f").cancel());
      expect(await statusOf(hosts.owner)).toBe("cancelled");
    }
  });

  it("pauses a flow that waits, and one that runs a step when the step has ended [N1510]", async () => {
    const long = work();
    for (const definition of [waiting, working(long)]) {
      await using hosts = await deafOwner(definition);
      await hosts.start();
      await hosts.owner.until(hosts.sender.get("f").pause());
      if (definition !== waiting) {
        expect(await statusOf(hosts.owner)).toBe("running");
        long.done();
        // No poll in between: the pause was found while the step ran.
        await hosts.owner.clock.advance(100);
        expect(await hosts.owner.until(hosts.owner.flows.get("f").info())).toMatchObject({
          status: "paused",
        });
      } else expect(await statusOf(hosts.owner)).toBe("paused");
    }
  });

  it("keeps a flow in the hospital that runs a step [N1510]", async () => {
    await using hosts = await deafOwner(working(work()));
    await hosts.start();
    await hosts.owner.until(hosts.sender.hospital.observe("f", "looks odd"));
    expect(await statusOf(hosts.owner)).toBe("hospitalized");
  });

  it("reaches a flow that waits for a message, and one that runs a step meanwhile [N1510]", async () => {
    const heard: string[] = [];
    for (const definition of [waiting, working(work(), heard)]) {
      await using hosts = await deafOwner(definition);
      await hosts.start();
      await hosts.owner.until(hosts.sender.get("f").send("word", "hello"));
      const status = await statusOf(hosts.owner);
      if (definition === waiting) expect(status).toBe("completed");
      else expect(heard).toEqual(["hello"]);
    }
  });
});

describe("a look for what was not notified", () => {
  it("costs no statement while no flow is in memory, and one for a thousand flows that nothing came for [N1511]", async () => {
    const scans: string[] = [];
    const source = watched(memory({ shared: true }), (method, given) => {
      if (method !== "scan") return;
      const [{ name }, { index, where }] = given as [{ name: string }, Scan];
      // Those of every poll: which hosts hold flows, and which flows and schedules are due.
      if (where !== undefined || !["flows", "flow_schedules"].includes(name))
        scans.push(`${name} by ${index}`);
    });
    await using b = await bench([waiting], { store: source, limits: LIMITS });
    const looks = async (): Promise<string[]> => {
      scans.length = 0;
      await b.clock.advance(5_000);
      return [...scans];
    };
    expect(await looks()).toEqual([]);
    const ids = Array.from({ length: 1_000 }, (_, i) => `w${i}`);
    for (const id of ids) await b.until(b.flows.start(waiting, undefined, { id }));
    await b.clock.advance(5_000);
    expect(await looks()).toEqual(["flows by holder"]);
    // Its notice came too, and yet the look reads it once more, and then no more.
    await b.until(b.flows.get("w0").send("other", 1));
    expect(await looks()).toEqual(["flows by holder", "flow_mail by unread"]);
    expect(await looks()).toEqual(["flows by holder"]);
  });

  it("finds what came for more flows than a page has [N1511]", async () => {
    const shared = memory({ shared: true });
    const store = deafening(shared);
    await using b = await bench([waiting], { store: store.source, limits: LIMITS });
    await using other = await bench([], { store: shared, clock: b.clock });
    const ids = Array.from({ length: 1_001 }, (_, i) => `w${i}`);
    const runs = await b.until(Promise.all(ids.map((id) => b.flows.start(waiting, undefined, { id }))));
    store.deaf = true;
    await b.until(Promise.all(ids.map((id) => other.flows.get(id).send("word", id))));
    await b.clock.advance(5_000);
    expect(await b.until(Promise.all(runs.map((run) => run.result())))).toEqual(ids);
  });

  it("leaves a flow alone that was taken anew since the store answered [N1512]", async () => {
    let held: Promise<string> | undefined;
    const shared = memory({ shared: true });
    const slow = watched(
      shared,
      () => undefined,
      (method, given) => (method === "scan" && (given[1] as Scan).where !== undefined ? held : undefined),
    );
    const store = deafening(slow);
    await using b = await bench([waiting], { store: store.source, limits: LIMITS });
    await using other = await bench([], { store: shared, clock: b.clock });
    const run = await b.until(b.flows.start(waiting, undefined, { id: "f" }));
    await b.clock.advance(100);
    store.deaf = true;
    await b.until(other.flows.get("f").pause());
    const answer = work();
    held = answer.body();
    await b.clock.advance(5_000);
    store.deaf = false;
    await b.until(other.flows.get("f").pause());
    await b.clock.advance(100);
    expect(await b.until(run.info())).toMatchObject({ status: "paused" });
    await b.until(other.flows.get("f").resume());
    await b.clock.advance(100);
    answer.done();
    await b.clock.advance(100);
    expect(await b.until(run.info())).toMatchObject({ status: "waiting" });
  });
});
