// Processes in threads: messages to one, round trips with one, and work for two.

import { type Pid, type ReplyTo, System } from "signalbox";
import { type Threads, threads } from "signalbox/nodes";
import { bolt, field, grouping, spoutFrom, topology } from "signalbox/topology";
import { type Figures, median, type Program, type Run, Stopwatch } from "./program.js";
import { compute } from "./thread-compute.js";
import { type Counted, grind, type Piece } from "./thread-work.js";
import { sendAll } from "./windows.js";

/** The compiled module beside this one. */
const WORK = new URL("./thread-work.js", import.meta.url);

/** The part that comes first and is not timed. */
const WARM_UP = 0.2;

async function onThreads(
  size: number,
  work: URL,
  run: (system: System, workers: Threads) => Promise<{ counted: number; figures: Figures }>,
): Promise<Run> {
  const system = new System({ report: false });
  const workers = await threads(system, {
    size,
    program: work,
    placement: "turns",
  });
  const { counted, figures } = await run(system, workers);
  return { counted, figures, end: () => system.stop() };
}

/** Sends `count` small messages, and adds up how many arrived. */
const sendTo = (system: System, counter: Pid<Counted>, count: number): Promise<number> =>
  sendAll(
    count,
    (n) => system.send(counter, { order: n, item: "a lamp" }),
    () =>
      system.call<Counted, Counted, number>(counter, (replyTo) => ({
        replyTo,
      })),
  );

/** Messages a second from the main thread to a process in another one. */
export function threadSend(count: number, work: URL = WORK): Program {
  return {
    operations: count,
    expected: count,
    run: () =>
      onThreads(1, work, async (system, workers) => {
        const counter = (await workers.start("counter")) as Pid<Counted>;
        await sendTo(system, counter, Math.ceil(count * WARM_UP));
        const watch = new Stopwatch();
        const counted = await sendTo(system, counter, count);
        const { wallMs, cpuMs } = watch.read();
        return {
          counted,
          figures: {
            perSecond: (count * 1_000) / wallMs,
            perCpuSecond: (count * 1_000) / cpuMs,
          },
        };
      }),
  };
}

const ask = (system: System, pid: Pid<Piece>, rounds: number): Promise<number> =>
  system.call(pid, (replyTo: ReplyTo<number>) => ({ rounds, replyTo }), {
    timeoutMs: 60_000,
  });

/** The median of round trips, one at a time, in nanoseconds. */
export function threadRoundTrip(count: number, work: URL = WORK): Program {
  return {
    operations: count,
    expected: (count * (count + 1)) / 2,
    run: () =>
      onThreads(1, work, async (system, workers) => {
        const echo = (await workers.start("echo")) as Pid<Piece>;
        for (let n = 0; n < count * WARM_UP; n++) await ask(system, echo, n);
        const ns: number[] = [];
        let counted = 0;
        for (let n = 1; n <= count; n++) {
          const before = performance.now();
          const answer = await ask(system, echo, n);
          ns.push((performance.now() - before) * 1e6);
          counted += answer;
        }
        return { counted, figures: { ns: median(ns) } };
      }),
  };
}

/** Two pieces of work: the time that two threads take, as a part of that of one thread. */
export function threadPair(rounds: number, work: URL = WORK): Program {
  const right = compute(rounds);
  return {
    operations: 4,
    expected: 4 * right,
    run: () =>
      onThreads(2, work, async (system, workers) => {
        // One after the other in turn: the first and the third share a thread.
        const bolts: Pid<Piece>[] = [];
        for (let i = 0; i < 3; i++) bolts.push((await workers.start("bolt")) as Pid<Piece>);
        const [one, two, beside] = bolts as [Pid<Piece>, Pid<Piece>, Pid<Piece>];
        const both = async (...pids: readonly Pid<Piece>[]) => {
          const before = performance.now();
          const results = await Promise.all(pids.map((pid) => ask(system, pid, rounds)));
          return {
            ms: performance.now() - before,
            sum: results.reduce((sum, result) => sum + result),
          };
        };
        await both(one, two, beside);
        const onOne = await both(one, beside);
        const onTwo = await both(one, two);
        return {
          counted: onOne.sum + onTwo.sum,
          figures: { times: onTwo.ms / onOne.ms },
        };
      }),
  };
}

/** A bolt whose tuples are work: the time that two tasks in two threads take, as a part of that of one task in one. */
export function threadBolts(tuples: number, rounds: number, work: URL = WORK): Program {
  const right = compute(rounds);
  const timed = async (system: System, workers: Threads, tasks: number) => {
    let sum = 0;
    const add = bolt({
      input: { n: field.number },
      execute: ({ values }) => {
        sum += values.n;
      },
    });
    const before = performance.now();
    const running = await system.start(
      topology("work")
        .spout("pieces", spoutFrom(pieces(tuples, rounds), { fields: { n: field.number } }))
        .bolt("grind", grind, {
          on: workers,
          tasks,
          from: { "pieces.items": grouping.shuffle() },
        })
        .bolt("add", add, { from: { "grind.done": grouping.shuffle() } })
        .build(),
    );
    await running.finished();
    const ms = performance.now() - before;
    await running.stop();
    return { ms, sum };
  };
  return {
    operations: 2 * tuples,
    expected: 2 * tuples * right,
    run: () =>
      onThreads(2, work, async (system, workers) => {
        await timed(system, workers, 2);
        const onOne = await timed(system, workers, 1);
        const onTwo = await timed(system, workers, 2);
        return {
          counted: onOne.sum + onTwo.sum,
          figures: { times: onTwo.ms / onOne.ms },
        };
      }),
  };
}

function* pieces(tuples: number, rounds: number): Iterable<{ readonly n: number }> {
  for (let i = 0; i < tuples; i++) yield { n: rounds };
}
