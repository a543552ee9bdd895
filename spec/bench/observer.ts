// What the observer costs the system that it shows: nobody looks, and one viewer of a system of many processes under load. Each figure is the
// difference of two phases of one process, on systems of their own.

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Pid, System, supervisor } from "signalbox";
import { type ObserverAddress, observer } from "signalbox/observer";
import { type Figures, median, type Program, Stopwatch } from "./program.js";

/** What a viewer has seen of the first processes. */
export interface Seen {
  /** Answers that came, as a whole or as a difference. */
  readonly answers: number;
  /** The processes that the last one counts. */
  readonly total: number;
}

/** A viewer at an observer. `end` gives what it has seen. */
export interface Viewer {
  end(): Promise<Seen>;
}

/** Opens a viewer. */
export type View = (address: ObserverAddress) => Promise<Viewer>;

/** A viewer in a process of its own, whose time and memory do not count. */
export async function viewerProcess({ url, token }: ObserverAddress): Promise<Viewer> {
  const viewer = fileURLToPath(new URL("observer-viewer.js", import.meta.url));
  const child = spawn(process.execPath, [viewer, url, token], { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    closed.then(() => reject(new Error("the viewer has ended")));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      if (output.includes("\n")) resolve();
    });
  });
  return {
    end: async () => {
      child.stdin.end();
      await closed;
      return JSON.parse(output.slice(output.indexOf("\n"))) as Seen;
    },
  };
}

/** A system of many processes, of which each passes a message on to one far away in the list. */
interface Town {
  readonly system: System;
  /** Sends messages that go on so many times each. */
  send(count: number, times: number): void;
  /** Messages that were handled. */
  handled(): number;
}

/** Processes between one that passes a message on and the next: no cache holds so many. */
const STRIDE = 7_919;

function town(processes: number): Town {
  const system = new System({ name: "town", report: false });
  const pids: Pid<number>[] = [];
  let handled = 0;
  let next = 0;
  for (let i = 0; i < processes; i++)
    pids.push(
      system.spawn<number>({
        handle: (ctx, left) => {
          handled++;
          if (left > 1) ctx.send(pids[(i + STRIDE) % processes] as Pid<number>, left - 1);
        },
      }),
    );
  return {
    system,
    send: (count, times) => {
      for (let i = 0; i < count; i++) system.send(pids[next++ % processes] as Pid<number>, times);
    },
    handled: () => handled,
  };
}

/** Starts an observer, and a viewer if there is one. */
async function watched(
  system: System,
  view: View | undefined,
): Promise<{ end(): Promise<Seen | undefined> }> {
  let address: ObserverAddress | undefined;
  const onListening = (at: ObserverAddress): void => {
    address = at;
  };
  const start = observer({ port: 0, onListening });
  const top = await system.start(supervisor({ children: [{ id: "observer", start }] }));
  const viewer = await view?.(address as ObserverAddress);
  return {
    end: async () => {
      const seen = await viewer?.end();
      system.exit(top.pid, "shutdown");
      await system.exited(top.pid);
      return seen;
    },
  };
}

/** Nobody has looked, or somebody has seen all processes in many answers. @throws Error */
function check(seen: Seen | undefined, processes: number, ms: number): void {
  // At 100,000 processes a walk takes its share of the thread, so that answers come less often than four times a second.
  if (seen === undefined || (seen.total >= processes && seen.answers >= 1 + Math.floor(ms / 5_000))) return;
  throw new Error(`the viewer has seen ${seen.answers} answers, and ${seen.total} of ${processes} processes`);
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A phase of a program: the system, whether it is observed, and what is measured. */
async function phase<T>(
  { processes, settleMs }: ObserverSize,
  view: View | undefined,
  isObserved: boolean,
  work: (town: Town) => Promise<{ readonly figure: T; readonly ms: number }>,
): Promise<T> {
  const shown = town(processes);
  await shown.system.idle();
  const watch = isObserved ? await watched(shown.system, view) : undefined;
  await pause(settleMs);
  globalThis.gc?.();
  const { figure, ms } = await work(shown);
  check(await watch?.end(), processes, view === undefined ? 0 : ms);
  await shown.system.stop({ timeoutMs: 0 });
  return figure;
}

/** How much is measured. */
export interface ObserverSize {
  readonly processes: number;
  /** For the first answers and what is compiled for them, in milliseconds. */
  readonly settleMs: number;
  /** Messages under way at once, and how often each goes on, where messages go as fast as they can. */
  readonly atOnce: number;
  readonly times: number;
  /** Milliseconds of a phase at a given rate, and messages in each of these. */
  readonly ms: number;
  readonly perMs: number;
  /** Pairs of phases, with an observer and without. */
  readonly pairs: number;
}

const once = (expected: number, run: () => Promise<{ counted: number; figures: Figures }>): Program => ({
  operations: 1,
  expected,
  once: true,
  run,
});

/** Milliseconds of the processor that an observer without a viewer takes in ten seconds of a system that is idle otherwise. */
export function observerIdle(size: ObserverSize): Program {
  const { processes, ms } = size;
  return once(2, async () => {
    let counted = 0;
    const used = async (isObserved: boolean): Promise<number> =>
      phase(size, undefined, isObserved, async ({ system }) => {
        const before = process.cpuUsage();
        await pause(ms);
        const { user, system: kernel } = process.cpuUsage(before);
        if (system.population >= processes) counted++;
        return { figure: (user + kernel) / 1_000, ms };
      });
    const alone = await used(false);
    const cpuMs = ((await used(true)) - alone) * (TEN_SECONDS / ms);
    return { counted, figures: { cpuMs: Math.max(0, cpuMs) } };
  });
}

const TEN_SECONDS = 10_000;

/** How many times as much time of the processor the same messages take with a viewer, where they go as fast as they can. */
export function observerViewer(size: ObserverSize, view: View = viewerProcess): Program {
  const { atOnce, times, pairs } = size;
  const messages = atOnce * times;
  return once(messages * 2 * (pairs + 1), async () => {
    let counted = 0;
    const used = (isObserved: boolean): Promise<number> =>
      phase(size, view, isObserved, async ({ send, handled, system }) => {
        const watch = new Stopwatch();
        send(atOnce, times);
        while (handled() < messages) await new Promise<void>((resolve) => setImmediate(resolve));
        const { cpuMs, wallMs } = watch.read();
        await system.idle();
        counted += handled();
        return { figure: cpuMs, ms: wallMs };
      });
    const alone: number[] = [];
    const seen: number[] = [];
    for (let pair = -1; pair < pairs; pair++) {
      // Each goes first as often as the other.
      const isFirst = pair % 2 === 0;
      const [one, other] = [await used(isFirst), await used(!isFirst)];
      // The first pair is the warm-up.
      if (pair < 0) continue;
      seen.push(isFirst ? one : other);
      alone.push(isFirst ? other : one);
    }
    return { counted, figures: { times: median(seen) / median(alone) } };
  });
}

/** A load of a given rate. Gives how late each burst was handled, in milliseconds: from the time at which it was due. */
async function paced({ send, handled }: Town, ms: number, perMs: number): Promise<number[]> {
  const late: number[] = [];
  const begun = performance.now();
  let sent = 0;
  for (let tick = 0; tick < ms; tick++) {
    while (performance.now() - begun < tick) await new Promise<void>((resolve) => setImmediate(resolve));
    send(perMs, 1);
    sent += perMs;
    while (handled() < sent) await new Promise<void>((resolve) => setImmediate(resolve));
    late.push(performance.now() - begun - tick);
  }
  return late;
}

const percentile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;

/** By how many milliseconds the 99th percentile of the time of a burst is longer with a viewer. */
export function observerTurns(size: ObserverSize, view: View = viewerProcess): Program {
  const { ms, perMs, pairs } = size;
  return once(ms * perMs * 2 * pairs, async () => {
    let counted = 0;
    const p99 = (isObserved: boolean): Promise<number> =>
      phase(size, view, isObserved, async (shown) => {
        const late = await paced(shown, ms, perMs);
        counted += shown.handled();
        return { figure: percentile(late, 0.99), ms };
      });
    const longer: number[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      const alone = await p99(false);
      longer.push((await p99(true)) - alone);
    }
    return { counted, figures: { ms: Math.max(0, median(longer)) } };
  });
}

/** Bytes of memory that an observer and its viewer take in the process of the system, under the same load. */
export function observerMemory(size: ObserverSize, view: View = viewerProcess): Program {
  const { ms, perMs } = size;
  return once(ms * perMs * 2, async () => {
    let counted = 0;
    const bytes = (isObserved: boolean): Promise<number> =>
      phase(size, view, isObserved, async (shown) => {
        await paced(shown, ms, perMs);
        counted += shown.handled();
        globalThis.gc?.();
        const { heapUsed, external } = process.memoryUsage();
        return { figure: heapUsed + external, ms };
      });
    const alone = await bytes(false);
    const seen = await bytes(true);
    return { counted, figures: { bytes: Math.max(0, seen - alone) } };
  });
}
