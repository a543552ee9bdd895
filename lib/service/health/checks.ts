// Runs the checks of a user in the process that reads the health.

import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { TimerRef } from "../../process/owned-timer.js";
import { crash, formatReason } from "../../process/reason.js";
import { decide, type Effect, type Event, initial, type Result, type State } from "./check-machine.js";
import type { FullCheck } from "./options.js";
import type { CheckHealth } from "./report.js";

/** One check, and those who wait for its answer. */
export class RunningCheck {
  private readonly ctx: Context<never>;
  private readonly check: FullCheck;
  private readonly loop: EffectLoop<State, Event, Effect>;
  private waiting: ((result: Result) => void)[] = [];
  private control = new AbortController();
  private timer: TimerRef | undefined;

  constructor(ctx: Context<never>, check: FullCheck) {
    this.ctx = ctx;
    this.check = check;
    this.loop = new EffectLoop<State, Event, Effect>(initial(check), decide, (effect) =>
      this.perform(effect),
    );
  }

  /** Resolves with the answer, at the latest when the time of the check is up. */
  ask(): Promise<CheckHealth> {
    const { name, part, for: kind } = this.check;
    return new Promise((resolve) => {
      this.waiting.push(({ ok, error }) =>
        resolve({ name, for: kind, part, ok, ...(error === undefined ? {} : { error }) }),
      );
      this.loop.dispatch({ type: "asked", at: this.ctx.now() });
    });
  }

  private perform(effect: Effect): unknown {
    const { ctx } = this;
    switch (effect.type) {
      case "run":
        this.control = new AbortController();
        this.timer = ctx.runAfter(effect.timeoutMs, () =>
          this.loop.dispatch({ type: "time-up", at: ctx.now() }),
        );
        return this.run(this.control.signal);
      case "disarm":
        return this.timer !== undefined && ctx.cancel(this.timer);
      case "abort":
        return this.control.abort(new Error(`the check ${this.check.name} took too long`));
      case "answer": {
        const { waiting } = this;
        this.waiting = [];
        for (const answer of waiting) answer(effect.result);
        return undefined;
      }
      default:
        return effect satisfies never;
    }
  }

  private async run(signal: AbortSignal): Promise<void> {
    let ok = true;
    let error: string | undefined;
    try {
      ok = (await this.check.check(signal)) !== false;
      if (!ok) error = "it returned false";
    } catch (thrown) {
      ok = false;
      error = formatReason(crash(thrown));
    }
    if (this.ctx.alive) this.loop.dispatch({ type: "settled", ok, error, at: this.ctx.now() });
  }
}
