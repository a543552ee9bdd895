// What runs in the threads of a kill test: workers that answer, say again and again that they run, and end their thread when told.

import { defineServer, type Pid, type ServerDefinition, type System } from "signalbox";
import { type ThreadProgram, threadProgram } from "signalbox/nodes";
import { answerTo, type LinkEnd, linkEnds } from "./words.js";

/** What strikes a thread: it ends itself, its event loop stands still until it is ended, or an error is caught by nobody. */
export const THREAD_FAULTS = ["exit", "loop", "uncaught"] as const;
export type ThreadFault = (typeof THREAD_FAULTS)[number];

/** A worker says that it runs: at its start, and before each answer. */
export interface Beat {
  readonly name: string;
  readonly self: Pid;
}

interface WorkerState {
  readonly beat: () => void;
}

let system: System | undefined;

export const Worker: ServerDefinition<
  [string, Pid<Beat>],
  { work: (state: WorkerState, n: number) => number; links: (state: WorkerState) => LinkEnd[] },
  { strike: (state: WorkerState, fault: ThreadFault) => void }
> = defineServer({
  init: (ctx, name: string, ledger: Pid<Beat>): WorkerState => {
    const beat = (): void => void ctx.send(ledger, { name, self: ctx.self as Pid });
    beat();
    return { beat };
  },
  calls: {
    work: ({ beat }: WorkerState, n: number) => {
      beat();
      return answerTo(n);
    },
    links: (_state: WorkerState) => (system === undefined ? [] : linkEnds(system)),
  },
  casts: { strike: (_state: WorkerState, fault: ThreadFault) => strike(fault) },
});

function strike(fault: ThreadFault): void {
  switch (fault) {
    case "exit":
      process.exit(3);
      return;
    case "loop":
      for (;;);
    case "uncaught":
      setImmediate(() => {
        throw new Error("nobody catches it");
      });
      return;
    default:
      fault satisfies never;
  }
}

const program: ThreadProgram = threadProgram({
  onStart: (of: System) => {
    system = of;
  },
  programs: { worker: Worker },
});
export default program;
