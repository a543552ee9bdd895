// The process of a system whose messages carry their sender's context: a class of its own, so that others pay nothing.

import type { Callbacks } from "./behaviour.js";
import { ContextMessage, contextOf, type Entry, TaskEntry } from "./entries.js";
import type { AsyncContext } from "./environment.js";
import type { Kernel } from "./kernel.js";
import { callable } from "./options.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { STARTING } from "./process-state.js";

/** The additional fields of a process of such a system. */
export interface HomeContext {
  /** The context in which all code of the process runs, for a process that acts for one caller only. */
  home: AsyncContext | undefined;
}

const made = new Map<typeof Process, typeof Process>();

/** Makes the class of a system's processes one whose messages carry contexts. */
export function contextAware(Base: typeof Process): typeof Process {
  const known = made.get(Base) ?? contextAwareClass(Base);
  made.set(Base, known);
  return known;
}

function contextAwareClass(Base: typeof Process): typeof Process {
  return class extends Base implements HomeContext {
    home: AsyncContext | undefined = undefined;
    /** Where it begins: in the context of the code that spawned it, to which it belongs like what that code calls. */
    #birth: AsyncContext | undefined = startsByTurn(this) ? this.#here() : undefined;

    override deliver(message: unknown): void {
      this.mixed = true;
      super.deliver(contextOf(message) === undefined ? new ContextMessage(message, this.#here()) : message);
    }

    override deliverRequest(request: Parameters<Process["deliverRequest"]>[0]): void {
      request.context ??= this.#here();
      super.deliverRequest(request);
    }

    /** Signals carry no context: a restart is not part of the request that caused the crash. */
    override deliverSignal(entry: Entry): void {
      if (entry instanceof TaskEntry) entry.context ??= this.#here();
      super.deliverSignal(entry);
    }

    protected override open(entry: unknown): unknown {
      const context = this.home ?? contextOf(entry);
      return context === undefined ? super.open(entry) : context.runInAsyncScope(super.open, this, entry);
    }

    protected override rouse(): number {
      const context = this.home ?? (this.state === STARTING ? this.#birth : undefined);
      this.#birth = undefined;
      return context === undefined ? super.rouse() : context.runInAsyncScope(super.rouse, this);
    }

    #here(): AsyncContext {
      return this.kernel.env.captureContext();
    }
  };
}

/** Whether a turn of its own begins the process: a body, or callbacks with an `init`. */
function startsByTurn({ behaviour, handle }: Process): boolean {
  return handle === undefined || (behaviour as Callbacks<unknown>).init !== undefined;
}

/** The context of the running code, for work that is done later on its behalf. Undefined where messages carry no context. */
export function captureSenderContext(kernel: Kernel): AsyncContext | undefined {
  return kernel.carriesContext ? kernel.env.captureContext() : undefined;
}

/** Makes a process run in the context of the code that calls this, where contexts are carried. */
export function adoptContext<T extends Pid<never>>(pid: T): T {
  const { process } = pid;
  if (process?.kernel.carriesContext)
    (process as Process & HomeContext).home = process.kernel.env.captureContext();
  return pid;
}

/** Runs a function in a context that was captured before. */
export type ContextRunner = <R>(fn: () => R) => R;

/** Callbacks already run in the context of their current message. */
export function contextRunner({ kernel, handle, rare }: Process): ContextRunner {
  const inBody = handle === undefined && kernel.carriesContext;
  const context = inBody ? rare?.sender : kernel.env.captureContext();
  const run: ContextRunner =
    context === undefined ? (fn) => kernel.enter(fn) : (fn) => context.runInAsyncScope(fn);
  return (fn) => run(callable("fn", fn));
}
