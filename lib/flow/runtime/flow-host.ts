// Flow hosts as users define them, and the handles of a host and of a flow.

import { type CallRules, type HostCaller, HostCalls } from "../../host/index.js";
import type { HostSignals } from "../../host/signals.js";
import { checkCallOptions } from "../../process/calls.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { address, flag, kernelOf, text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { CallOptions } from "../../process/request.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { isThenable } from "../../process/thenable.js";
import type { AnyFlow, FlowDefinition, MessageTypes } from "../definition/define.js";
import { named } from "../definition/names.js";
import type { Stored } from "../journal/entry.js";
import type { FlowRow, FlowStatus } from "../journal/tables.js";
import { checkTiming, type StartTiming, TIMING } from "../queues/options.js";
import { type ScheduleAsk, Schedules } from "../schedules/schedules.js";
import { FlowFailedError, FlowInHospitalError, FlowNotFoundError, UnknownFlowError } from "./errors.js";
import {
  type EventPage,
  type EventPages,
  eventsOf,
  type FlowEvent,
  type FlowEventOptions,
} from "./event-page.js";
import { FlowHospital } from "./hospital-handle.js";
import { HostProcess } from "./host-process.js";
import { type FlowEnd, type HostRequest, mayRepeat, once, type Started } from "./messages.js";
import { checkHost, type FlowHostOptions, type HostService, type HostSettings } from "./options.js";
import { inputOf } from "./outgoing.js";
import type { NewFlow } from "./port.js";

/** Options of a start. */
export interface StartFlowOptions extends StartTiming {
  /** The id of the flow. A second start under it, with the same input, attaches to the first. Default: a new id. */
  readonly id?: string;
  /** Whether a start under the id of a flow that is there attaches to it also if its input is another one. Default false. */
  readonly attach?: boolean;
}

/** One of many starts. */
export interface NewFlowStart<Input> {
  /** The id of the flow. A second start under it, with the same input, attaches to the first. Default: a new id. */
  readonly id?: string;
  /** The input of the flow. */
  readonly input: Input;
}

/** Options of {@link FlowHost.startMany}. */
export interface StartManyOptions extends Omit<StartTiming, "debounce"> {
  /** As for a single start. */
  readonly attach?: boolean;
}

/** Flows that one commit starts. */
const START_PAGE = 1_000;
/** One page is made while the store writes the one before. */
const PAGES_AT_ONCE = 2;

/** What a flow is and does at this moment. */
export interface FlowInfo {
  /** The id of the flow. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** What it is doing, or how it ended. */
  readonly status: FlowStatus;
  /** When it was started, in milliseconds since 1970. */
  readonly created: number;
  /** When its row last changed, in milliseconds since 1970. */
  readonly updated: number;
  /** When it ended, in milliseconds since 1970. */
  readonly finished: number | undefined;
  /** The last value that the code gave `flow.progress`. */
  readonly progress: unknown;
}

/** The definition of a flow host. See {@link flowHost}. */
export interface FlowHostDefinition extends Startable<readonly [], FlowHost> {
  /** A handle of a running host, by pid or by registered name. */
  at(system: ProcessSystem, where: Pid | string): FlowHost;
}

/**
 * Defines a host of durable flows: start it, or make it a child of a supervisor.
 *
 * @throws OptionError
 * @example
 * const flows = await system.start(flowHost({ store: memory(), flows: [greet] }));
 * const run = await flows.start(greet, "Ada", { id: "greet-ada" });
 * console.log(await run.result());
 */
export function flowHost(
  options: FlowHostOptions,
  services: readonly HostService[] = [],
): FlowHostDefinition {
  const settings = checkHost(options, services);
  return {
    at: (system, where) => new FlowHost(address("where", where) as Pid<never>, kernelOf(system), settings),
    [launch]: (): Launch<FlowHost> => ({
      behaviour: new HostProcess(settings),
      options: {
        label: "flow host",
        ...(settings.name === undefined ? {} : { name: settings.name }),
      },
      ref: (pid, kernel) => new FlowHost(pid, kernel, settings),
    }),
  };
}

/** A read may be repeated, and so may an operation whose repeat changes nothing. */
function rulesOfSchedule(ask: ScheduleAsk): CallRules {
  if (ask.do === "list") return {};
  return ask.do === "put"
    ? mayRepeat(ask.do, ask.schedule.name, "schedule")
    : once(ask.do, ask.name, "schedule");
}

/** A running host of flows. */
export class FlowHost implements AsyncDisposable {
  readonly #kernel: Kernel;
  readonly #settings: HostSettings;
  readonly #calls: HostCalls<HostRequest>;
  /** The schedules of the store. */
  readonly schedules: Schedules;

  /** @internal */
  constructor(where: Pid<never> | string, kernel: Kernel, settings: HostSettings) {
    this.#kernel = kernel;
    this.#settings = settings;
    const { hosts, store } = settings;
    this.#calls = new HostCalls({ kernel, address: where, hosts, what: "flow host", store });
    this.schedules = new Schedules((ask) =>
      this.#call((replyTo) => ({ type: "schedules", ask, replyTo }), undefined, rulesOfSchedule(ask)),
    );
  }

  get #call(): HostCaller<HostRequest> {
    return this.#calls.call;
  }

  /**
   * Starts a flow, or attaches to the flow that was started under this id with this input before. Fulfilled when the flow is durable.
   * At most 500 starts are on their way at a time; more wait for their turn.
   *
   * @throws UnknownFlowError, FlowIdTakenError, FlowInputDiffersError, FlowInputError, FlowOutcomeUnknownError, StoreError
   */
  async start<I, O, M extends MessageTypes, P>(
    flow: FlowDefinition<I, O, M, P>,
    input: I,
    options: StartFlowOptions = {},
  ): Promise<FlowRun<O>> {
    only("", options, ["id", "attach", ...TIMING]);
    const { id: given, attach, ...timing } = options;
    const fresh = this.#starts(flow, timing, attach);
    const id = given === undefined ? undefined : named("id", given);
    const request = await fresh(id, input);
    const started = await this.#settings.starts.take(() =>
      this.#call<Started>(
        (replyTo) => ({ type: "start", flow: request, replyTo }),
        undefined,
        mayRepeat("start", request.id),
      ),
    );
    return this.#run<O>(started);
  }

  /**
   * Starts many flows, a thousand in a commit: many times faster than as many calls of `start`. Fulfilled, with their handles in the same
   * order, when all are durable. Two pages are on their way at a time. If a page fails, those of the pages before are started, and those of
   * the next one may be: repeat the call with ids of your own.
   *
   * @param starts - the ids and inputs of the flows, also of a generator
   * @throws UnknownFlowError, FlowIdTakenError, FlowInputDiffersError, FlowInputError, FlowOutcomeUnknownError, OptionError, StoreError
   * @example
   * const flows = await system.start(flowHost({ store: memory(), flows: [greet] }));
   * const runs = await flows.startMany(greet, [{ id: "greet-ada", input: "Ada" }, { id: "greet-bob", input: "Bob" }]);
   * console.log(runs.length);
   */
  async startMany<I, O, M extends MessageTypes, P>(
    flow: FlowDefinition<I, O, M, P>,
    starts: Iterable<NewFlowStart<I>>,
    options: StartManyOptions = {},
  ): Promise<FlowRun<O>[]> {
    only("", options, ["attach", ...TIMING.filter((name) => name !== "debounce")]);
    if (typeof (starts as Iterable<unknown> | undefined | null)?.[Symbol.iterator] !== "function")
      throw new OptionError("starts", starts, "an iterable of { id, input }");
    const { attach, ...timing } = options;
    const fresh = this.#starts(flow, timing, attach);
    const answers: Promise<readonly Started[]>[] = [];
    let page: NewFlow[] = [];
    const send = (isLast: boolean): void => {
      const flows = page;
      page = [];
      const answer = this.#call<readonly Started[]>(
        (replyTo) => ({ type: "start many", flows, isLast, replyTo }),
        undefined,
        mayRepeat("start", flows[0]?.id ?? ""),
      );
      // It is awaited below, and may reject before.
      answer.catch(() => undefined);
      answers.push(answer);
    };
    try {
      let i = 0;
      for (const one of starts) {
        const path = `starts[${i++}]`;
        only(path, one, ["id", "input"]);
        const id = one.id === undefined ? undefined : named(`${path}.id`, one.id);
        const made = fresh(id, one.input);
        page.push(isThenable(made) ? await made : made);
        if (page.length < START_PAGE) continue;
        send(false);
        await answers.at(-PAGES_AT_ONCE);
      }
    } finally {
      await Promise.all(answers);
    }
    send(true);
    const started = await Promise.all(answers);
    return started.flatMap((all) => all.map((one) => this.#run<O>(one)));
  }

  /** Makes starts of a flow. @throws UnknownFlowError, OptionError */
  #starts(
    flow: AnyFlow,
    options: StartTiming,
    attach: boolean | undefined,
  ): (id: string | undefined, input: unknown) => NewFlow | Promise<NewFlow> {
    if (typeof (flow as { readonly name?: unknown } | undefined | null)?.name !== "string")
      throw new OptionError("flow", flow, "a definition made by defineFlow()");
    const { name, version } = flow;
    const { definitions, queues, payloads } = this.#settings;
    const definition = definitions.get(name, version);
    if (definition === undefined) throw new UnknownFlowError(name, version, definitions.ids);
    const timing = checkTiming(options, definition.options.queue, queues);
    const isAttached = flag("attach", attach ?? false);
    return (given, input) => {
      const id = given ?? this.#kernel.env.id();
      const request = given === undefined ? id : this.#kernel.env.id();
      const made = (stored: Stored): NewFlow => {
        const trace = this.#kernel.taps?.flowStarting(name, id);
        return { name, version, timing, attach: isAttached, id, request, input: stored, trace };
      };
      const stored = inputOf(payloads, definition, input, id);
      return isThenable(stored) ? (stored as Promise<Stored>).then(made) : made(stored as Stored);
    };
  }

  #run<O>({ id, attached }: Started): FlowRun<O> {
    return new FlowRun<O>(id, attached, this.#kernel, this.#call, this.#settings);
  }

  /** The handle of a flow by its id. The flow need not exist. */
  get<O = unknown>(id: string): FlowRun<O> {
    return new FlowRun<O>(text("id", id), true, this.#kernel, this.#call, this.#settings);
  }

  /** The flows that failed and are kept, and how they go on. */
  get hospital(): FlowHospital {
    return new FlowHospital((ask, options, rules) =>
      this.#call<unknown>((replyTo) => ({ type: "hospital", ask, replyTo }), options, rules),
    );
  }

  /**
   * What an autoscaler asks: how many flows are due and held by no host, for how many milliseconds the oldest of them has waited, how many
   * more this host could take into memory, and how many it has there. A flow that waits for its turn in a queue is not due, and neither is
   * one that sleeps or waits for a message. A flow that got a message is due since the last one.
   *
   * The host counts by the index of due flows, and stops at 100,000. The metrics `signalbox_host_*` are the same numbers.
   *
   * @throws CallTimeoutError, HostGoneError, StoreError
   * @example
   * const host = await system.start(flowHost({ store: memory(), flows: [greet] }));
   * const { due, oldestDueMs, room, held } = await host.signals();
   * console.log(due, oldestDueMs, room, held);
   */
  signals(): Promise<HostSignals> {
    return this.#call<HostSignals>((replyTo) => ({ type: "signals", replyTo }));
  }

  /** Stops the host: running steps end, the flows stay in the store. */
  stop(): Promise<void> {
    return this.#calls.stop();
  }

  /** Stops the host. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** A flow, from outside. */
export class FlowRun<Output> {
  /** The id of the flow. */
  readonly id: string;
  /** Whether it was there before the start. */
  readonly attached: boolean;
  readonly #kernel: Kernel;
  readonly #call: HostCaller<HostRequest>;
  readonly #settings: HostSettings;

  /** @internal */
  constructor(
    id: string,
    attached: boolean,
    kernel: Kernel,
    call: HostCaller<HostRequest>,
    settings: HostSettings,
  ) {
    this.id = id;
    this.attached = attached;
    this.#kernel = kernel;
    this.#call = call;
    this.#settings = settings;
  }

  /**
   * Waits for the end of the flow, however long that takes. A flow whose code took another way than the one recorded stands still in the
   * hospital: the wait ends with FlowInHospitalError.
   *
   * The wait outlives the host: it goes on with the next one of the same definition.
   *
   * @throws FlowFailedError, FlowInHospitalError, FlowNotFoundError, CallTimeoutError, HostGoneError
   */
  async result(options: CallOptions = {}): Promise<Output> {
    checkCallOptions(options);
    const { id } = this;
    const row = await this.#call<FlowEnd>((replyTo) => ({ type: "result", id, replyTo }), {
      timeoutMs: Number.POSITIVE_INFINITY,
      ...options,
    });
    if ("symptom" in row) throw new FlowInHospitalError(id, row.symptom);
    const value = await this.#settings.payloads.decode(row.outcome);
    if (row.status === "completed") return value as Output;
    throw new FlowFailedError(id, row.status as FlowFailedError["status"], value);
  }

  /** What the flow is doing. @throws FlowNotFoundError */
  async info(): Promise<FlowInfo> {
    const { id } = this;
    const row = await this.#call<FlowRow | undefined>((replyTo) => ({ type: "find", id, replyTo }));
    if (row === undefined) throw new FlowNotFoundError(id);
    const { name, version, status, created, updated, finished } = row;
    return {
      id,
      name,
      version,
      status: status as FlowStatus,
      created,
      updated,
      finished: finished ?? undefined,
      progress: await this.#settings.payloads.decode(row.progress),
    };
  }

  /** Sends a message to the flow. Fulfilled when it is durable. `messageId`: a second one with the same id is dropped. */
  send(topic: string, value: unknown, options: { readonly messageId?: string } = {}): Promise<void> {
    const { id } = this;
    only("", options, ["messageId"]);
    // The id is made here: a repeat that the next host gets is the same message.
    const { messageId = this.#kernel.env.id() } = options;
    named("topic", topic);
    return this.#call<undefined>(
      (replyTo) => ({ type: "send", id, topic, value, messageId, replyTo }),
      undefined,
      mayRepeat("send", id),
    );
  }

  /** Asks the flow to end early: its waits reject with FlowCancelledError. */
  cancel(): Promise<void> {
    return this.#control("cancel");
  }

  /** Ends the flow at once: no code of it runs any more. */
  kill(): Promise<void> {
    return this.#control("kill");
  }

  /** The flow leaves memory after its running steps, until `resume`. */
  pause(): Promise<void> {
    return this.#control("pause");
  }

  /** Lets a paused flow go on. */
  resume(): Promise<void> {
    return this.#control("resume");
  }

  #control(action: "cancel" | "kill" | "pause" | "resume"): Promise<void> {
    const { id } = this;
    // A flow that was paused may have been resumed by others since.
    const rules = action === "cancel" || action === "kill" ? mayRepeat(action, id) : once(action, id);
    return this.#call<undefined>((replyTo) => ({ type: "control", id, action, replyTo }), undefined, rules);
  }

  /**
   * The events that the flow publishes with `flow.emit`: first the stored ones, then new ones until the flow has ended. Each event comes
   * once and in order, no matter which host runs the flow and how often that host is killed.
   *
   * @throws OptionError, FlowNotFoundError, FlowWaitTimeoutError
   * @example
   * const host = await system.start(flowHost({ store: memory(), flows: [] }));
   * for await (const { topic, value } of host.get("order-42").events()) console.log(topic, value);
   */
  events<T = unknown>(options: FlowEventOptions = {}): AsyncGenerator<FlowEvent<T>, void, undefined> {
    const { id } = this;
    const pages: EventPages = (after, waitMs, signal) =>
      this.#call<EventPage>((replyTo) => ({ type: "events", id, after, waitMs, replyTo }), {
        timeoutMs: Number.POSITIVE_INFINITY,
        ...(signal !== undefined && { signal }),
      });
    const decode = (value: Stored) => this.#settings.payloads.decode(value);
    return eventsOf(id, options, pages, decode) as AsyncGenerator<FlowEvent<T>, void, undefined>;
  }

  /** Asks the flow's code: see `flow.query`. */
  query<T>(name: string, argument?: unknown): Promise<T> {
    const { id } = this;
    const rules = { isUserCode: true };
    return this.#call<T>(
      (replyTo) => ({ type: "query", id, name, argument, replyTo: replyTo as never }),
      undefined,
      rules,
    );
  }
}
