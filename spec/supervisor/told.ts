// A supervisor's machine that a test tells one event after the other, and whose effects it reads as words.

import type { ExitReason } from "signalbox";
import { checkChild, type FullChildSpec } from "../../lib/supervisor/child.js";
import type { Ask, Effect, Event } from "../../lib/supervisor/protocol.js";
import { type Config, decide, initial, type State } from "../../lib/supervisor/supervisor-machine.js";
import { child } from "./house.js";

export const broken: ExitReason = { type: "custom", value: "broken" };
export const NORMAL: ExitReason = { type: "normal" };
export const roll: number = 0.5;

const plain: Config = {
  strategy: "one_for_one",
  autoShutdown: "never",
  intensity: 1,
  periodMs: 5_000,
  backoff: undefined,
};

export function spec(id: string, more: Parameters<typeof child>[1] = {}): FullChildSpec {
  return checkChild("child", child(id, more), "any_significant");
}

/** A machine that is told one event after the other; keeps the effects of each as words. */
export class Machine {
  state: State<string>;
  effects: readonly Effect<string>[] = [];

  constructor(config: Partial<Config>, specs: readonly FullChildSpec[]) {
    this.state = initial({ ...plain, ...config }, specs);
  }

  tell(event: Event<string>): string[] {
    [this.state, this.effects] = decide(this.state, event);
    return this.effects.map(word);
  }

  /** Boots it; every start is well, and the pids are `a1`, `b1`, … */
  up(): this {
    this.tell({ type: "boot", at: 0 });
    for (const { spec } of this.state.children) this.started(`${spec.id}1`);
    return this;
  }

  started(pid: string, at = 0): string[] {
    return this.tell({ type: "started", id: pid[0] as string, pid, at });
  }

  stopped(id: string): string[] {
    return this.tell({ type: "stopped", id });
  }

  exited(pid: string, reason: ExitReason = broken, at = 0): string[] {
    return this.tell({ type: "exited", pid, reason, at, roll });
  }

  asked(request: Ask): string[] {
    return this.tell({ type: "asked", token: 7, request });
  }

  get statuses(): string {
    return [...this.state.children].map(({ spec: { id }, status }) => `${id} ${status}`).join(", ");
  }
}

function word(effect: Effect<string>): string {
  switch (effect.type) {
    case "start":
    case "abort-start":
      return `${effect.type} ${effect.spec.id}`;
    case "stop":
      return `stop ${effect.pid}`;
    case "retry":
      return `retry ${effect.id}`;
    case "resume-after":
      return `resume ${effect.id} after ${effect.delayMs}`;
    case "answer":
      return effect.answer.ok ? `ok ${effect.answer.pid ?? "-"}` : `no: ${effect.answer.problem}`;
    case "up":
      return "up";
    case "report":
      return `${effect.restart.intensityLeft < 0 ? "gives up on" : "restarts"} ${effect.restart.id}`;
    case "exit":
      return `exit ${effect.reason.type}`;
    default:
      return effect satisfies never;
  }
}

export const abc: readonly FullChildSpec[] = [spec("a"), spec("b"), spec("c")];
