// Bulkheads: a policy that bounds how many calls run at once, so that one slow service does not take everything that the process has.

import { EffectLoop } from "../../process/effect-loop.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { checked, ms, whole } from "../../process/option-schema.js";
import { kernelOf, text } from "../../process/options.js";
import type { ProcessSystem } from "../../process/system.js";
import { addGauges, type GaugeSource, type TakeGauge } from "../telemetry/sources.js";
import {
  type BulkheadConfig,
  type BulkheadEffect,
  type BulkheadEvent,
  type BulkheadMachine,
  decide,
  initial,
} from "./bulkhead-machine.js";
import { PROTECTION_DEFAULTS } from "./defaults.js";
import { BulkheadFullError } from "./errors.js";
import { type Guarded, guard, type guarded, type Work } from "./guard.js";
import { PROTECTION_METRICS } from "./metrics.js";
import { type Scope, Wait } from "./scope.js";

/** Options of a bulkhead. */
export interface BulkheadOptions {
  /** How many calls may run at once, for each key, 1 or more. */
  readonly concurrency: number;
  /** How many calls may wait, over all keys; 0 refuses at once. Default 1,000. */
  readonly maxWaiting?: number;
  /** How long a call waits for its turn, in milliseconds. `Infinity` for no limit. Default 30,000. */
  readonly timeoutMs?: number;
  /**
   * A function that runs on after its call was given up keeps its place until it settles, or for this many milliseconds at most.
   * Default 60,000.
   */
  readonly holdMs?: number;
  /** The name of the bulkhead in errors. Default `bulkhead`. */
  readonly label?: string;
}

/** How a guarded function uses its bulkhead. */
export interface CompartmentOptions<A extends readonly unknown[]> {
  /** Which compartment a call is in, from its arguments. Default: one for all calls. */
  readonly key?: (...args: A) => string;
}

/** A bulkhead at one moment, over all keys. */
export interface BulkheadStatus {
  /** Calls that have a place, those included whose function runs on after the call was given up. */
  readonly running: number;
  /** Calls that wait. */
  readonly waiting: number;
}

/** A bulkhead: put it around functions. */
export interface Bulkhead {
  <A extends readonly unknown[], R>(
    inner: {
      /** The function that another policy returned. */
      readonly [guarded]: Work<A, Promise<R>>;
    },
    options?: CompartmentOptions<A>,
  ): Guarded<A, R>;
  <A extends readonly unknown[], R>(
    work: Work<A, R>,
    options?: CompartmentOptions<A>,
  ): Guarded<A, Awaited<R>>;
  /** The calls that run and wait now. */
  status(): BulkheadStatus;
}

/** The result of `bulkhead`. */
export interface BulkheadDefinition {
  /** A bulkhead for one system. All functions that it guards share its places. */
  local(system: ProcessSystem): Bulkhead;
}

interface BulkheadSettings {
  readonly label: string;
  readonly timeoutMs: number;
  readonly holdMs: number;
  readonly config: BulkheadConfig;
}

/**
 * Defines a bulkhead: at most `concurrency` calls run at once, and further ones wait, in order of arrival. A call leaves the queue when
 * its caller gives up or exits. It is rejected with BulkheadFullError when too many wait, or when its wait takes too long.
 *
 * @throws OptionError
 * @see M. Nygard, "Release It!", chapter "Bulkheads"
 * @example
 * const reports = bulkhead({ concurrency: 4, label: "reports" }).local(system);
 * const report = reports(async ({ signal }, month: string) => fetch(`https://reports.example/${month}`, { signal }));
 * await report("2026-11");
 */
export function bulkhead(options: BulkheadOptions): BulkheadDefinition {
  const settings = checkBulkhead(options);
  return { local: (system) => bulkheadOf(kernelOf(system), settings) };
}

const CHECKS = {
  concurrency: whole(1),
  maxWaiting: whole(0, Number.POSITIVE_INFINITY),
  timeoutMs: ms(0, Number.POSITIVE_INFINITY),
  holdMs: ms(0),
  label: text,
};
const DEFAULTS = { label: "bulkhead", ...PROTECTION_DEFAULTS.bulkhead };

/** @throws OptionError */
function checkBulkhead(given: BulkheadOptions): BulkheadSettings {
  const { concurrency, maxWaiting, ...settings } = checked("", given, CHECKS, DEFAULTS);
  return { ...settings, config: { concurrency, maxWaiting } };
}

function bulkheadOf(kernel: Kernel, settings: BulkheadSettings): Bulkhead {
  const core = new BulkheadCore(kernel, settings);
  const policy = (inner: unknown, options: CompartmentOptions<readonly unknown[]> = {}): unknown => {
    only("", options, ["key"]);
    const { key = () => "" } = options;
    if (typeof key !== "function") throw new OptionError("key", key, "a function of the arguments");
    return guard(kernel, inner, async (scope, run, args) => {
      const compartment: unknown = key(...args);
      if (typeof compartment !== "string") throw new OptionError("key", compartment, "a text");
      await core.enter(scope, compartment);
      return core.run(scope, compartment, run);
    });
  };
  return Object.assign(policy, { status: () => core.status() }) as unknown as Bulkhead;
}

class BulkheadCore implements GaugeSource {
  readonly #kernel: Kernel;
  readonly #settings: BulkheadSettings;
  readonly #loop: EffectLoop<BulkheadMachine, BulkheadEvent, BulkheadEffect>;
  /** Calls without a place, and since when they wait, if metrics are in use. */
  readonly #waits = new Map<number, { readonly wait: Wait<void>; readonly since: number | undefined }>();
  #lastId = 0;

  constructor(kernel: Kernel, settings: BulkheadSettings) {
    this.#kernel = kernel;
    this.#settings = settings;
    this.#loop = new EffectLoop(initial(settings.config), decide, (effect: BulkheadEffect) =>
      this.#carryOut(effect),
    );
    kernel.shared?.created(this);
    addGauges(kernel, this);
  }

  gauges(take: TakeGauge): void {
    const { running, waiting } = this.status();
    take(PROTECTION_METRICS.bulkheadRunning, running, this.#settings.label);
    take(PROTECTION_METRICS.bulkheadWaiting, waiting, this.#settings.label);
  }

  status(): BulkheadStatus {
    this.#kernel.shared?.object(this, "read");
    const { running, waiting } = this.#loop.state;
    return { running, waiting };
  }

  /** Waits for a place. */
  enter(scope: Scope, key: string): Promise<void> {
    const kernel = this.#kernel;
    const settings = this.#settings;
    const wait = new Wait<void>(kernel, scope, "a place in a bulkhead");
    if (!wait.open) return wait.promise;
    const id = ++this.#lastId;
    this.#waits.set(id, { wait, since: kernel.taps === undefined ? undefined : kernel.env.now() });
    this.#dispatch({ type: "ask", id, key });
    if (!wait.open) return wait.promise;
    let outcome: "left" | "timeout" = "left";
    const fire = (): void => {
      outcome = "timeout";
      wait.fail(new BulkheadFullError(settings.label, "timeout", settings.config));
    };
    const timer =
      settings.timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : kernel.addTimer(settings.timeoutMs, { fire });
    wait.onEnd = () => {
      if (timer !== undefined) kernel.cancelTimer(timer);
      if (!this.#waits.delete(id)) return;
      this.#counted(outcome);
      this.#dispatch({ type: "leave", id, key });
    };
    return wait.promise;
  }

  /** Runs what is inside, and gives the place back when the user's function has settled. */
  async run<R>(scope: Scope, key: string, inner: (scope: Scope) => Promise<R>): Promise<R> {
    const kernel = this.#kernel;
    let busy = 1;
    let isHeld = true;
    let leave: (() => void) | undefined;
    const giveBack = (): void => {
      if (!isHeld) return;
      isHeld = false;
      leave?.();
      this.#dispatch({ type: "done", id: 0, key });
    };
    const over = (): void => {
      if (--busy === 0) giveBack();
    };
    const own = scope.child();
    own.track = (settled) => {
      busy++;
      settled.then(over, over);
      scope.track?.(settled);
    };
    try {
      return await inner(own);
    } finally {
      scope.inner = undefined;
      over();
      // The function ignores its signal.
      if (isHeld) {
        const timer = kernel.addTimer(this.#settings.holdMs, { fire: giveBack });
        leave = () => kernel.cancelTimer(timer);
      }
    }
  }

  #dispatch(event: BulkheadEvent): void {
    this.#kernel.shared?.object(this, "write");
    this.#loop.dispatch(event);
  }

  #counted(outcome: "granted" | "refused" | "timeout" | "left"): void {
    this.#kernel.taps?.count(PROTECTION_METRICS.bulkheadRequests, 1, this.#settings.label, outcome);
  }

  #carryOut({ type, id }: BulkheadEffect): void {
    const { wait, since } = this.#waits.get(id) ?? {};
    const { taps, env } = this.#kernel;
    this.#waits.delete(id);
    this.#counted(type === "grant" ? "granted" : "refused");
    if (type === "grant") {
      if (since !== undefined)
        taps?.observe(PROTECTION_METRICS.bulkheadWait, (env.now() - since) / 1_000, this.#settings.label);
      wait?.fulfil();
    } else wait?.fail(new BulkheadFullError(this.#settings.label, "waiting", this.#settings.config));
  }
}
