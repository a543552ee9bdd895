// A model of the load of consumers in one schedule: an envelope counts as load from its delivery until the consumer settles
// it or exits, or until the dispatch ends before the consumer has begun.

import type { Event } from "./dispatch-support.js";

interface Given {
  readonly life: string;
  taken: boolean;
}

export class LoadModel {
  /** What each consumer has, by dispatch and attempt. */
  private readonly given = new Map<string, Map<string, Given>>();
  private readonly loads = new Map<string, number>();
  private readonly attempts = new Map<string, number>();
  private readonly conversations = new Map<string, string>();

  of(life: string): number {
    return this.loads.get(life) ?? 0;
  }

  note(event: Event): void {
    switch (event.what) {
      case "dispatch":
        this.conversations.set(event.conversation, event.dispatch);
        return;
      case "choose": {
        const attempt = (this.attempts.get(event.dispatch) ?? 0) + 1;
        this.attempts.set(event.dispatch, attempt);
        const all = this.given.get(event.dispatch) ?? new Map<string, Given>();
        this.given.set(event.dispatch, all.set(String(attempt), { life: event.life, taken: false }));
        this.loads.set(event.life, this.of(event.life) + 1);
        return;
      }
      case "take": {
        const given = this.given.get(event.dispatch)?.get(String(event.attempt));
        if (given !== undefined) given.taken = true;
        return;
      }
      case "settle":
      case "settle in vain":
        this.free(event.dispatch, String(event.attempt));
        return;
      case "withdraw":
      case "end":
        this.takeBack(event.dispatch);
        return;
      case "exit": {
        const dispatch = this.conversations.get(event.who);
        if (dispatch !== undefined) this.takeBack(dispatch);
        this.loads.delete(event.who);
        for (const all of this.given.values())
          for (const [attempt, { life }] of all) if (life === event.who) all.delete(attempt);
        return;
      }
      default:
        return;
    }
  }

  /** The dispatch ends: its consumer keeps what it has begun. */
  private takeBack(dispatch: string): void {
    for (const [attempt, { taken }] of this.given.get(dispatch) ?? [])
      if (!taken) this.free(dispatch, attempt);
  }

  private free(dispatch: string, attempt: string): void {
    const given = this.given.get(dispatch)?.get(attempt);
    if (given === undefined) return;
    this.given.get(dispatch)?.delete(attempt);
    this.loads.set(given.life, this.of(given.life) - 1);
  }
}
