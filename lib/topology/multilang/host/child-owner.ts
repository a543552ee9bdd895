// Who keeps a child: a process of its own beside the task. It outlives the task for as long as the child needs to end,
// and its timers go off even while the task awaits something, when the task's own would have to wait.

import type { BodyContext } from "../../../process/body-context.js";
import type { Context } from "../../../process/context.js";
import { ReceiveTimeoutError } from "../../../process/errors.js";
import type { TimerRef } from "../../../process/owned-timer.js";
import type { ChildEnd, ChildEvents, ChildPort, ChildSpec, OpenChild } from "./child.js";

export interface ChildOwnerOptions {
  readonly open: OpenChild;
  readonly spec: ChildSpec;
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  readonly label: string;
  /** What the task hears; run as part of it, and not after its end. */
  readonly events: ChildEvents;
}

type Note = "stop" | "gone";

/**
 * A child and the process that keeps it. The child is started by that process and never survives it: it is told to end
 * when the task ends, in whatever way, and killed when it does not, or when the system ends.
 */
export class ChildOwner {
  readonly port: ChildPort;
  readonly #task: Context<never>;
  readonly #self: BodyContext<Note>;
  readonly #over: Promise<void>;

  private constructor(task: Context<never>, self: BodyContext<Note>, port: ChildPort, over: Promise<void>) {
    this.#task = task;
    this.#self = self;
    this.port = port;
    this.#over = over;
  }

  /** Starts the child. @throws what `open` throws */
  static start(task: Context<never>, options: ChildOwnerOptions): Promise<ChildOwner> {
    const { events } = options;
    return new Promise((resolve, reject) => {
      task.spawn<Note>(
        async (self) => {
          let gone = false;
          let over = (): void => undefined;
          const overPromise = new Promise<void>((done) => {
            over = done;
          });
          let port: ChildPort;
          try {
            port = options.open(options.spec, {
              data: task.wrap((bytes: Uint8Array) => events.data(bytes)),
              errors: task.wrap((bytes: Uint8Array) => events.errors(bytes)),
              drained: task.wrap(() => events.drained()),
              ended: (end: ChildEnd) => {
                gone = true;
                if (self.alive) self.send(self.self, "gone");
                task.wrap(() => events.ended(end))();
              },
            });
          } catch (error) {
            reject(error);
            return;
          }
          try {
            self.monitor(task.self);
            resolve(new ChildOwner(task, self, port, overPromise));
            await told(self);
            if (!gone) await end(self, port, options.graceMs);
          } finally {
            if (!gone) port.kill("SIGKILL");
            port.dispose();
            over();
          }
        },
        { label: options.label },
      );
    });
  }

  /** Runs `fn` as part of the task after `ms`, whatever that is at. */
  after(ms: number, fn: () => void): TimerRef | undefined {
    if (ms === Number.POSITIVE_INFINITY || !this.#self.alive) return undefined;
    return this.#self.runAfter(ms, this.#task.wrap(fn));
  }

  cancel(timer: TimerRef | undefined): void {
    if (timer !== undefined && this.#self.alive) this.#self.cancel(timer);
  }

  /** Ends the child; resolves when it is gone. */
  stop(): Promise<void> {
    if (this.#self.alive) this.#self.send(this.#self.self, "stop");
    return this.#over;
  }
}

/** Until the task has ended or wants the child to. That the child is gone is the task's affair first. */
async function told(self: BodyContext<Note>): Promise<void> {
  while ((await self.receiveAny()) === "gone");
}

async function end(self: BodyContext<Note>, port: ChildPort, graceMs: number): Promise<void> {
  port.kill("SIGTERM");
  try {
    await self.receive((note) => note === "gone", { timeoutMs: graceMs });
  } catch (error) {
    if (!(error instanceof ReceiveTimeoutError)) throw error;
  }
}
