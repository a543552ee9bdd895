// Feeds messages into a running topology, and waits for their trees of tuples.

import { unwatchAbort, watchAbort } from "../../process/abort.js";
import { only } from "../../process/known-options.js";
import { callable } from "../../process/options.js";
import { type Fields, type SpoutDefinition, spout, type ValuesOf } from "../../topology/index.js";
import type { Adapter } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";
import { TupleFailedError } from "./errors.js";

/** The way of messages into a topology: a spout, and the adapters that feed it. See {@link topologyInlet}. */
export interface TopologyInlet<F extends Fields> {
  /** Emits the messages on the stream `items`. Make it a component of one topology, which runs on the same host. */
  readonly spout: SpoutDefinition<{
    /** A tuple for each message. */
    readonly items: F;
  }>;
  /**
   * Feeds each message, and passes it on when its whole tree is acked.
   *
   * @param values - the fields of the tuple. Default: the message itself
   * @throws OptionError
   */
  adapter<T = ValuesOf<F>>(name: string, values?: (value: T) => ValuesOf<F>): Adapter<T, T>;
}

/**
 * Makes the way of messages into a topology. A message goes on when the topology has acked its tree; it is tried again when the tree fails,
 * the task that has emitted it crashes, or the topology stops. A message that comes while the topology does not run waits for it, no longer
 * than its attempt may take.
 *
 * @param options.fields - the fields of the tuples
 * @throws OptionError
 * @example
 * const inlet = topologyInlet({ fields: { text: field.text } });
 * const see = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
 * const printing = topology("printing")
 *   .spout("messages", inlet.spout)
 *   .bolt("see", see, { from: { "messages.items": grouping.shuffle() } })
 *   .build();
 * const print = route("print", { from: queue<{ text: string }>("texts") }).via(inlet.adapter("print"));
 */
export function topologyInlet<F extends Fields>(options: { readonly fields: F }): TopologyInlet<F> {
  only("", options, ["fields"]);
  const inlet = new Inlet();
  return {
    spout: inletSpout(options.fields, inlet) as unknown as SpoutDefinition<{ readonly items: F }>,
    adapter(name, values) {
      checkName("name", name);
      if (values !== undefined) callable("values", values);
      return {
        name,
        async process(value, { signal }) {
          await inlet.feed(name, values === undefined ? value : values(value), signal);
          return value;
        },
      };
    },
  };
}

/** A message on its way through the topology. */
interface Fed {
  readonly values: unknown;
  /** The index of the task that has emitted it. */
  task: number | undefined;
  /** Ends the wait for it: with a reason, if it has failed. */
  readonly end: (why?: string) => void;
}

/** Messages that wait for a task of the spout, and those that wait for their trees. */
class Inlet {
  readonly #offered = new Set<Fed>();
  readonly #emitted = new Set<Fed>();
  /** Wakes tasks that have found nothing. */
  readonly #wakes = new Set<() => void>();

  /** @throws TupleFailedError; the reason of the signal */
  async feed(name: string, values: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const fed: Fed = {
        values,
        task: undefined,
        end: (why) => {
          unwatchAbort(signal, waiter);
          this.#offered.delete(fed);
          this.#emitted.delete(fed);
          if (why === undefined) resolve();
          else reject(new TupleFailedError(name, why));
        },
      };
      const waiter = {
        aborted: (reason: unknown) => {
          this.#offered.delete(fed);
          this.#emitted.delete(fed);
          reject(reason);
        },
      };
      watchAbort(signal, waiter);
      this.#offered.add(fed);
      const wakes = [...this.#wakes];
      this.#wakes.clear();
      for (const wake of wakes) wake();
    });
  }

  /** The next message for a task; if there is none, the task is woken when one comes. */
  take(task: number, wake: () => void): Fed | undefined {
    for (const fed of this.#offered) {
      this.#offered.delete(fed);
      this.#emitted.add(fed);
      fed.task = task;
      return fed;
    }
    this.#wakes.add(wake);
    return undefined;
  }

  /** A task begins, and knows nothing of what the one before it has emitted. */
  begin(task: number): void {
    for (const fed of [...this.#emitted]) if (fed.task === task) fed.end("was lost with its task");
  }
}

function inletSpout(fields: Fields, inlet: Inlet): unknown {
  return spout<{ readonly items: Fields }, undefined, Fed>({
    streams: { items: fields },
    init: ({ index }) => {
      inlet.begin(index);
      return undefined;
    },
    next: ({ emit, index, wake }) => {
      const fed = inlet.take(index, wake);
      if (fed !== undefined) emit.items(fed.values as never, { id: fed });
    },
    ack: (fed) => fed.end(),
    fail: (fed, _ctx, { type }) =>
      fed.end(type === "stopped" ? "was given up when the topology stopped" : type),
  });
}
