// The outcomes of a route: the results of a message or of a batch, or its failure, become one step of the ledger, with its lineage.

import type { Environment } from "../../process/environment.js";
import type { Ledger, Message } from "../ledger/ledger.js";
import type { CallRecord, LineageEntry } from "../ledger/lineage.js";
import type { RouteAttempt } from "./attempt.js";
import type { BatchOutcome } from "./batch-run.js";
import type { ExecutionScope } from "./execution-scope.js";
import type { RoutePlan } from "./plan.js";
import type { Batch, Member } from "./processor-machine.js";
import type { RouteMeter } from "./route-meter.js";
import { afterFailure, publications } from "./verdict.js";

type Calls = readonly CallRecord[] | undefined;

/** What became of a batch. */
export interface BatchSettlement {
  /** How many messages its results have become. */
  readonly children: number;
  /** Batches to be tried in its place: each of its messages alone. */
  readonly again: readonly Batch[];
}

const NO_BATCHES: readonly Batch[] = [];

export class RouteOutcomes {
  readonly #plan: RoutePlan;
  readonly #ledger: Ledger;
  readonly #env: Environment;
  /** Calls are recorded. */
  readonly #isRecorded: boolean;
  readonly #meter: RouteMeter;

  constructor(plan: RoutePlan, { kernel, ledger, catalogue }: ExecutionScope, meter: RouteMeter) {
    this.#plan = plan;
    this.#meter = meter;
    this.#ledger = ledger;
    this.#env = kernel.env;
    this.#isRecorded = catalogue.stored !== undefined;
  }

  /**
   * Settles a message with the results of its attempt.
   *
   * @returns how many messages these have become
   * @throws what a condition throws; and if a result cannot be stored
   */
  passed({ message, calls, items, remembered: remember }: RouteAttempt): number {
    const children = publications(this.#plan.rules, message.id, items);
    const entry = this.#entry("completed", message, calls, children.length);
    this.#ledger.submit({ type: "settle", message, children, entry, remember });
    this.#meter.settled(1, calls, children);
    return children.length;
  }

  /** Retries a message whose attempt has failed, or gives it up. */
  failed(message: Message, error: unknown, calls: Calls): void {
    const entry = this.#entry("dead", message, calls ?? [], 0);
    const { rules } = this.#plan;
    const step = afterFailure(rules, message, error, this.#env.random(), entry, this.#env.wallTime());
    this.#ledger.submit(step);
    if (step.type === "dead") this.#meter.gaveUp();
  }

  /** Settles the messages of a batch with its results, in one step; but those that failed alone. */
  batched(batch: Batch, outcome: Exclude<BatchOutcome, { readonly type: "held" }>): BatchSettlement {
    if (outcome.type !== "emitted") return this.#alone(batch, outcome.error);
    const { failures } = outcome;
    const settled = batch.members.filter((_, i) => !failures.has(i));
    const settlement = this.#emitted({ key: batch.key, members: settled }, outcome);
    for (const [i, error] of failures) {
      const member = batch.members[i] as Member;
      this.failed(member.message, error, member.calls);
    }
    return settlement;
  }

  #emitted(settled: Batch, outcome: BatchOutcome & { readonly type: "emitted" }): BatchSettlement {
    const { items, calls, remember } = outcome;
    const { members } = settled;
    const [first] = members;
    if (first === undefined) return { children: 0, again: NO_BATCHES };
    try {
      const children = publications(this.#plan.rules, first.message.id, items);
      const messages = members.map(({ message }) => message);
      const entries = this.#entries(members, calls ?? [], children.length);
      this.#ledger.submit({ type: "emit", messages, children, entries, remember });
      this.#meter.settled(messages.length, calls, children);
      return { children: children.length, again: NO_BATCHES };
    } catch (error) {
      return this.#alone(settled, error);
    }
  }

  /** A batch has failed: its messages are tried one by one, so that a bad one fails alone. One that was alone has failed. */
  batchFailed(batch: Batch, error: unknown): readonly Batch[] {
    const [only, ...others] = batch.members;
    if (only === undefined || others.length > 0) return oneByOne(batch);
    this.failed(only.message, error, only.calls);
    return NO_BATCHES;
  }

  /** Where batches have ended a process, the messages go one by one: then it is known which of them does. */
  parted(batch: Batch): readonly Batch[] {
    const isAccused = this.#ledger.isBatchAccused?.(this.#plan.queue, batch.members.length) === true;
    return isAccused ? oneByOne(batch) : [batch];
  }

  #alone(batch: Batch, error: unknown): BatchSettlement {
    return { children: 0, again: this.batchFailed(batch, error) };
  }

  #entry(
    status: LineageEntry["status"],
    { id, attempts, errors }: Message,
    calls: Calls,
    children: number,
  ): LineageEntry | undefined {
    if (!this.#isRecorded || calls === undefined) return undefined;
    const entry = { id, route: this.#plan.name, status, attempt: attempts + 1, calls, children };
    return errors.length === 0 || status === "dead" ? entry : { ...entry, errors };
  }

  #entries(
    settled: readonly Member[],
    calls: readonly CallRecord[],
    children: number,
  ): readonly LineageEntry[] | undefined {
    const batch = settled[0]?.message.id;
    if (!this.#isRecorded || batch === undefined) return undefined;
    return settled.map(({ message, calls: before }, i) => {
      const all = [...(before ?? []), ...calls];
      const entry = this.#entry("completed", message, all, i === 0 ? children : 0);
      return { ...(entry as LineageEntry), batch };
    });
  }
}

function oneByOne({ key, members }: Batch): readonly Batch[] {
  return members.map((member) => ({ key, members: [member] }));
}
