// Starts a durable flow for each message.

import type { FlowDefinition, MessageTypes } from "../../flow/index.js";
import { FlowFailedError, type FlowHost } from "../../flow/index.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { callable, flag, withMethod } from "../../process/options.js";
import type { Adapter, AdapterContext } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";

/** Options of {@link startFlow}. */
export interface StartFlowOptions<T, I> {
  /** Makes the input of the flow. Default: the value. */
  readonly input?: (value: T) => I;
  /** The id of the flow. Default: derived from the message. */
  readonly id?: (value: T, ctx: AdapterContext) => string;
}

/** Options of {@link startFlow} that say what goes on. */
export interface WaitOption<W extends boolean> {
  /**
   * True: the result of the flow goes on, once it has ended. The flow takes as long as it takes: if the attempt's time is over, the next
   * one waits for the same flow. False: the value goes on when the flow is durable. Default true.
   */
  readonly wait?: W;
}

/**
 * Starts a flow for each message. Its id is derived from the message, so a message that is tried again meets the flow that it has
 * started before. A flow that failed makes the message a dead letter: it was tried again by its own rules.
 *
 * @param host - the host of flows, or a function that gives it when the first message comes
 * @throws OptionError
 * @example
 * const greet = defineFlow("greet", async (_flow, name: string) => `Hello, ${name}`);
 * const flows = await system.start(flowHost({ store: memory(), flows: [greet] }));
 * const greeted = route("greet", { from: queue<string>("names") }).via(startFlow("greet", flows, greet));
 */
export function startFlow<I, O, M extends MessageTypes, P, T = I>(
  name: string,
  host: FlowHost | (() => FlowHost),
  flow: FlowDefinition<I, O, M, P>,
  options?: StartFlowOptions<T, I> & WaitOption<true>,
): Adapter<T, O>;
export function startFlow<I, O, M extends MessageTypes, P, T = I>(
  name: string,
  host: FlowHost | (() => FlowHost),
  flow: FlowDefinition<I, O, M, P>,
  options: StartFlowOptions<T, I> & WaitOption<false>,
): Adapter<T, T>;
export function startFlow<I, O, M extends MessageTypes, P, T = I>(
  name: string,
  host: FlowHost | (() => FlowHost),
  flow: FlowDefinition<I, O, M, P>,
  options: StartFlowOptions<T, I> & WaitOption<boolean> = {},
): Adapter<T, O | T> {
  checkName("name", name);
  if (typeof host !== "function")
    withMethod("host", host, "start", "the handle of a flow host, or a function of it");
  if (
    typeof (flow as { readonly name?: unknown } | undefined | null)?.name !== "string" ||
    typeof flow === "function"
  )
    throw new OptionError("flow", flow, "a definition made by defineFlow()");
  only("", options, ["input", "id", "wait"]);
  const { input, id, wait = true } = options;
  if (input !== undefined) callable("input", input);
  if (id !== undefined) callable("id", id);
  flag("wait", wait);
  return {
    name,
    async process(value, ctx) {
      const flows = typeof host === "function" ? host() : host;
      const given = input === undefined ? (value as unknown as I) : input(value);
      const run = await flows.start(flow, given, {
        id: id === undefined ? ctx.idempotencyKey : id(value, ctx),
      });
      if (!wait) return value;
      try {
        return await run.result({ signal: ctx.signal });
      } catch (error) {
        if (error instanceof FlowFailedError) return ctx.giveUp(`${name}: ${error.message}`, error);
        throw error;
      }
    },
  };
}
