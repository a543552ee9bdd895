// A naive model of a queue in a store: all flows in one array, everything counted by going through it.

import type { Candidate, QueueLimits, Use } from "../../../lib/flow/queues/choice.js";
import type { PageEnd, Turns, View } from "../../../lib/flow/queues/queue-machine.js";

export interface Job extends Candidate {
  state: "delayed" | "waiting" | "running" | "ended";
  due: number;
  host: number;
}

export class World {
  readonly jobs: Job[] = [];
  readonly starts: { readonly lane: string; readonly at: number }[] = [];
  readonly limits: QueueLimits;
  readonly pageLanes: number;
  version = 0;
  now = 1_000;

  constructor(limits: QueueLimits, pageLanes: number) {
    this.limits = limits;
    this.pageLanes = pageLanes;
  }

  put(lane: string, rank: number, delayMs: number): void {
    const number = this.jobs.length;
    const state = delayMs > 0 ? "delayed" : "waiting";
    this.jobs.push({ number, flow: `${number}`, lane, rank, state, due: this.now + delayMs, host: -1 });
  }

  /** Delayed flows whose time has come begin to wait. Returns whether there were any. */
  wake(): boolean {
    const due = this.in("delayed").filter((job) => job.due <= this.now);
    for (const job of due) job.state = "waiting";
    return due.length > 0;
  }

  in(state: Job["state"]): Job[] {
    return this.jobs.filter((job) => job.state === state);
  }

  use(lane?: string): Use {
    const isOurs = (one: { lane: string }): boolean => lane === undefined || one.lane === lane;
    const rule = lane === undefined ? this.limits.rate : this.limits.keyRate;
    const recent = rule ? this.starts.filter((one) => isOurs(one) && one.at > this.now - rule.periodMs) : [];
    const first = Math.min(...recent.map(({ at }) => at));
    return {
      running: this.in("running").filter(isOurs).length,
      recent: recent.length,
      freeAt: recent.length > 0 && rule ? first + rule.periodMs : undefined,
    };
  }

  /** A page: keys in the order of their turns, rank by rank. */
  page(from: PageEnd | undefined, turns: Turns): View {
    const waiting = this.in("waiting");
    const candidates: Candidate[] = [];
    let lanes = 0;
    let next: PageEnd | undefined;
    for (const place of this.#places(from, turns)) {
      if (lanes === this.pageLanes) {
        next = place.start;
        break;
      }
      lanes++;
      candidates.push(
        ...waiting.filter(({ rank, lane }) => rank === place.start.rank && lane === place.lane).slice(0, 3),
      );
    }
    return {
      ...{ now: this.now, version: this.version, use: this.use(), candidates, next },
      lanes: new Map(candidates.map(({ lane }) => [lane, this.use(lane)])),
    };
  }

  /** All keys that wait, from a place on, each with the place just before it. */
  #places(from: PageEnd | undefined, turns: Turns): { lane: string; start: PageEnd }[] {
    const ranks = [...new Set(this.in("waiting").map(({ rank }) => rank))].sort((a, b) => a - b);
    const found: { lane: string; start: PageEnd }[] = [];
    for (const rank of ranks) {
      if (from !== undefined && rank < from.rank) continue;
      const turn = turns.get(rank);
      let parts: PageEnd[] = [{ rank, after: turn, upTo: undefined }];
      if (turn !== undefined) parts.push({ rank, after: undefined, upTo: turn });
      if (from?.rank === rank) parts = [from, ...(from.upTo === undefined ? parts.slice(1) : [])];
      for (const { after, upTo } of parts) {
        const waiting = this.in("waiting")
          .filter((job) => job.rank === rank)
          .map(({ lane }) => lane);
        const lanes = [...new Set(waiting)]
          .sort()
          .filter((lane) => (after === undefined || lane > after) && (upTo === undefined || lane <= upTo));
        for (const [i, lane] of lanes.entries())
          found.push({ lane, start: { rank, after: lanes[i - 1] ?? after, upTo } });
      }
    }
    return found;
  }

  /** Gives flows a slot, if nobody was faster. */
  admit(flows: readonly Candidate[], version: number, at: number, host: number): boolean {
    if (version !== this.version) return false;
    this.version++;
    for (const { number, lane } of flows) {
      const job = this.jobs[number] as Job;
      if (job.state !== "waiting") throw new Error(`flow ${number} is ${job.state}, and was admitted`);
      job.state = "running";
      job.host = host;
      this.starts.push({ lane, at });
    }
    return true;
  }
}
