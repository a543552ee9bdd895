// The life of a durable host's process: a start that waits for a full store, work in the background, services beside it, and a stop that
// waits for the work of the host.

import type { Context } from "../process/context.js";
import type { Kernel } from "../process/kernel.js";
import type { Pid } from "../process/pid.js";
import { crash, type ExitReason, SHUTDOWN } from "../process/reason.js";
import type { Startable } from "../process/start.js";
import { causeOfStart } from "../supervisor/cause-of-start.js";
import { Background, isFull } from "./background/background.js";
import { tellOutage } from "./background/outage.js";

/** A process beside the work of a host, such as its admin socket. */
export type Service = Startable<readonly [], { readonly pid: Pid<never> }>;

export class HostLife<Message> {
  readonly background: Background;
  readonly #ctx: Context<Message>;
  readonly #kernel: Kernel;
  readonly #services = new Set<Pid>();
  #hasStarted = false;
  #hasEnded = false;
  #stopping: ExitReason | undefined;

  /**
   * @param letGo - gives back the claim and the store; called when the process has ended, also when it was killed and did not terminate
   * @param recovered - the store of a started host works again
   */
  constructor(ctx: Context<Message>, letGo: () => Promise<void>, recovered: () => void = () => undefined) {
    const kernel = ctx.self.process?.kernel as Kernel;
    this.#ctx = ctx;
    this.#kernel = kernel;
    // The program of a process that was killed goes on, and would hold the claim for ever.
    kernel.links.watch(
      ctx.self,
      () => void letGo(),
      () => undefined,
    );
    this.background = new Background({
      now: () => kernel.env.now(),
      random: () => kernel.env.random(),
      after: (ms, fn) => {
        // Timers of a process that has not begun to receive would come to its mailbox, and be read when it has.
        if (!this.#hasStarted) kernel.addTimer(ms, { fire: () => ctx.alive && fn() });
        else if (ctx.alive) ctx.runAfter(ms, fn);
      },
      told: (outage) => {
        if (!ctx.alive) return;
        tellOutage(kernel, ctx.self, outage);
        if (outage.type === "ended" && this.#hasStarted) recovered();
      },
      end: (error) => {
        // An error after the host's end is not the reason of that end: a host that lets go has closed its store.
        if (!this.#hasEnded) this.#end(crash(error as Error));
      },
    });
  }

  /** Does a part of the start when the store has space for it. */
  whenSpace<T>(part: () => Promise<T>): Promise<T> {
    return this.background.until("start", part, isFull);
  }

  /** The start is done: timers come to the mailbox from now on. */
  started(): void {
    this.#hasStarted = true;
  }

  get hasStarted(): boolean {
    return this.#hasStarted;
  }

  /** Starts a service. @throws the error for which it, or a process below it, did not start */
  async serve(service: Service): Promise<void> {
    try {
      this.#services.add((await this.#ctx.start(service)).pid);
    } catch (error) {
      throw causeOfStart(error);
    }
  }

  /** A process that is linked to the host has ended. True: it was a service. One that has given up ends the host, for its supervisor to start. */
  serviceEnded(pid: Pid, reason: ExitReason): boolean {
    const isService = this.#services.has(pid);
    if (isService && !this.isStopping) this.#end(reason);
    return isService;
  }

  /** The host is to stop: its services end. `mayStop` ends its process. */
  stop(reason: ExitReason): void {
    this.#stopping = reason;
    for (const service of this.#services) this.#ctx.exit(service, SHUTDOWN);
  }

  /** Ends the process if it is to stop. Called when the host has no work left. */
  mayStop(): void {
    if (this.#stopping !== undefined) this.#end(this.#stopping);
  }

  /** Its process ends, or is about to. */
  get isStopping(): boolean {
    return this.#stopping !== undefined || !this.#ctx.alive;
  }

  /** The process terminates: an error from now on is not the reason of its end. */
  ended(): void {
    this.#hasEnded = true;
  }

  #end(reason: ExitReason): void {
    if (this.#ctx.alive) this.#kernel.stop(this.#ctx.self.process as never, reason, undefined);
  }
}
