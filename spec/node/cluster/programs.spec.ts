// Children on other nodes: programs by name, and the processes that stand for them. The nodes are systems of one thread, joined by a wire.

import { defineServer, type Pid, type RemoteNode, remoteNodes, System, stop, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { placedChild } from "../../../lib/node/cluster/placed-child.js";
import {
  fewestChildren,
  inTurn,
  type KnownNode,
  type Placement,
  ProgramNodes,
} from "../../../lib/node/cluster/placement.js";
import { type Programs, startStarter } from "../../../lib/node/cluster/programs.js";
import { SignalCodec } from "../../../lib/node/codec/signal-codec.js";
import { macrotask } from "../../support/host.js";

let here: System;
let there: System[];
let nodes: ProgramNodes;
let heard: unknown[];

const Counter = defineServer({
  init: () => ({ count: 1 }),
  calls: { add: (state, n: number) => (state.count += n) },
});

const PROGRAMS: Programs = {
  picker: {
    handle: (_ctx, message) => {
      if (message === "stop") return stop();
      if (message === "fail") throw new Error("it fails");
      heard.push(message);
      return undefined;
    },
  },
  stubborn: async (ctx) => {
    ctx.trapExit(true);
    for (;;) heard.push((await ctx.receiveSignal()).type);
  },
  counter: Counter,
  broken: defineServer({
    init: () => {
      throw new Error("it does not start");
    },
  }),
};

/** A system whose signals reach the others as text. */
function join(name: string): System {
  const codecs = new Map<string, SignalCodec>();
  const codec = (at: System, peer: RemoteNode): SignalCodec => {
    const key = `${at.node.id} ${peer.id}`;
    const found = codecs.get(key) ?? new SignalCodec(at.kernel, peer);
    codecs.set(key, found);
    return found;
  };
  const system: System = new System({
    name,
    report: false,
    transport: remoteNodes({
      send: (node, signal) => {
        const to = [here, ...there].find((one) => one.node.id === node.id);
        if (to === undefined) return false;
        const text = codec(system, node).encode(signal);
        setImmediate(() => to.deliver(codec(to, system.node).decode(text)));
        return true;
      },
    }),
  });
  return system;
}

/** Resolves when the systems have nothing to do, nor anything on its way between them. */
async function settle(): Promise<void> {
  for (let i = 0; i < 10; i++) {
    for (const system of [here, ...there]) await system.idle();
    await macrotask();
  }
}

beforeEach(() => {
  heard = [];
  there = [];
  here = join("here");
  there = ["one", "two"].map(join);
  nodes = new ProgramNodes();
  for (const system of there) {
    const starter = startStarter(system, PROGRAMS);
    nodes.add(system.node, here.pidAt(system.address(starter)) as typeof starter);
  }
});
afterEach(async () => {
  for (const system of [here, ...there]) await system.stop();
});

const on = (program: string, placement: Placement = fewestChildren(), placeTimeoutMs = 1_000) =>
  placedChild({ nodes, placement, placeTimeoutMs, program, args: [] });
const labelled = (label: string) => (system: System) =>
  system.processes().filter((pid) => pid.label === label);
const count = (label: string) => there.map((system) => labelled(label)(system).length);

describe("a child on another node", () => {
  it("is started there, gets its messages, and its end is that of the child here [N1101]", async () => {
    const child = await here.start(on("picker"));
    expect(count("picker")).toEqual([1, 0]);
    here.send(child, "an order");
    here.send(child, "stop");
    expect(await here.exited(child)).toEqual({ type: "normal" });
    expect(heard).toEqual(["an order"]);
    expect(count("picker")).toEqual([0, 0]);
  });

  it("crashes here with the reason of its crash there [N1101]", async () => {
    const child = await here.start(on("picker"));
    here.send(child, "fail");
    expect(await here.exited(child)).toMatchObject({ type: "crash", error: { message: "it fails" } });
  });

  it("takes no harm from what cannot be sent to it: a message is a dead letter, a call fails", async () => {
    const dead: unknown[] = [];
    here.events.on("deadLetter", ({ reason, error }) => void dead.push([reason, error?.message]));
    const child = await here.start(on("picker"));
    here.send(child, () => 1);
    here.send(child, "an order");
    await settle();
    expect(heard).toEqual(["an order"]);
    expect(dead).toEqual([["unsendable", expect.stringContaining("message is the function")]]);
    const counter = Counter.at(here, (await here.start(on("counter"))) as Pid<never>);
    await expect(counter.call.add((() => 1) as never)).rejects.toThrow(
      /which cannot be sent to another node/,
    );
    expect(await counter.call.add(2)).toBe(3);
  });

  it("ends with its supervisor, in order and by a kill [N1101]", async () => {
    const Root = supervisor({
      children: ["a", "b"].map((id) => ({ id, start: on("picker", inTurn()) })),
    });
    const root = await here.start(Root);
    expect(count("picker")).toEqual([2, 0]);
    here.exit(root.pid as Pid, "shutdown");
    await here.exited(root.pid as Pid);
    expect(count("picker")).toEqual([0, 0]);
    const stubborn = await here.start(on("stubborn"));
    here.exit(stubborn, "kill");
    await settle();
    expect(count("stubborn")).toEqual([0, 0]);
  });

  it("is restarted on another node when its node is lost, and stopped on the lost one [N1101]", async () => {
    const Root = supervisor({ children: [{ id: "a", name: "a", start: on("picker") }] });
    await here.start(Root);
    expect(count("picker")).toEqual([1, 0]);
    const [one] = there as [System];
    nodes.remove(one.node.id);
    one.nodeDown(here.node.id);
    here.nodeDown(one.node.id);
    await settle();
    expect(count("picker")).toEqual([0, 1]);
    here.send("a", "after");
    await settle();
    expect(heard).toEqual(["after"]);
  });

  it("fails its start as a child here does: its init, an unknown name, no node in time [N1101]", async () => {
    await expect(here.start(on("broken"))).rejects.toMatchObject({
      reason: { type: "crash", error: { message: "it does not start" } },
    });
    await expect(here.start(on("toString"))).rejects.toMatchObject({
      reason: { type: "crash", error: { code: "ERR_UNKNOWN_PROGRAM" } },
    });
    for (const { node } of there) nodes.remove(node.id);
    await expect(here.start(on("picker", inTurn(), 1))).rejects.toMatchObject({
      reason: { type: "crash", error: { code: "ERR_NO_NODE" } },
    });
  });

  it("waits for a node", async () => {
    const [one] = nodes.all as readonly [KnownNode];
    for (const { node } of there) nodes.remove(node.id);
    const start = here.start(on("picker"));
    await settle();
    nodes.add(one.node, one.starter);
    await start;
    expect(count("picker")).toEqual([1, 0]);
  });

  it("leaves a starter that gets nonsense running", async () => {
    const [{ starter }] = nodes.all as readonly [KnownNode];
    for (const nonsense of [undefined, null, 1, "x", {}, { type: "start" }, { type: "exit", pid: 1 }])
      here.send(starter as Pid<unknown>, nonsense);
    await settle();
    await here.start(on("picker"));
    expect(count("picker")).toEqual([1, 0]);
  });
});
