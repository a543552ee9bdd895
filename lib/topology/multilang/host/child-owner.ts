// The process that owns a child, beside the task. It outlives the task for as long as the child needs to end. Its timers
// run even while the task awaits something; the task's own timers would have to wait.

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
  /** Called as part of the task, and not after its end. */
  readonly events: ChildEvents;
}

type Note = "stop" | "gone";

/**
 * A child and the process that owns it. The child is asked to end when the task ends in any way. It is killed when it
 * does not end in time, or when the system ends, so the child never outlives its owner.
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

  /** Starts the child. @throws the error of `open` */
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
            await untilStop(self);
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

  /** Runs `fn` as part of the task after `ms`, even while the task awaits something. */
  after(ms: number, fn: () => void): TimerRef | undefined {
    if (ms === Number.POSITIVE_INFINITY || !this.#self.alive) return undefined;
    return this.#self.runAfter(ms, this.#task.wrap(fn));
  }

  cancel(timer: TimerRef | undefined): void {
    if (timer !== undefined && this.#self.alive) this.#self.cancel(timer);
  }

  /** Ends the child. Resolves when the child is gone. */
  stop(): Promise<void> {
    if (this.#self.alive) this.#self.send(this.#self.self, "stop");
    return this.#over;
  }
}

/** Waits until the task has ended, or stops the child. The end of the child itself is reported to the task instead. */
async function untilStop(self: BodyContext<Note>): Promise<void> {
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
