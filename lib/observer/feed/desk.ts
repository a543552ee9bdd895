// Where requests meet the feed. Its process is restarted when it crashes, so requests ask the desk, and streams end with the process.

import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import { ObserverBusyError } from "./errors.js";
import { EventStream } from "./event-stream.js";
import { type FeedMessage, type FeedViewer, feedBehaviour } from "./feed-process.js";
import type { Wanted } from "./feed-state.js";
import type { ObserverLimits } from "./limits.js";
import type { ObserverSource } from "./source.js";

/** A feed that runs. */
export interface RunningFeed {
  readonly kernel: Kernel;
  readonly source: ObserverSource;
}

export class FeedDesk {
  readonly #limits: ObserverLimits;
  readonly #sourceOf: (kernel: Kernel) => ObserverSource;
  #running: (RunningFeed & { readonly pid: Pid<FeedMessage> }) | undefined;
  readonly #streams = new Set<FeedViewer>();

  constructor(limits: ObserverLimits, sourceOf: (kernel: Kernel) => ObserverSource) {
    this.#limits = limits;
    this.#sourceOf = sourceOf;
  }

  /** The process of the feed. Its successor takes its place. */
  feed(): Startable<readonly [], Pid<FeedMessage>> {
    return {
      [launch]: (): Launch<Pid<FeedMessage>> => ({
        behaviour: feedBehaviour(this.#limits, (ctx) => this.#attach(ctx)) as never,
        options: { label: "feed" },
        ref: (pid) => pid as Pid<never> as Pid<FeedMessage>,
      }),
    };
  }

  /** The feed that runs now. @throws ObserverBusyError while there is none */
  get running(): RunningFeed {
    return this.#found();
  }

  /** Opens a stream for a viewer. @param onClosed - called when it ends @throws ObserverBusyError */
  async open(wanted: readonly Wanted[], onClosed: () => void): Promise<EventStream> {
    const { kernel, pid } = this.#found();
    if (this.#streams.size >= this.#limits.viewers)
      throw new ObserverBusyError(`${this.#limits.viewers} viewers are connected, and no more are allowed`);
    // A message to a process that has ended would count as a dead letter.
    const tell = (message: FeedMessage): void => {
      if (pid.process !== undefined) kernel.send(pid, message);
    };
    const stream = new EventStream({
      ready: (viewer) => tell({ type: "ready", viewer }),
      closed: (viewer) => {
        this.#streams.delete(viewer);
        tell({ type: "close", viewer });
        onClosed();
      },
    });
    this.#streams.add(stream);
    tell({ type: "open", viewer: stream, wanted });
    await stream.accepted;
    return stream;
  }

  #found(): RunningFeed & { readonly pid: Pid<FeedMessage> } {
    if (this.#running === undefined) throw new ObserverBusyError("the observer is starting");
    return this.#running;
  }

  #attach(ctx: Context<FeedMessage>): ObserverSource {
    const { self: pid } = ctx;
    const { kernel } = pid.process as unknown as { readonly kernel: Kernel };
    const source = this.#sourceOf(kernel);
    const running = { kernel, source, pid };
    this.#running = running;
    ctx.signal.addEventListener("abort", () => {
      if (this.#running === running) this.#running = undefined;
      const gone = new ObserverBusyError("the observer is being restarted");
      for (const stream of [...this.#streams]) stream.refuse(gone);
    });
    return source;
  }
}
