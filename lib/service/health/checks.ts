// Runs the checks of a user. Each run has a process of its own, so a check that crashes takes down no other.

import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import { crash, type ExitReason, formatReason } from "../../process/reason.js";
import { decide, type Effect, type Event, initial, type Result, type State } from "./check-machine.js";
import type { FullCheck } from "./options.js";
import type { CheckHealth } from "./report.js";

/** One check, and the requests that wait for its answer. */
export class RunningCheck {
  readonly #ctx: Context<never>;
  readonly #check: FullCheck;
  readonly #loop: EffectLoop<State, Event, Effect>;
  #waiting: ((result: Result) => void)[] = [];
  #control = new AbortController();
  #timer: TimerRef | undefined;
  /** The run in progress, and its answer once it has one. */
  #running: { readonly pid: Pid; answer: Answer | undefined } | undefined;

  constructor(ctx: Context<never>, check: FullCheck) {
    this.#ctx = ctx;
    this.#check = check;
    this.#loop = new EffectLoop<State, Event, Effect>(initial(check), decide, (effect) =>
      this.#perform(effect),
    );
  }

  get kind(): FullCheck["for"] {
    return this.#check.for;
  }

  /** Resolves with the answer, at the latest when the time of the check is up. */
  ask(): Promise<CheckHealth> {
    const { name, part, for: kind } = this.#check;
    return new Promise((resolve) => {
      this.#waiting.push(({ ok, error }) =>
        resolve({ name, for: kind, part, ok, ...(error === undefined ? {} : { error }) }),
      );
      this.#loop.dispatch({ type: "asked", at: this.#ctx.now() });
    });
  }

  #perform(effect: Effect): unknown {
    const ctx = this.#ctx;
    switch (effect.type) {
      case "run":
        this.#control = new AbortController();
        this.#timer = ctx.runAfter(effect.timeoutMs, () =>
          this.#loop.dispatch({ type: "time-up", at: ctx.now() }),
        );
        return this.#run(this.#control.signal);
      case "disarm":
        return this.#timer !== undefined && ctx.cancel(this.#timer);
      case "abort":
        return this.#control.abort(new Error(`the check ${this.#check.name} took too long`));
      case "answer": {
        const waiting = this.#waiting;
        this.#waiting = [];
        for (const answer of waiting) answer(effect.result);
        return undefined;
      }
      default:
        return effect satisfies never;
    }
  }

  #run(signal: AbortSignal): void {
    const { check, name } = this.#check;
    const body = async (): Promise<void> => {
      const answer = await answerOf(check, signal);
      if (this.#running?.pid === pid) this.#running.answer = answer;
    };
    const pid: Pid = this.#ctx.spawnLink(body, { label: `check ${name}` });
    this.#running = { pid, answer: undefined };
  }

  /** A process linked to the reader has ended. */
  ended(pid: Pid, reason: ExitReason): void {
    if (this.#running?.pid !== pid) return;
    // An unhandled rejection of the check ends its process, and counts as a crash even if the check has answered already.
    const crashed = { ok: false, error: formatReason(reason) };
    const answer = reason.type === "normal" ? (this.#running.answer ?? crashed) : crashed;
    this.#running = undefined;
    this.#loop.dispatch({ type: "settled", ...answer, at: this.#ctx.now() });
  }
}

interface Answer {
  readonly ok: boolean;
  readonly error: string | undefined;
}

async function answerOf(check: FullCheck["check"], signal: AbortSignal): Promise<Answer> {
  try {
    const ok = (await check(signal)) !== false;
    return { ok, error: ok ? undefined : "it returned false" };
  } catch (thrown) {
    return { ok: false, error: formatReason(crash(thrown)) };
  }
}
