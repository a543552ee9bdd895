// The asks of a flow's code: each becomes a call that waits for its outcome, and an event of the flow's machine.

import type { WatchedProcess } from "../../process/intercepted.js";
import type { SqlTransaction } from "../../store/index.js";
import type { StepContext } from "../definition/context.js";
import { countedKey } from "../definition/names.js";
import type { How } from "../machine/state.js";
import { FlowContextError } from "./errors.js";
import { runBody, runTransaction } from "./flow-attempts.js";
import type { AskOptions, Call, Running } from "./flow-call.js";
import type { FlowLife } from "./flow-life.js";
import type { StepPlan } from "./step-plan.js";

const RUN: How = { type: "run", commits: false };
const COMMIT: How = { type: "run", commits: true };

export class FlowAsks {
  readonly #life: FlowLife;
  readonly #names = new Map<string, number>();

  constructor(life: FlowLife) {
    this.#life = life;
  }

  /** A key that was not used before. */
  keyFor(base: string): string {
    const used = (this.#names.get(base) ?? 0) + 1;
    this.#names.set(base, used);
    return countedKey(base, used);
  }

  /** An ask whose body runs, with attempts. `body` gets a context of its own. */
  body<T>(
    kind: string,
    key: string,
    plan: StepPlan,
    body: (step: StepContext) => unknown,
    more?: AskOptions,
  ): Promise<T> {
    const start = (attempt: number): Running => runBody(this.#life, { kind, key, plan, attempt, more }, body);
    return this.ask<T>(kind, key, RUN, start, more?.finish);
  }

  transaction<T>(
    key: string,
    plan: StepPlan,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
  ): Promise<Awaited<T>> {
    const start = (attempt: number): Running => {
      const aborting = new AbortController();
      void runTransaction(this.#life, key, plan, attempt, body, aborting.signal);
      return aborting;
    };
    return this.ask("transaction", key, COMMIT, start);
  }

  /** @throws FlowContextError in the body of a step */
  ask<T>(
    kind: string,
    key: string,
    how: How,
    start?: (attempt: number) => Running,
    finish?: (value: unknown) => unknown,
  ): Promise<T> {
    const life = this.#life;
    if (life.loop.isRunning) throw new FlowContextError(`${kind} "${key}" was asked in the body of a step`);
    if (!life.ctx.alive) return new Promise<T>(() => undefined);
    const { kernel, sought } = life.port;
    let made: Call | undefined;
    const promise = new Promise<T>((resolve, reject) => {
      // All fields are there from the start, so that calls keep one shape.
      const call: Call = {
        kind,
        key,
        how,
        start,
        running: undefined,
        tap: undefined,
        going: undefined,
        extra: undefined,
        grant: undefined,
        encoded: null,
        finish,
        resolve,
        reject,
      };
      made = call;
      kernel.interception?.gate(
        life.ctx.self.process as WatchedProcess | undefined,
        `${kind} "${key}"`,
        call,
      );
      life.calls.set(key, call);
      if (life.stall !== undefined) life.ctx.cancel(life.stall);
      life.stall = undefined;
      life.event({ type: "asked", kind, key, how, now: life.port.now() });
      if (sought !== undefined && sought.ask.kind === kind && sought.ask.key === key && life.ctx.alive) {
        sought.found(new FlowContextError("here"));
        life.end();
      }
    });
    if (made !== undefined && kernel.interception !== undefined) (made as Call).going = promise;
    return promise;
  }

  version(key: string, from: number, to: number): number {
    this.#life.event({ type: "versioned", key, from, to });
    return this.#life.version;
  }
}
