// The schedules of a host: looks at those that are due, and starts their flows. All hosts of a store do so; the row's revision lets
// one of them win, and the flow's id makes sure.

import { isCurable } from "../../host/background/background.js";
import { isHostOver } from "../../host/index.js";
import { type Claim, ConflictError, type Store } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { decided, type FlowWrites, joined } from "../journal/changes.js";
import type { CronParser } from "./cron.js";
import { configOf, type ScheduleDefinition } from "./definition.js";
import { ScheduleNotFoundError } from "./errors.js";
import {
  decide,
  initial,
  type ScheduleConfig,
  type ScheduleEffect,
  type ScheduleEvent,
  type ScheduleState,
} from "./schedule-machine.js";
import type { Settled } from "./settled.js";
import { SCHEDULE_TOPIC, type ScheduleRow, schedules } from "./tables.js";

/** The port of schedules to their host. */
export interface SchedulePort {
  readonly store: Store;
  readonly claim: Claim;
  /** Calls `fn` after this time; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** Loads what reads cron expressions. @throws PackageMissingError */
  cron(): Promise<CronParser>;
  /** The names of the flows that this host has. It looks at their schedules. */
  readonly flows: readonly string[];
  /** Starts a flow, unless there is one with this id. */
  starting(id: string, flow: string, input: ScheduleRow["input"]): FlowWrites;
  cancelling(id: string): Promise<FlowWrites>;
  /** Whether a flow with this id is there and has not ended. */
  isRunning(id: string): Promise<boolean>;
  /** A schedule could not be looked at, and why. */
  failed(schedule: string, error: unknown): void;
  /** A look has failed. Returns after how many milliseconds to look again. */
  retryMs(error: Error): number;
  /** A look has succeeded. */
  worked(): void;
}

/** A schedule that is to be stored. */
export interface NewSchedule {
  readonly name: string;
  readonly flow: string;
  readonly input: ScheduleRow["input"];
  readonly definition: ScheduleDefinition;
  readonly declared: boolean;
}

/** Longest time between two looks at the clock of the store while a schedule is due later: a clock may have been set. */
const LOOK_MS = 300_000;
/** Most schedules of a store that are listed. */
export const MOST_SCHEDULES = 100_000;
/** Before all times at which a schedule can be due. */
const EARLIEST_MS = -8.64e15;
/** Most schedules of a flow in one look; others follow in the next one. */
const AT_ONCE = 500;

export class ScheduleKeeper {
  readonly #port: SchedulePort;
  #looking: "no" | "once" | "again" = "no";
  #stopped = false;
  #cancel: (() => void) | undefined;
  /** When the first schedule is due by the last look. Times are of the store's clock. */
  #first = Number.POSITIVE_INFINITY;

  constructor(port: SchedulePort) {
    this.#port = port;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  /** Looks at what is due: at the start, after a change, and at the time of the next. */
  look(): void {
    if (this.#stopped) return;
    if (this.#looking !== "no") {
      this.#looking = "again";
      return;
    }
    this.#looking = "once";
    this.#look().then(
      (inMs) => {
        this.#port.worked();
        this.#rest(inMs);
      },
      (error: unknown) => {
        const inMs = this.#port.retryMs(error as Error);
        if (isHostOver(error)) this.stop();
        else this.#rest(inMs);
      },
    );
  }

  /** Looks if a schedule is due earlier than at the last look: the notice of a change may have been lost. */
  async poll(): Promise<void> {
    if (this.#stopped || this.#looking !== "no") return;
    const { store, flows } = this.#port;
    const below = Number.isFinite(this.#first) ? { below: this.#first } : {};
    const earlier = { index: "wake", from: EARLIEST_MS, ...below, limit: 1 };
    // The store reads them together: mostly one statement, for no row.
    const found = await Promise.all(
      flows.map((flow) => store.scan(schedules, { ...earlier, prefix: [flow] })),
    );
    if (found.some((rows) => rows.length > 0)) this.look();
  }

  #rest(inMs: number): void {
    const again = this.#looking === "again";
    this.#looking = "no";
    this.#cancel?.();
    this.#cancel = undefined;
    if (again) this.look();
    else if (!this.#stopped) this.#cancel = this.#port.after(inMs, () => this.look());
  }

  /** Starts what is due, and says when to look again. */
  async #look(): Promise<number> {
    const { store, flows } = this.#port;
    let next = LOOK_MS;
    let first = Number.POSITIVE_INFINITY;
    let failed: Error | undefined;
    const caught = (row: ScheduleRow, error: unknown): undefined => {
      // The others are looked at, before the store is asked again for this one.
      if (isCurable(error)) failed ??= error;
      else this.#failed(row, error);
    };
    for (const flow of flows) {
      for (const row of await this.#ahead(flow)) await this.#tick(row).catch((error) => caught(row, error));
      const rows = await store.scan(schedules, {
        index: "wake",
        prefix: [flow],
        from: EARLIEST_MS,
        limit: AT_ONCE,
      });
      for (const row of rows) {
        const now = await wholeClock(store);
        const isDue = (row.wake as number) <= now;
        const moved = isDue ? await this.#tick(row).catch((error: unknown) => caught(row, error)) : row;
        first = Math.min(first, (moved ?? row).wake ?? first);
        if (moved !== undefined && moved.wake !== null) next = Math.min(next, Math.max(1, moved.wake - now));
        // The others of this flow are due later.
        if (!isDue) break;
      }
    }
    if (failed !== undefined) throw failed;
    this.#first = first;
    return next;
  }

  /** The schedules of a flow that were decided at a later time than the clock shows: it was set back. */
  async #ahead(flow: string): Promise<ScheduleRow[]> {
    const { store } = this.#port;
    const now = await wholeClock(store);
    return store.scan(schedules, { index: "judged", prefix: [flow, 0], after: now, limit: AT_ONCE });
  }

  #failed(row: ScheduleRow, error: unknown): undefined {
    if (isHostOver(error)) throw error;
    this.#port.failed(row.name, error);
  }

  async #tick(row: ScheduleRow): Promise<ScheduleRow | undefined> {
    const config = await this.#configOf(row);
    const now = await wholeClock(this.#port.store);
    const asks = config.overlap !== "allow" && row.last !== null;
    const busy = asks && (await this.#port.isRunning(row.last as string));
    try {
      return await this.#apply(row, config, { type: "tick", now, busy });
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      // Another host was faster.
      this.#looking = "again";
      return undefined;
    }
  }

  async #configOf({ name, definition }: ScheduleRow): Promise<ScheduleConfig> {
    const plain = JSON.parse(definition) as ScheduleDefinition;
    return configOf(name, plain, plain.cron === undefined ? undefined : await this.#port.cron());
  }

  /** One transition, in one commit with the starts that follow. */
  async #apply(row: ScheduleRow, config: ScheduleConfig, event: ScheduleEvent): Promise<ScheduleRow> {
    const before = stateOf(row);
    const [state, effects] = decide(config, before, event);
    if (state === before && effects.length === 0) return row;
    const parts: FlowWrites[] = [];
    let { skipped } = row;
    for (const effect of effects) {
      if (effect.type === "skipped") skipped += effect.times.length;
      else parts.push(await this.#writesOf(row, effect));
    }
    const next: ScheduleRow = { ...row, ...columnsOf(state), skipped, revision: row.revision + 1 };
    await this.#commit(row, next, parts);
    return next;
  }

  async #writesOf(
    row: ScheduleRow,
    effect: Exclude<ScheduleEffect, { readonly type: "skipped" }>,
  ): Promise<FlowWrites> {
    if (effect.type === "cancel") return this.#port.cancelling(effect.id);
    return this.#port.starting(effect.id, row.flow, row.input);
  }

  // ── what users do ─────────────────────────────────────────────────────────────────────────────────────────────

  /** Stores a schedule, or changes the one of this name. One that is the same stays as it is. */
  async put({ name, flow, input, definition, declared }: NewSchedule): Promise<void> {
    const text = JSON.stringify(definition);
    const parse = definition.cron === undefined ? undefined : await this.#port.cron();
    const config = configOf(name, definition, parse);
    await this.#changed(async () => {
      const [row] = await this.#port.store.get(schedules, [[name]]);
      const now = await wholeClock(this.#port.store);
      const fields = { name, flow, input, definition: text, declared: declared ? 1 : 0 };
      if (row === undefined) {
        const first = { ...fields, ...columnsOf(initial(config, now)), skipped: 0, revision: 0 };
        return this.#commit(undefined, first);
      }
      if (
        row.definition === text &&
        row.flow === flow &&
        isSame(row.input, input) &&
        row.declared === fields.declared
      )
        return undefined;
      const [state] =
        row.definition === text ? [stateOf(row)] : decide(config, stateOf(row), { type: "redefined", now });
      return this.#commit(row, { ...row, ...fields, ...columnsOf(state), revision: row.revision + 1 });
    });
  }

  /** Pauses or resumes a schedule, or starts its flow now. Returns the id of the last flow. @throws ScheduleNotFoundError */
  async change(name: string, what: "pause" | "resume" | "trigger", id: string): Promise<string | null> {
    let last: string | null = null;
    await this.#changed(async () => {
      const row = await this.#rowOf(name);
      const now = await wholeClock(this.#port.store);
      const event: ScheduleEvent = what === "trigger" ? { type: what, id, due: now } : { type: what, now };
      ({ last } = await this.#apply(row, await this.#configOf(row), event));
    });
    return last;
  }

  /** Removes a schedule. Flows that it has started go on. @throws ScheduleNotFoundError */
  async remove(name: string): Promise<void> {
    await this.#changed(async () => {
      const { revision } = await this.#rowOf(name);
      await this.#port.store.commit({
        claim: this.#port.claim,
        expect: [{ table: schedules, key: [name], is: { revision } }],
        writes: [{ type: "delete", table: schedules, key: [name] }],
        notify: [SCHEDULE_TOPIC],
      });
    });
  }

  list(): Promise<ScheduleRow[]> {
    return this.#port.store.scan(schedules, { limit: MOST_SCHEDULES });
  }

  /** Removes the schedules that an earlier version of the program declared for these flows, and this one does not. */
  async retire(flows: readonly string[], declared: readonly string[]): Promise<void> {
    for (const row of await this.list())
      if (row.declared === 1 && flows.includes(row.flow) && !declared.includes(row.name))
        await this.remove(row.name);
  }

  async #rowOf(name: string): Promise<ScheduleRow> {
    const [row] = await this.#port.store.get(schedules, [[name]]);
    if (row === undefined) throw new ScheduleNotFoundError(name);
    return row;
  }

  /** @param more - of the flows that start or end with this change */
  #commit(
    before: ScheduleRow | undefined,
    row: ScheduleRow,
    more: readonly FlowWrites[] = [],
  ): Promise<unknown> {
    const is = before === undefined ? ("absent" as const) : { revision: before.revision };
    const own: FlowWrites = {
      expect: [{ table: schedules, key: [row.name], is }],
      writes: [{ type: "put", table: schedules, row }],
      notify: [SCHEDULE_TOPIC],
    };
    return this.#port.store.commit({ claim: this.#port.claim, ...joined([own, ...more]) });
  }

  async #changed(act: () => Promise<unknown>): Promise<void> {
    await decided(act);
    this.look();
  }
}

export function stateOf(row: ScheduleRow): ScheduleState {
  const { fired, since, settled, judged, due, wake, paused, last } = row;
  return {
    fired,
    judged,
    due,
    wake,
    paused: paused === 1,
    last,
    since: since ?? judged,
    settled: settled === null ? ofVersion1(fired) : (JSON.parse(settled) as Settled),
  };
}

export function columnsOf(state: ScheduleState): Pick<ScheduleRow, keyof ScheduleState> {
  return { ...state, settled: JSON.stringify(state.settled), paused: state.paused ? 1 : 0 };
}

/** Only the last start is known. The ids of flows keep earlier due times from a second one. */
function ofVersion1(fired: number | null): Settled {
  return fired === null ? [] : [[fired - 1, fired]];
}

function isSame(one: ScheduleRow["input"], other: ScheduleRow["input"]): boolean {
  if (typeof one === "string" || one === null || typeof other === "string" || other === null)
    return one === other;
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}
