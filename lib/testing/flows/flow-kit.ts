// Flows in a plain test: virtual time, mocked steps, crashes, and a look into the journal.

import {
  type AnyFlow,
  type FlowDefinition,
  type FlowHost,
  type FlowHostOptions,
  flowHost,
  type MessageTypes,
  type StartFlowOptions,
} from "../../flow/index.js";
import { FLOW_SCHEMA } from "../../flow/journal/tables.js";
import { type Duration, duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
import { memory, type StoreSource } from "../../store/index.js";
import { System } from "../../system.js";
import { type TestClock, testClock } from "../kit/clock.js";
import { type FlowHistory, historyOf } from "./history.js";
import { MockedStep, mockable, type StepMock } from "./mocks.js";
import { MortalSource } from "./mortal-store.js";

/** Options of {@link flowKit}. */
export interface FlowKitOptions {
  /** The definitions under test, with those of the flows that they call. */
  readonly flows: readonly AnyFlow[];
  /** Where the flows live. Default: a store in memory of this kit's own. */
  readonly store?: StoreSource;
  /** The clock on which time passes. Default: one of this kit's own. */
  readonly clock?: TestClock;
  /** Further options of the host. */
  readonly host?: Omit<FlowHostOptions, "flows" | "store">;
}

/** A flow under test. Works on after a crash of the kit. */
export interface KitRun<Output> {
  /** The id of the flow. */
  readonly id: string;
  /** Lets time pass until the flow ends. @throws FlowFailedError, ClockLimitError when nothing lets it end */
  result(): Promise<Output>;
  /** Sends it a message. No time passes. `messageId`: a second one with the same id is dropped. */
  send(topic: string, value: unknown, options?: { readonly messageId?: string }): Promise<void>;
  /** Asks it to end early. */
  cancel(): Promise<void>;
  /** What it is doing: `running`, `waiting`, `completed`, and so on. */
  status(): Promise<string>;
  /** What its journal has. */
  history(): Promise<FlowHistory>;
}

/**
 * A host of flows for one test. Time stands still until the test moves it: a wait of two days takes a millisecond. See {@link flowKit}.
 */
export class FlowKit implements AsyncDisposable {
  /** The clock on which time passes. */
  readonly clock: TestClock;
  readonly #definitions: readonly AnyFlow[];
  readonly #options: Omit<FlowHostOptions, "flows" | "store">;
  readonly #store: MortalSource;
  readonly #mocks = new Map<string, MockedStep>();
  #system!: System;
  #host!: FlowHost;

  /** @internal */
  constructor({ flows, store = memory(), clock = testClock(), host = {} }: FlowKitOptions) {
    this.clock = clock;
    this.#options = host;
    this.#store = new MortalSource(store);
    this.#definitions = flows.map((flow) => mockable(flow, this.#mocks));
  }

  /** The host, until the next crash. Await what it returns with `kit.clock.until`. */
  get host(): FlowHost {
    return this.#host;
  }

  /** Number of processes: the host, and one for each flow in memory. */
  get population(): number {
    return this.#system.population;
  }

  /** @internal */
  async boot(): Promise<void> {
    this.#system = new System({ name: "flow kit", environment: this.clock.environment, report: false });
    const definition = flowHost({ ...this.#options, store: this.#store, flows: this.#definitions });
    this.#host = await this.clock.until(this.#system.start(definition));
    await this.clock.settle();
  }

  /**
   * Starts a flow, or attaches to the one with this id. The flow runs until it waits; no time passes.
   *
   * @throws UnknownFlowError, FlowIdTakenError
   */
  async start<I, O, M extends MessageTypes, P>(
    flow: FlowDefinition<I, O, M, P>,
    input: I,
    options?: StartFlowOptions,
  ): Promise<KitRun<O>> {
    const { id } = await this.clock.until(this.#host.start(flow, input, options));
    await this.clock.settle();
    return this.get<O>(id);
  }

  /** The flow with this id. */
  get<O = unknown>(id: string): KitRun<O> {
    const run = () => this.#host.get<O>(id);
    return {
      id,
      result: () => this.clock.until(run().result()),
      send: async (topic, value, options) => {
        await this.clock.until(run().send(topic, value, options));
        await this.clock.settle();
      },
      cancel: async () => {
        await this.clock.until(run().cancel());
        await this.clock.settle();
      },
      status: async () => (await this.clock.until(run().info())).status,
      history: () => this.#history(id),
    };
  }

  /**
   * Replaces the body of the steps and transactions of this name, in all flows. A mocked transaction needs no SQL.
   *
   * @throws OptionError
   */
  mock(step: string, body: StepMock): MockedStep {
    text("step", step);
    if (typeof body !== "function")
      throw new OptionError("body", body, "a function that stands for the step");
    const mock = new MockedStep(step, body);
    this.#mocks.set(step, mock);
    return mock;
  }

  /** Lets time pass: `"2 days"`, or milliseconds. Flows that become due run. @throws OptionError */
  async advance(time: Duration): Promise<void> {
    await this.clock.advance(duration("time", time));
  }

  /** Waits until no flow can do anything more at this instant. */
  settle(): Promise<void> {
    return this.clock.settle();
  }

  /**
   * Kills the host as SIGKILL does: uncommitted work is lost, and no code of the host has an effect any more. Then a new host takes the
   * flows, and runs them as far as they come without time.
   */
  async crash(): Promise<void> {
    this.#store.kill();
    await this.#end();
    await this.boot();
  }

  /** Stops the host. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#store.kill();
    await this.#end();
  }

  async #end(): Promise<void> {
    await this.clock.until(this.#system.stop({ timeoutMs: 0 }));
    await this.clock.until(this.#store.bury());
  }

  async #history(id: string): Promise<FlowHistory> {
    const { environment } = this.clock;
    const open = this.#store.open([FLOW_SCHEMA], {
      environment,
      after: () => () => undefined,
      warn: () => undefined,
    });
    const store = await this.clock.until(open);
    try {
      return await this.clock.until(historyOf(store, id));
    } finally {
      await this.clock.until(store.close());
    }
  }
}

/**
 * A host of flows for one test, in virtual time and in memory.
 *
 * @throws OptionError
 * @example
 * const trial = defineFlow("trial", async (flow, user: string) => {
 *   await flow.step("welcome", () => console.log("mail to", user));
 *   await flow.sleep("14 days");
 *   return flow.step("ask", () => "stay?");
 * });
 * await using kit = await flowKit({ flows: [trial] });
 * const welcome = kit.mock("welcome", () => undefined);
 * const run = await kit.start(trial, "ann");
 * await kit.crash();
 * await kit.advance("14 days");
 * console.log(await run.result(), welcome.calls.length); // stay? 1
 */
export async function flowKit(options: FlowKitOptions): Promise<FlowKit> {
  only("", options, ["flows", "store", "clock", "host"]);
  const kit = new FlowKit(options);
  await kit.boot();
  return kit;
}
