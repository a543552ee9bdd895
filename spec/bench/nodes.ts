// Two nodes over NATS, each in a process of its own: messages, round trips, and the loss of a node by `kill -9`.

import { setTimeout as pause } from "node:timers/promises";
import { ConsumerGroup, consumer, type Pid, type ReplyTo, System } from "signalbox";
import { type ClusterNode, joinCluster, nats } from "signalbox/nodes";
import { benchNats } from "./bench-nats.js";
import { compiledFar, Far } from "./far.js";
import { type Figures, type Program, type Run, Stopwatch } from "./program.js";
import type { Counted } from "./thread-work.js";
import { askAll, percentile, sendAll, sumOf, timeAll } from "./windows.js";

/** Names of the processes of the other node, and of the group. */
export const COUNTER = "counter";
export const ECHO = "echo";
export const WORK = "work";

/** A question to the echo. */
export interface Echoed {
  readonly n: number;
  readonly replyTo: ReplyTo<number>;
}

/** The part that comes first and is not timed. */
export const WARM_UP = 0.2;
/** Round trips that are open at once. */
export const OPEN = 256;
const JOIN_MS = 10_000;
const POLL_MS = 2;

/** Where the server is, and what the other process runs. */
export interface TwoNodes {
  readonly servers: () => string;
  readonly far: readonly string[];
}

const HERE: TwoNodes = { servers: benchNats, far: compiledFar("nodes-far") };

let clusters = 0;

/** A node in a cluster of its own. */
async function joined(servers: string): Promise<{ system: System; node: ClusterNode; cluster: string }> {
  const cluster = `bench-${process.pid}-${++clusters}`;
  const system = new System({ name: "near", report: false });
  return { system, node: await joinCluster(system, nats({ servers, cluster })), cluster };
}

/** @throws Error when it does not come */
async function until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  for (const end = performance.now() + JOIN_MS; performance.now() < end; await pause(POLL_MS)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`no ${what} within ${JOIN_MS} ms`);
}

type Work<M> = (
  system: System,
  pid: Pid<M>,
  both: <T>(work: () => Promise<T>) => Promise<{ result: T; perSecond: (of: number) => Figures }>,
) => Promise<{ counted: number; figures: Figures }>;

/** Runs work against a process of another node. The time of the processors is that of both processes, and not that of the server. */
async function onTwoNodes<M>(name: string, { servers, far }: TwoNodes, work: Work<M>): Promise<Run> {
  const { system, node, cluster } = await joined(servers());
  const other = await Far.start(far, [servers(), cluster]);
  const pid = await until(name, () => node.whereis(name));
  const run = await work(system, pid as Pid<M>, timedOn(other));
  const end = async (): Promise<void> => {
    await node.leave();
    await system.stop();
    await other.kill();
  };
  return { ...run, end };
}

/** Times work by the clock, and by the processors of this process and the other one. */
export function timedOn(other: Far): Parameters<Work<never>>[2] {
  return async (work) => {
    const before = await other.cpuMs();
    const watch = new Stopwatch();
    const result = await work();
    const { wallMs, cpuMs } = watch.read();
    const allMs = cpuMs + (await other.cpuMs()) - before;
    const perSecond = (of: number): Figures => ({
      perSecond: (of * 1_000) / wallMs,
      perCpuSecond: (of * 1_000) / allMs,
    });
    return { result, perSecond };
  };
}

/** Small messages from one node to another. */
export function nodeSend(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: count,
    once: true,
    run: () =>
      onTwoNodes<Counted>(COUNTER, two, async (system, counter, both) => {
        const run = (messages: number): Promise<number> =>
          sendAll(
            messages,
            (n) => system.send(counter, { order: n, item: "a lamp" }),
            () => system.call<Counted, Counted, number>(counter, (replyTo) => ({ replyTo })),
          );
        await run(Math.ceil(count * WARM_UP));
        const { result, perSecond } = await both(() => run(count));
        return { counted: result, figures: perSecond(count) };
      }),
  };
}

const askEcho = (system: System, echo: Pid<Echoed>, n: number): Promise<number> =>
  system.call(echo, (replyTo: ReplyTo<number>) => ({ n, replyTo }), { timeoutMs: 60_000 });

/** Round trips to another node, 256 of them open at once. */
export function nodeCalls(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: sumOf(count),
    once: true,
    run: () =>
      onTwoNodes<Echoed>(ECHO, two, async (system, echo, both) => {
        const run = (calls: number): Promise<number> => askAll(calls, OPEN, (n) => askEcho(system, echo, n));
        await run(Math.ceil(count * WARM_UP));
        const { result, perSecond } = await both(() => run(count));
        return { counted: result, figures: perSecond(count) };
      }),
  };
}

/** Round trips to another node, one after the other. */
export function nodeRoundTrip(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: sumOf(count),
    once: true,
    run: () =>
      onTwoNodes<Echoed>(ECHO, two, async (system, echo) => {
        const run = (calls: number) => timeAll(calls, (n) => askEcho(system, echo, n));
        await run(Math.ceil(count * WARM_UP));
        const { sum, us } = await run(count);
        return { counted: sum, figures: tripFigures(us) };
      }),
  };
}

/** The median and the 99th percentile of round trips. */
export const tripFigures = (us: Float64Array): Figures => ({
  ns: percentile(us, 0.5) * 1_000,
  medianUs: percentile(us, 0.5),
  p99Us: percentile(us, 0.99),
});

/** From the `kill -9` of the node that has an envelope to the moment in which a consumer of this node has it. Nothing else is sent. */
export function nodeKill(count: number, two: TwoNodes = HERE): Program {
  return {
    operations: count,
    expected: 2 * count,
    once: true,
    run: async () => {
      const servers = two.servers();
      const { system, node, cluster } = await joined(servers);
      const group = new ConsumerGroup<number, number>({ name: WORK, scope: node });
      const us = new Float64Array(count);
      let counted = 0;
      for (let n = 0; n < count; n++) {
        const other = await Far.start(two.far, [servers, cluster, "consumer"]);
        await until("consumer", () => group.consumers[0]);
        const taken = other.next("taken");
        const outcome = system.dispatch(group, n);
        await taken;
        let handledAt = 0;
        const near = system.spawn(
          consumer(
            (payload: number) => {
              handledAt = performance.now();
              return payload;
            },
            { group },
          ),
        );
        const killedAt = performance.now();
        const gone = other.kill();
        const { reply, attempts } = await outcome;
        us[n] = (handledAt - killedAt) * 1_000;
        if (reply === n) counted += attempts;
        await gone;
        system.exit(near, "shutdown");
        await until("empty group", () => (group.consumers.length === 0 ? true : undefined));
      }
      us.sort();
      const end = async (): Promise<void> => {
        await node.leave();
        await system.stop();
      };
      return { counted, figures: { medianUs: percentile(us, 0.5), p99Us: percentile(us, 0.99) }, end };
    },
  };
}
