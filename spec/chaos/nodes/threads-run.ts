// Three threads with workers that the main thread dispatches to, while threads end, hang and are started again.

import { setTimeout as pause } from "node:timers/promises";
import { ConsumerGroup, consumer, type Pid, System, supervisor } from "signalbox";
import { threads } from "signalbox/nodes";
import { Random } from "../../../lib/testing/kit/random.js";
import { Ledger } from "./ledger.js";
import type { ChaosOptions } from "./options.js";
import { asymmetryOf, type NodesReport, reportOf } from "./report.js";
import { type Beat, THREAD_FAULTS, Worker } from "./threads-program.js";
import { type Ended, type LinkEnd, linkEnds } from "./words.js";

export interface ThreadsRunOptions extends Pick<ChaosOptions, "faults" | "seed" | "dispatches"> {
  /** URL of the program of a thread. */
  readonly program: string;
  progress?(faults: number, what: string): void;
}

const THREADS = 3;
const WORKERS = ["one", "two", "three", "four", "five", "six"];
const HUNG_MS = 400;
const OPEN = 64;
const CALM_MS = 400;
const HANG_MS = 60_000;
const POLL_MS = 20;
/** The node that the ledger knows: all dispatches are ordered of the main thread. */
const MAIN = "main";

/** Runs threads and strikes. */
export async function strikeThreads(options: ThreadsRunOptions): Promise<NodesReport> {
  const system = new System({ name: MAIN, report: false });
  try {
    return await struck(system, options);
  } finally {
    await system.stop();
  }
}

async function struck(system: System, options: ThreadsRunOptions): Promise<NodesReport> {
  const ledger = new Ledger(Math.max(1, options.faults) * options.dispatches);
  const beats = new Beats();
  const tie = system.spawn<Pid>(
    { handle: (ctx, other) => ctx.link(other), signal: () => undefined },
    { trapExit: true },
  );
  const heard = system.spawn<Beat>({
    handle: (_ctx, beat) => {
      if (beats.heard(beat)) system.send(tie, beat.self as Pid<unknown>);
    },
  });
  const workers = await threads(system, {
    size: THREADS,
    program: options.program,
    hungMs: HUNG_MS,
    intensity: 1_000_000,
  });
  const children = WORKERS.map((name) => ({ id: name, name, start: workers.on("worker", [name, heard]) }));
  await system.start(supervisor({ children, intensity: 1_000_000 }));
  const group = new ConsumerGroup<number, number>({ name: "work" });
  const passing = WORKERS.map((name) => ({
    id: name,
    start: consumer((n: number) => Worker.at(system, name).call.work(n), { group, concurrency: 16 }),
  }));
  await system.start(supervisor({ children: passing, intensity: 1_000_000 }));

  let open = 0;
  const goOn = (upTo: number): void => {
    for (const { from, to } of ledger.take(MAIN, OPEN - open, upTo))
      for (let n = from; n < to; n++) {
        open++;
        system
          .dispatch(group, n)
          .then(
            ({ reply }): Ended => ({ n, reply }),
            (error: { readonly code?: string; readonly message: string }): Ended => ({
              n,
              code: error.code ?? error.message,
            }),
          )
          .then((end) => {
            open--;
            ledger.ended(MAIN, [end]);
            goOn(upTo);
          });
      }
  };
  const random = new Random(options.seed);
  for (let done = 0; done < options.faults; done++) {
    goOn((done + 1) * options.dispatches);
    await pause(random.unit() * CALM_MS);
    const fault = THREAD_FAULTS[random.below(THREAD_FAULTS.length)] as (typeof THREAD_FAULTS)[number];
    options.progress?.(done + 1, fault);
    Worker.at(system, WORKERS[random.below(WORKERS.length)] as string).cast.strike(fault);
    if (ledger.wrong.length + beats.wrong.length > 0) break;
  }
  const askLinks = async (): Promise<LinkEnd[]> => {
    const asked = WORKERS.map((name) =>
      Worker.at(system, name)
        .call.links()
        .catch(() => undefined),
    );
    const there = await Promise.all(asked);
    // A worker that is away: asked again.
    if (there.includes(undefined)) return [{ from: "nobody", to: "a worker that is away" }];
    const all = [...(there as LinkEnd[][]).flat(), ...linkEnds(system)];
    return [...new Map(all.map((end) => [`${end.from} ${end.to}`, end])).values()];
  };
  let links: string[] = [];
  for (let leftMs = HANG_MS; leftMs > 0; leftMs -= POLL_MS) {
    goOn(ledger.total);
    await pause(POLL_MS);
    if (!ledger.isDone) continue;
    links = asymmetryOf(await askLinks());
    if (links.length === 0) break;
  }
  return reportOf(options.faults, ledger, { links, names: beats.wrong });
}

/** Who was heard under each name: once a new worker is heard, the one before is heard no more. */
class Beats {
  readonly wrong: string[] = [];
  readonly #current = new Map<string, Pid>();
  readonly #gone = new Set<Pid>();

  /** Whether this one is new. */
  heard({ name, self }: Beat): boolean {
    const before = this.#current.get(name);
    if (before === (self as Pid)) return false;
    if (this.#gone.has(self)) this.wrong.push(`${name} runs as ${self} beside ${before}`);
    if (before !== undefined) this.#gone.add(before);
    this.#current.set(name, self);
    return true;
  }
}
