// What plain worker threads do in the place of the programs of threads.ts: messages over a port, without a system at either end.

import { type MessagePort, parentPort, Worker, workerData } from "node:worker_threads";
import { type Figures, median, type Program, type Run, Stopwatch } from "./program.js";
import { compute } from "./thread-compute.js";
import { sendAll } from "./windows.js";

/** The compiled form of this file, which its threads load too. */
const HERE = new URL("./bare-threads.js", import.meta.url);
const WARM_UP = 0.2;

/** To a thread: a message to count, a question how many there were, or a piece of work. */
type ToBare =
  | { readonly order: number; readonly item: string }
  | { readonly type: "count" }
  | { readonly type: "echo" | "work"; readonly n: number };

if ((workerData as { readonly isBare?: boolean } | undefined)?.isBare === true)
  serve(parentPort as MessagePort);

function serve(port: MessagePort): void {
  let counted = 0;
  port.on("message", (message: ToBare) => {
    if (!("type" in message)) counted++;
    else if (message.type === "count") {
      port.postMessage(counted);
      counted = 0;
    } else port.postMessage(message.type === "echo" ? message.n : compute(message.n));
  });
}

/** A thread that answers in order. */
class Bare {
  readonly #worker: Worker;
  readonly #open: ((answer: number) => void)[] = [];

  constructor(file: URL) {
    this.#worker = new Worker(file, { workerData: { isBare: true } });
    this.#worker.on("message", (answer: number) => this.#open.shift()?.(answer));
  }

  send(message: ToBare): void {
    this.#worker.postMessage(message);
  }

  ask(message: ToBare): Promise<number> {
    this.send(message);
    return new Promise((resolve) => this.#open.push(resolve));
  }

  end(): Promise<number> {
    return this.#worker.terminate();
  }
}

async function onBare(
  size: number,
  file: URL,
  run: (all: readonly Bare[]) => Promise<{ counted: number; figures: Figures }>,
): Promise<Run> {
  const all = Array.from({ length: size }, () => new Bare(file));
  const { counted, figures } = await run(all);
  return { counted, figures, end: async () => void (await Promise.all(all.map((bare) => bare.end()))) };
}

const sendTo = (bare: Bare, count: number): Promise<number> =>
  sendAll(
    count,
    (n) => bare.send({ order: n, item: "a lamp" }),
    () => bare.ask({ type: "count" }),
  );

/** Messages a second to another thread. */
export function bareSend(count: number, file: URL = HERE): Program {
  return {
    operations: count,
    expected: count,
    run: () =>
      onBare(1, file, async ([bare]) => {
        await sendTo(bare as Bare, Math.ceil(count * WARM_UP));
        const watch = new Stopwatch();
        const counted = await sendTo(bare as Bare, count);
        const { wallMs, cpuMs } = watch.read();
        return {
          counted,
          figures: { perSecond: (count * 1_000) / wallMs, perCpuSecond: (count * 1_000) / cpuMs },
        };
      }),
  };
}

/** The median of round trips, one at a time, in nanoseconds. */
export function bareRoundTrip(count: number, file: URL = HERE): Program {
  return {
    operations: count,
    expected: (count * (count + 1)) / 2,
    run: () =>
      onBare(1, file, async ([one]) => {
        const bare = one as Bare;
        for (let n = 0; n < count * WARM_UP; n++) await bare.ask({ type: "echo", n });
        const ns: number[] = [];
        let counted = 0;
        for (let n = 1; n <= count; n++) {
          const before = performance.now();
          const answer = await bare.ask({ type: "echo", n });
          ns.push((performance.now() - before) * 1e6);
          counted += answer;
        }
        return { counted, figures: { ns: median(ns) } };
      }),
  };
}

/** Pieces of work, of which each thread has one at hand and one that waits: the time that two threads take, as a part of that of one. */
export function bareWork(pieces: number, rounds: number, file: URL = HERE): Program {
  const timed = async (all: readonly Bare[]): Promise<{ ms: number; sum: number }> => {
    let left = pieces;
    let sum = 0;
    const worker = async (bare: Bare): Promise<void> => {
      while (left-- > 0) {
        const answer = await bare.ask({ type: "work", n: rounds });
        sum += answer;
      }
    };
    const before = performance.now();
    await Promise.all(all.flatMap((bare) => [worker(bare), worker(bare)]));
    return { ms: performance.now() - before, sum };
  };
  return {
    operations: 2 * pieces,
    expected: 2 * pieces * compute(rounds),
    run: () =>
      onBare(2, file, async (both) => {
        await timed(both);
        const onOne = await timed(both.slice(0, 1));
        const onTwo = await timed(both);
        return { counted: onOne.sum + onTwo.sum, figures: { times: onTwo.ms / onOne.ms } };
      }),
  };
}
