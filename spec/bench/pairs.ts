// Two nodes in one process, for programs of calls and messages between nodes.

import { type Pid, remoteNodes, System } from "signalbox";
import { type FrameCarrier, type FrameReceiver, Sessions } from "signalbox/nodes";
import type { Program } from "./program.js";

export interface Pair {
  readonly here: System;
  readonly there: System;
  /** A process of the other node, as this one knows it. */
  known<M>(pid: Pid<M>): Pid<M>;
  /** A process of this node, as a message to the other node holds it. */
  held<M>(pid: Pid<M>): Pid<M>;
}

/** A machine that is busy may hold the program for seconds, and a node that slept for longer than this ends its sessions. */
const LIMIT_MS = 60_000;

/** Joins two systems. */
export type Join = () => Promise<Pair>;

/** A program on two systems that are joined. */
export function onPair(
  join: Join,
  operations: number,
  work: (pair: Pair, done: (counted: number) => void) => void | Promise<void>,
): Program {
  return {
    operations,
    expected: operations,
    run: async () => {
      const pair = await join();
      const counted = await new Promise<number>((resolve, reject) => {
        for (const system of [pair.here, pair.there])
          system.events.on("crash", ({ text }) => reject(new Error(text)));
        Promise.resolve(work(pair, resolve)).catch(reject);
      });
      const end = async (): Promise<void> => {
        await pair.here.stop();
        await pair.there.stop();
      };
      return { counted, end };
    },
  };
}

/** A transport that passes signals by reference: what the kernel itself adds, without a codec. */
export async function byReference(): Promise<Pair> {
  const nodes = new Map<string, System>();
  const transport = remoteNodes({
    send: ({ id }, signal) => {
      nodes.get(id)?.deliver(signal);
      return true;
    },
  });
  const [here, there] = ["here", "there"].map((name) => {
    const system = new System({ name, report: false, transport });
    nodes.set(system.node.id, system);
    return system;
  }) as [System, System];
  const known = <M>(pid: Pid<M>): Pid<M> => here.pidAt(there.address(pid)) as Pid<M>;
  const held = <M>(pid: Pid<M>): Pid<M> => there.pidAt(here.address(pid)) as Pid<M>;
  return { here, there, known, held };
}

/** Sessions and the codec, as threads and machines have them, over a wire that costs next to nothing: a list of frames, read in a turn of its own. */
export async function overWire(): Promise<Pair> {
  const systems = ["here", "there"].map((name) => new System({ name, report: false }));
  const receivers = new Map<string, FrameReceiver>();
  const carrier = ({ node }: System): FrameCarrier => ({
    notices: true,
    open: (receiver) => void receivers.set(node.id, receiver),
    send: (to, frame) => {
      setImmediate(() => receivers.get(to.id)?.frame(node, frame));
      return receivers.has(to.id);
    },
    close: () => void receivers.delete(node.id),
  });
  for (const system of systems) new Sessions(system, carrier(system), { limitMs: LIMIT_MS });
  const [here, there] = systems as [System, System];
  await new Promise<void>((resolve) => {
    here.events.on("nodeUp", () => resolve());
    receivers.get(here.node.id)?.seen(there.node);
    receivers.get(there.node.id)?.seen(here.node);
  });
  const known = <M>(pid: Pid<M>): Pid<M> => here.pidAt(there.address(pid)) as Pid<M>;
  return { here, there, known, held: (pid) => pid };
}
