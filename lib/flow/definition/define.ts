// A flow's definition: a name, the code, and what the code takes and gives.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, oneOf } from "../../process/options.js";
import type { StandardSchema } from "../../process/standard-schema.js";
import type { FlowContext } from "./context.js";
import { named } from "./names.js";

/** Types of messages by topic. */
export type MessageTypes = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, StandardSchema>>;
type Out<S> = S extends StandardSchema<infer O> ? O : never;

/** Options of {@link defineFlow}. */
export interface FlowOptions<I = unknown, M extends Schemas = Schemas, P = unknown> {
  /** Checks the input at the start of a flow; its output is what the code gets. Any Standard Schema. */
  readonly input?: StandardSchema<I>;
  /** Checks messages by topic when they are sent. */
  readonly messages?: M;
  /** Checks what `flow.progress` publishes. */
  readonly progress?: StandardSchema<P>;
  /** The version of the definition, 1 or more. A host may have several versions of a name; new flows take the highest. Default 1. */
  readonly version?: number;
  /** An error that the code does not catch: the flow fails, or goes to the hospital and keeps its place. Default `fail`. */
  readonly onError?: "fail" | "hospital";
  /** Error classes that keep their class across restarts. */
  readonly errors?: readonly (new (
    ...args: never[]
  ) => Error)[];
  /** The queue in which its flows wait for their turn. Default: none, they run at once. */
  readonly queue?: string;
  /** The protocol of the sessions that its flows answer: `flow.session(definition, protocol)` starts one that accepts it. */
  readonly answers?: string;
}

/** A flow's definition. See {@link defineFlow}. */
export interface FlowDefinition<
  in Input = never,
  out Output = unknown,
  out Messages = MessageTypes,
  out Progress = unknown,
> {
  /** The name of the flow in the store. */
  readonly name: string;
  /** The version of the definition, 1 or more. */
  readonly version: number;
  /** What it was defined with. */
  readonly options: FlowOptions;
  /** @internal The code. */
  readonly body: (flow: FlowContext<never, never>, input: Input) => Output | PromiseLike<Output>;
  /** @internal Types only. */
  readonly types?: { readonly messages: Messages; readonly progress: Progress };
}

/** Any definition. */
export type AnyFlow = FlowDefinition<never, unknown, MessageTypes, unknown>;

type Body<I, O, M extends MessageTypes, P> = (flow: FlowContext<M, P>, input: I) => O | PromiseLike<O>;

/**
 * Defines a durable flow: an async function whose steps survive the death of its machine.
 *
 * @param name - names the flow in the store: rename it, and flows in flight lose their code
 * @throws OptionError
 * @example
 * const reminder = defineFlow("reminder", async (flow, name: string) => {
 *   const text = await flow.step("write", () => `hello ${name}`);
 *   await flow.sleep("2 days");
 *   return text;
 * });
 */
export function defineFlow<I, O, M extends MessageTypes = MessageTypes, P = unknown>(
  name: string,
  body: Body<I, O, M, P>,
): FlowDefinition<I, Awaited<O>, M, P>;
export function defineFlow<I, O, M extends Schemas = Record<never, never>, P = unknown>(
  name: string,
  options: FlowOptions<I, M, P>,
  body: Body<I, O, { readonly [K in keyof M]: Out<M[K]> }, P>,
): FlowDefinition<I, Awaited<O>, { readonly [K in keyof M]: Out<M[K]> }, P>;
export function defineFlow(name: string, second: unknown, third?: unknown): unknown {
  const [options, body] = third === undefined ? [{}, second] : [second as FlowOptions, third];
  named("name", name);
  if (typeof body !== "function") throw new OptionError("body", body, "an async function (flow, input)");
  only("", options, KNOWN);
  oneOf("onError", options.onError ?? "fail", ["fail", "hospital"]);
  const version = count("version", options.version ?? 1, 1);
  return { name, version, options, body };
}

const KNOWN = ["input", "messages", "progress", "version", "onError", "errors", "queue", "answers"];
