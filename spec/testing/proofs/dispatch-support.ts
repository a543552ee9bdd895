// The history of dispatches in one schedule as plain data, and a model that checks the history in one pass. Tests write wrong
// histories by hand and see that the model rejects them.

import {
  type ConsumerGroup,
  type ConsumerView,
  type Context,
  ConversationError,
  type Delivery,
  DispatchError,
  type DispatchOptions,
  dispatch,
  type ExitReason,
  formatReason,
  type JoinOptions,
  NoConsumerError,
  type Outcome,
  type Pid,
  type RoutingFunction,
  type System,
} from "signalbox";
import type { Simulation } from "signalbox/testing";
import { LoadModel } from "./dispatch-load.js";

/** Stands for the process of a conversation whose life nobody follows. */
export const UNSEEN = "unseen";

/** How a dispatch ended for its caller. */
export type End =
  | {
      readonly type: "delivered";
      /** Id of the consumer, and the path of its process. */
      readonly to: string;
      readonly life: string;
      readonly attempts: number;
      readonly reroutedFrom: readonly string[];
      readonly timings: readonly Timing[];
    }
  | {
      readonly type: "failed";
      readonly code: string;
      /** Of an `ERR_NO_CONSUMER` or `ERR_CONVERSATION`. */
      readonly why?: string;
      readonly history: readonly Tried[];
    }
  /** By its caller: an AbortSignal, or the caller's end. */
  | { readonly type: "withdrawn" };

export interface Timing {
  readonly consumer: string;
  readonly exitAt: number;
  readonly reroutedAt: number;
}

/** An attempt that came to nothing, as an error tells of it. */
export interface Tried {
  readonly attempt: number;
  readonly consumer: string;
  readonly end: "crashed" | "rejected" | "returned" | "interrupted";
}

/** What happened. A consumer has an id, and for each of its lives the path of a process. */
export type Event =
  | { readonly what: "join"; readonly life: string; readonly id: string }
  | { readonly what: "leave"; readonly life: string }
  | { readonly what: "exit"; readonly who: string; readonly reason: string }
  /** A dispatch begins; its conversation is the process of that path. */
  | {
      readonly what: "dispatch";
      readonly dispatch: string;
      readonly conversation: string;
      readonly deadlineMs: number;
    }
  /** The routing function chose, and what it chose takes more: the envelope is forwarded in this very step. */
  | {
      readonly what: "choose";
      readonly dispatch: string;
      readonly life: string;
      readonly id: string;
      /** Present when the consumer cannot acknowledge: the hand-off window. */
      readonly handoffMs?: number;
    }
  /** The consumer's handler is given the envelope. */
  | { readonly what: "take"; readonly dispatch: string; readonly life: string; readonly attempt: number }
  /** The consumer settled, and its answer counted. */
  | {
      readonly what: "settle";
      readonly dispatch: string;
      readonly life: string;
      readonly attempt: number;
      readonly how: "ack" | "reject" | "reject for good";
    }
  /** The consumer settled, and its answer did not count: it got false, or an error. */
  | { readonly what: "settle in vain"; readonly dispatch: string; readonly attempt: number }
  /** The caller gives up. */
  | { readonly what: "withdraw"; readonly dispatch: string }
  | {
      readonly what: "compensate";
      readonly dispatch: string;
      readonly consumer: string;
      readonly attempt: number;
    }
  /** The compensation is done. */
  | { readonly what: "undone"; readonly dispatch: string }
  | { readonly what: "end"; readonly dispatch: string; readonly end: End };

/** What happened, and the virtual time of it. */
export type Deed = Event & { readonly at: number };

/** What the group says. */
export interface Rules {
  readonly maxAttempts: number;
  readonly onCrash: "reroute" | "fail" | "compensate";
  /** Dispatches that may wait. Without limit unless given. */
  readonly maxWaiting?: number;
}

/** Interesting states that a history came through, for `sim.sometimes`. */
export const DISPATCH_STATES = [
  "delivered at the first attempt",
  "delivered after a crash",
  "delivered after two crashes",
  "returned by one that had not come to it",
  "rejected, and delivered to another",
  "acknowledged by one that ends at once",
  "settled in vain",
  "out of attempts",
  "nobody left",
  "turned away",
  "past its deadline",
  "past its deadline and acknowledged",
  "withdrawn at work",
  "its conversation died at work",
  "waited",
  "failed by policy",
  "compensated",
  "compensation failed",
  "handed off",
  "handed off to one that ends at once",
] as const;

export type DispatchState = (typeof DISPATCH_STATES)[number];

export interface Verdict {
  /** The first thing that is wrong; undefined when nothing is. */
  readonly complaint: string | undefined;
  readonly states: ReadonlySet<DispatchState>;
}

/** One envelope with one consumer. */
interface Attempt {
  readonly number: number;
  readonly id: string;
  readonly life: string;
  readonly chosenAt: number;
  readonly handoffMs: number | undefined;
  taken: boolean;
  settled: "ack" | "reject" | "reject for good" | undefined;
  /** When its consumer ended, if that was before it settled. */
  exitAt: number | undefined;
}

interface Followed {
  readonly name: string;
  readonly begunAt: number;
  readonly deadline: number;
  readonly conversation: string;
  readonly attempts: Attempt[];
  /** Somebody could have been chosen ever since the last attempt ended. */
  served: boolean;
  withdrawn: boolean;
  /** The end of its conversation. */
  closed: { readonly at: number; readonly reason: string; readonly waiting: number } | undefined;
  /** Compensations that were begun, and done. */
  undoing: number;
  undone: number;
  /** The process of the compensation has ended. */
  undoer: "gone" | undefined;
  end: End | undefined;
}

class Judge {
  readonly states = new Set<DispatchState>();
  private readonly rules: Rules;
  private readonly ids = new Map<string, string>();
  private readonly living = new Set<string>();
  private readonly members = new Set<string>();
  private readonly all = new Map<string, Followed>();

  constructor(rules: Rules) {
    this.rules = rules;
  }

  read(deeds: readonly Deed[]): string | undefined {
    for (const deed of deeds) {
      const wrong = this.follow(deed);
      if (wrong !== undefined) return `at ${deed.at} ms, ${JSON.stringify(deed)}: ${wrong}`;
    }
    for (const one of this.all.values()) if (one.end === undefined) return `${one.name} never ends`;
    return undefined;
  }

  /** Notices when there is no consumer that has not failed on it. */
  private look(one: Followed): void {
    for (const life of this.members) if (!one.attempts.some((tried) => tried.life === life)) return;
    one.served = false;
  }

  private follow(deed: Deed): string | undefined {
    switch (deed.what) {
      case "join":
        this.ids.set(deed.life, deed.id);
        this.living.add(deed.life);
        this.members.add(deed.life);
        return undefined;
      case "leave":
        this.members.delete(deed.life);
        for (const one of this.all.values()) this.look(one);
        return undefined;
      case "exit":
        this.living.delete(deed.who);
        this.members.delete(deed.who);
        for (const one of this.all.values()) {
          if (deed.who === one.conversation && deed.reason === "normal")
            if (one.undoing > 0 && one.undoer !== "gone") return "its compensation is under way";
          if (deed.who.startsWith(`${one.conversation}/`)) one.undoer = "gone";
          if (one.conversation === deed.who) one.closed = { ...deed, waiting: this.waiting(one) };
          const last = one.attempts.at(-1);
          if (last?.life === deed.who && last.settled === "ack" && one.end === undefined)
            this.states.add("acknowledged by one that ends at once");
          if (last?.life === deed.who && last.settled === undefined && last.exitAt === undefined) {
            last.exitAt = deed.at;
            one.served = true;
          }
          this.look(one);
        }
        return undefined;
      case "dispatch":
        if (this.all.has(deed.dispatch)) return "there is such a dispatch already";
        this.all.set(deed.dispatch, {
          name: deed.dispatch,
          begunAt: deed.at,
          deadline: deed.at + deed.deadlineMs,
          conversation: deed.conversation,
          attempts: [],
          served: true,
          withdrawn: false,
          closed: undefined,
          undoing: 0,
          undone: 0,
          undoer: undefined,
          end: undefined,
        });
        this.look(this.all.get(deed.dispatch) as Followed);
        return undefined;
      default:
        break;
    }
    const one = this.all.get(deed.dispatch);
    if (one === undefined) return "there is no such dispatch";
    switch (deed.what) {
      case "choose":
        return this.choose(one, deed);
      case "take":
        return this.take(one, deed);
      case "settle":
        return this.settle(one, deed);
      case "settle in vain":
        this.states.add("settled in vain");
        return undefined;
      case "withdraw":
        one.withdrawn = true;
        return undefined;
      case "compensate": {
        one.undoing++;
        const last = one.attempts.at(-1);
        if (this.rules.onCrash !== "compensate") return "this group compensates nothing";
        if (last === undefined || endOf(last) !== "crashed") return "nobody has crashed on it";
        if (deed.consumer !== last.id || deed.attempt !== last.number)
          return `it was ${last.id} that crashed`;
        return one.undoing > 1 ? "it is undone a second time" : undefined;
      }
      case "undone":
        // A compensation that goes on after the end of its process does not count.
        if (one.undoer === undefined) one.undone++;
        return undefined;
      case "end":
        if (one.end !== undefined) return "it ends a second time";
        one.end = deed.end;
        return this.end(one, deed.end, deed.at);
      default:
        return deed satisfies never;
    }
  }

  private choose(one: Followed, deed: Deed & { readonly what: "choose" }): string | undefined {
    const { life, id, at, handoffMs } = deed;
    const { attempts } = one;
    const before = attempts.at(-1);
    if (one.end !== undefined || one.withdrawn) return "it has ended";
    if (one.closed !== undefined) return "its conversation has ended";
    if (this.ids.get(life) !== id) return `${life} has not joined as ${id}`;
    if (!this.living.has(life)) return `${life} has ended`;
    if (!this.members.has(life)) return `${life} has left`;
    if (before !== undefined) {
      if (before.settled === "ack") return `${before.life} has acknowledged it`;
      if (before.settled === "reject for good") return `${before.life} has rejected it for good`;
      const end = endOf(before);
      if (end === undefined) return `${before.life} has it`;
      if (end === "crashed" && this.rules.onCrash !== "reroute") return "a crash re-routes nothing here";
      if (this.failures(one) >= this.rules.maxAttempts) return "its attempts are used up";
    } else if (at > one.begunAt) this.states.add("waited");
    if (attempts.some((tried) => tried.life === life)) return `${life} has failed on it`;
    const number = attempts.length + 1;
    const fresh = { taken: false, settled: undefined, exitAt: undefined };
    attempts.push({ number, id, life, chosenAt: at, handoffMs, ...fresh });
    return undefined;
  }

  private take(one: Followed, { life, attempt }: Deed & { readonly what: "take" }): string | undefined {
    const tried = one.attempts[attempt - 1];
    if (tried?.life !== life) return `attempt ${attempt} is not with ${life}`;
    if (tried.taken) return "it is taken a second time";
    if (!this.living.has(life)) return `${life} has ended`;
    tried.taken = true;
    return undefined;
  }

  private settle(one: Followed, deed: Deed & { readonly what: "settle" }): string | undefined {
    const { life, attempt, how } = deed;
    const tried = one.attempts[attempt - 1];
    if (tried?.life !== life || !tried.taken) return `${life} has not taken it`;
    if (tried.settled !== undefined) return "it is settled a second time";
    if (tried.exitAt !== undefined) return `${life} has ended`;
    // The conversation of a withdrawn dispatch does not know of the withdrawal yet.
    if (one.end !== undefined && one.end.type !== "withdrawn") return "it has ended";
    tried.settled = how;
    if (how !== "ack") one.served = true;
    this.look(one);
    return undefined;
  }

  private end(one: Followed, end: End, at: number): string | undefined {
    switch (end.type) {
      case "delivered":
        return this.delivered(one, end);
      case "withdrawn":
        if (one.attempts.at(-1)?.taken === true) this.states.add("withdrawn at work");
        return one.withdrawn ? undefined : "nobody has withdrawn it";
      case "failed":
        return this.told(one, end) ?? this.failed(one, end, at);
      default:
        return end satisfies never;
    }
  }

  private delivered(one: Followed, end: End & { readonly type: "delivered" }): string | undefined {
    const { attempts } = one;
    const last = attempts.at(-1);
    if (last === undefined) return "nobody has had it";
    if (last.handoffMs === undefined && last.settled !== "ack") return "nobody has acknowledged it";
    const until = last.chosenAt + (last.handoffMs ?? 0);
    if (last.handoffMs !== undefined && (last.exitAt ?? until) < until)
      return `${last.life} has not lived to take it`;
    if ((one.closed?.at ?? until) < until) return "its hand-off window is not over";
    if (last.life !== end.life || last.id !== end.to) return `${last.life} has acknowledged it`;
    if (attempts.length !== end.attempts) return `it took ${attempts.length} attempts`;
    const before = attempts.slice(0, -1);
    const failed = before.map(({ id }) => id);
    if (!same(failed, end.reroutedFrom)) return `it was re-routed from ${failed.join(", ") || "nobody"}`;
    const exits = before.filter(({ exitAt }) => exitAt !== undefined);
    if (
      !same(
        exits.map(({ id }) => id),
        end.timings.map(({ consumer }) => consumer),
      )
    )
      return `those that ended are ${exits.map(({ id }) => id).join(", ")}`;
    for (const [i, { exitAt, reroutedAt }] of end.timings.entries()) {
      const exit = exits[i] as Attempt;
      const next = attempts[exit.number] as Attempt;
      if (exitAt < (exit.exitAt as number) || exitAt > reroutedAt) return `timing ${i} is before its cause`;
      if (reroutedAt !== next.chosenAt) return `timing ${i}: it was forwarded at ${next.chosenAt} ms`;
    }
    if (last.handoffMs !== undefined) this.states.add("handed off");
    if (last.handoffMs !== undefined && last.exitAt !== undefined)
      this.states.add("handed off to one that ends at once");
    if (before.length === 0) this.states.add("delivered at the first attempt");
    if (exits.length > 0) this.states.add("delivered after a crash");
    if (exits.length > 1) this.states.add("delivered after two crashes");
    if (exits.length < before.length) this.states.add("rejected, and delivered to another");
    if (before.some((tried) => endOf(tried) === "returned"))
      this.states.add("returned by one that had not come to it");
    return undefined;
  }

  /** An error tells all attempts that have ended; of the last one its conversation may not have heard yet. */
  private told(one: Followed, { history, code, why }: End & { readonly type: "failed" }): string | undefined {
    const sudden = code === "ERR_DEADLINE" || why === "died";
    const ended = one.attempts.filter((tried) => endOf(tried) !== undefined);
    const text = ended.map((tried) => `${tried.number} ${tried.id} ${endOf(tried)}`);
    const said = history.map((tried) => `${tried.attempt} ${tried.consumer} ${tried.end}`);
    if (same(text, said) || (sudden && same(text.slice(0, -1), said))) return undefined;
    return `it was tried on ${text.join(", ") || "nobody"}`;
  }

  private failed(one: Followed, end: End & { readonly type: "failed" }, at: number): string | undefined {
    const { onCrash, maxAttempts } = this.rules;
    const last = one.attempts.at(-1);
    const ended = last === undefined ? undefined : endOf(last);
    switch (end.code) {
      case "ERR_ATTEMPTS_EXHAUSTED":
        this.states.add("out of attempts");
        return this.failures(one) === maxAttempts ? undefined : `it failed ${this.failures(one)} times`;
      case "ERR_NO_CONSUMER":
        if (end.why === "waiting-full") {
          this.states.add("turned away");
          if (one.conversation === UNSEEN) return undefined;
          return (one.closed?.waiting ?? 0) < (this.rules.maxWaiting ?? Number.POSITIVE_INFINITY)
            ? "there was room to wait"
            : undefined;
        }
        this.states.add("nobody left");
        if (last !== undefined && ended === undefined) return `${last.life} has it`;
        return one.served ? "there was always somebody" : undefined;
      case "ERR_DEADLINE":
        this.states.add("past its deadline");
        if (one.undoing > 0) return "a compensation is seen through";
        if (last?.settled === "ack") this.states.add("past its deadline and acknowledged");
        return (one.closed?.at ?? at) >= one.deadline ? undefined : "its deadline is not over";
      case "ERR_REJECTED":
        return last?.settled === "reject for good" ? undefined : "nobody has rejected it for good";
      case "ERR_CONVERSATION":
        break;
      default:
        return "no such error is due";
    }
    switch (end.why) {
      case "died":
        if (last !== undefined && ended === undefined) this.states.add("its conversation died at work");
        if (one.conversation === UNSEEN) return undefined;
        return one.closed === undefined || one.closed.reason === "normal"
          ? "its conversation has not died"
          : undefined;
      case "crashed":
        this.states.add("failed by policy");
        return onCrash === "fail" && ended === "crashed" ? undefined : "nobody has crashed on it";
      case "compensated":
        this.states.add("compensated");
        return one.undone === 1 ? undefined : "nothing was undone";
      case "compensation-failed":
        this.states.add("compensation failed");
        if (onCrash !== "compensate" || ended !== "crashed") return "there was nothing to undo";
        return one.undone === 0 ? undefined : "all was undone";
      default:
        return "no such end is due";
    }
  }

  /** How many others wait, or will when their conversations begin. */
  private waiting(one: Followed): number {
    return [...this.all.values()].filter((other) => {
      const last = other.attempts.at(-1);
      const served = last !== undefined && endOf(last) === undefined;
      return other !== one && other.closed === undefined && !served;
    }).length;
  }

  unserved(): Map<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const { name, attempts, end } of this.all.values()) {
      const last = attempts.at(-1);
      if (end === undefined && (last === undefined || endOf(last) !== undefined))
        found.set(
          name,
          attempts.map(({ life }) => life),
        );
    }
    return found;
  }

  private failures(one: Followed): number {
    return one.attempts.filter((tried) => /crashed|rejected/.test(endOf(tried) ?? "")).length;
  }
}

/** How an attempt came to nothing; undefined when it has not, or not yet. */
function endOf({ settled, exitAt, taken, handoffMs }: Attempt): Tried["end"] | undefined {
  if (settled !== undefined) return settled === "ack" ? undefined : "rejected";
  if (exitAt === undefined) return undefined;
  return taken || handoffMs !== undefined ? "crashed" : "returned";
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, i) => one === b[i]);
}

/** Dispatches that have no consumer at the end of a history, and the lives that each has failed on. */
export function unserved(deeds: readonly Deed[], rules: Rules): ReadonlyMap<string, readonly string[]> {
  const judge = new Judge(rules);
  judge.read(deeds);
  return judge.unserved();
}

/** Judges a whole history, after which nothing can run any more. */
export function judgeDispatches(deeds: readonly Deed[], rules: Rules): Verdict {
  const judge = new Judge(rules);
  return { complaint: judge.read(deeds), states: judge.states };
}

// ── in a schedule ────────────────────────────────────────────────────────────────────────────────────────────────────

/** What a consumer does with one envelope. */
export type Manner =
  | "at once"
  | "after a while"
  | "twice"
  | "crash"
  | "crash after a while"
  | "acknowledge and crash"
  | "reject"
  | "reject for good";

/** Writes down what happens to the dispatches of one group, and has it judged at the end. */
export class Witness {
  readonly sim: Simulation;
  readonly system: System;
  readonly deeds: Deed[] = [];
  private readonly rules: Rules;
  private readonly views: ConsumerView[] = [];
  private readonly load = new LoadModel();
  private readonly callers = new Map<string, string[]>();
  private newest = "";

  /** Nobody follows spawns and exits, so that a dispatch has no process until it needs one. */
  private readonly unseen: boolean;

  constructor(
    sim: Simulation,
    system: System,
    rules: Rules,
    unseen: boolean = sim.choose(2, "unseen") === 1,
  ) {
    this.sim = sim;
    this.system = system;
    this.rules = rules;
    this.unseen = unseen;
    if (!unseen) {
      system.events.on("spawn", ({ pid }) => {
        this.newest = sim.path(pid);
      });
      system.events.on("exit", ({ pid, reason }) => this.exited(pid, reason));
    }
    sim.finally("each dispatch ends once, and its outcome says what happened", () => {
      const { complaint, states } = judgeDispatches(this.deeds, rules);
      for (const state of states) sim.sometimes(state);
      return complaint;
    });
  }

  private exited(pid: Pid<never>, reason: ExitReason): void {
    const who = this.sim.path(pid);
    for (const dispatch of this.callers.get(who) ?? []) this.note({ what: "withdraw", dispatch });
    this.note({ what: "exit", who, reason: formatReason(reason) });
  }

  /** Writes down the end of this process, if nobody follows the ends of all. */
  private follow(pid: Pid<never>): void {
    if (!this.unseen) return;
    const lost = (error: Error): void => {
      throw error;
    };
    this.system.kernel.links.watch(pid as Pid, (reason) => this.exited(pid, reason), lost);
  }

  note(event: Event): void {
    this.load.note(event);
    this.deeds.push({ ...event, at: this.sim.now });
  }

  /**
   * The routing function `route`, with its choices written down. The payload of an envelope is the dispatch's name.
   *
   * @param handoffMs - the hand-off window, when the consumers cannot acknowledge
   */
  watched(route: RoutingFunction<string>, handoffMs?: number): RoutingFunction<string> {
    const watched: RoutingFunction<string> = (envelope, consumers, context) => {
      const chosen = route(envelope, consumers, context);
      const view = typeof chosen === "string" ? consumers.find(({ id }) => id === chosen) : chosen;
      if (view?.pressure === "accept") {
        const life = this.sim.path(view.pid);
        const chose = { what: "choose", dispatch: envelope.payload, life, id: view.id } as const;
        this.note(handoffMs === undefined ? chose : { ...chose, handoffMs });
      }
      return chosen;
    };
    // Such a function needs no process to run in.
    if (this.unseen)
      Object.defineProperties(watched, { isTrusted: { value: true }, isPure: { value: true } });
    return watched;
  }

  /** Has a consumer join, and its limits looked after from here on. */
  join(group: ConsumerGroup<string>, pid: Pid<never>, options: JoinOptions & { readonly id: string }): void {
    this.note({ what: "join", life: this.sim.path(pid), id: options.id });
    this.follow(pid);
    this.views.push(group.join(pid, options));
  }

  /** Whether a process whose path begins like this has ended with that reason. */
  ended(path: string, reason: string): boolean {
    return this.deeds.some(
      (deed) => deed.what === "exit" && deed.who.startsWith(path) && deed.reason === reason,
    );
  }

  leave(group: ConsumerGroup<string>, id: string): void {
    const { pid } = group.consumers.find((one) => one.id === id) ?? {};
    if (pid === undefined || !group.leave(id)) return;
    this.note({ what: "leave", life: this.sim.path(pid) });
  }

  /** No consumer exceeds its limit; at the end nothing is in flight and no dispatch waits. */
  guard(group: ConsumerGroup<string>): void {
    const { sim, system, views, rules } = this;
    const { maxWaiting = Number.POSITIVE_INFINITY } = rules;
    sim.monitor.always(
      "no more dispatches wait than the limit",
      () => group.waitingCount >= 0 && group.waitingCount <= maxWaiting,
    );
    sim.monitor.always("no consumer has more in flight than its limit", () => {
      const wrong = views.find(({ inFlight, maxInFlight }) => inFlight < 0 || inFlight > maxInFlight);
      return wrong === undefined ? undefined : `${wrong.id} has ${wrong.inFlight} in flight`;
    });
    sim.finally("no consumer has anything in flight", () => {
      const wrong = views.find(({ inFlight }) => inFlight !== 0);
      return wrong === undefined ? undefined : `${wrong.id} has ${wrong.inFlight} in flight`;
    });
    sim.finally("no dispatch waits", () => group.waitingCount === 0);
    sim.finally(
      "no conversation is left",
      () => !system.processes().some(({ label }) => label === "dispatch"),
    );
    sim.finally("no timer is left", () => system.kernel.pendingTimers === 0);
  }

  /**
   * At a moment at which nothing can run and nobody is held up: no dispatch waits while one that it would be given to
   * has room.
   *
   * @param patient - whether the routing function waits for the first one, whoever else has room
   */
  async noneWaitsInVain(group: ConsumerGroup<string>, patient: boolean): Promise<void> {
    const { sim, system } = this;
    sim.calm();
    await sim.quiet();
    const members = group.consumers.filter(({ pid }) => system.isAlive(pid));
    for (const [name, tried] of unserved(this.deeds, this.rules)) {
      const candidates = members.filter(({ pid }) => !tried.includes(sim.path(pid)));
      const wanted = patient ? candidates.slice(0, 1) : candidates;
      const idle = wanted.find(({ pressure }) => pressure === "accept");
      if (idle !== undefined) throw new Error(`${name} waits, and ${idle.id} has room`);
      sim.sometimes("all are busy");
    }
    sim.storm();
  }

  /**
   * As strict as it can be: what a living consumer has in flight is what the model of its load says. Of a dispatch whose process
   * nobody follows, the model learns the end later, with its caller.
   */
  audit(): void {
    const { sim, system, views, load } = this;
    sim.monitor.always("the number in flight is that of the jobs begun and of those that wait", () => {
      for (const { id, pid, inFlight } of views) {
        const due = load.of(sim.path(pid));
        if (this.unseen ? inFlight <= due : inFlight === due) continue;
        if (system.isAlive(pid)) return `${id} has ${inFlight} in flight, not ${due}`;
      }
      return undefined;
    });
  }

  /** Deals with an envelope as the manner is: at once, or asynchronously. */
  work(
    ctx: Context<Delivery<string>>,
    delivery: Delivery<string>,
    manner: Manner,
  ): Promise<void> | undefined {
    const { sim } = this;
    const { attempt, payload } = delivery;
    this.note({ what: "take", dispatch: payload, life: sim.path(ctx.self), attempt });
    switch (manner) {
      case "after a while":
        return sim.sleep(sim.oneOf([5, 20], "work")).then(() => this.settle(ctx, delivery, "ack"));
      case "twice":
        this.settle(ctx, delivery, "reject");
        return sim.sleep(1).then(() => this.settle(ctx, delivery, "ack"));
      case "at once":
        this.settle(ctx, delivery, "ack");
        return undefined;
      case "crash":
        throw new Error("broken");
      case "crash after a while":
        return sim.sleep(5).then(() => {
          throw new Error("broken");
        });
      case "acknowledge and crash":
        this.settle(ctx, delivery, "ack");
        throw new Error("broken");
      case "reject":
        this.settle(ctx, delivery, "reject");
        return undefined;
      case "reject for good":
        this.settle(ctx, delivery, "reject for good");
        return undefined;
      default:
        return manner satisfies never;
    }
  }

  /** Settles from the code that calls this; `ctx` is the consumer. */
  settle(
    ctx: Context<Delivery<string>>,
    delivery: Delivery<string>,
    how: (Event & { readonly what: "settle" })["how"],
  ): void {
    const { attempt, payload } = delivery;
    let counts = false;
    try {
      counts =
        how === "ack" ? delivery.ack() : delivery.reject("not me", { final: how === "reject for good" });
    } finally {
      if (counts)
        this.note({ what: "settle", dispatch: payload, life: this.sim.path(ctx.self), attempt, how });
      else this.note({ what: "settle in vain", dispatch: payload, attempt });
    }
  }

  /** Dispatches, from outside or in the name of a process, and writes down how that ends. */
  async dispatch(
    name: string,
    group: ConsumerGroup<string>,
    options: DispatchOptions<string> = {},
    from?: Context<never>,
  ): Promise<void> {
    const deadlineMs = options.deadlineMs ?? Number.POSITIVE_INFINITY;
    const refused = from?.alive === false || options.signal?.aborted === true;
    const begin = (): Promise<Outcome<string>> =>
      from === undefined ? this.system.dispatch(group, name, options) : dispatch(from, group, name, options);
    // A dispatch without a process chooses at once.
    const early = this.unseen || refused ? undefined : begin();
    const conversation = refused ? "none" : this.unseen ? UNSEEN : this.newest;
    this.note({ what: "dispatch", dispatch: name, conversation, deadlineMs });
    const outcome = early ?? begin();
    if (refused) this.note({ what: "withdraw", dispatch: name });
    if (from !== undefined) {
      const by = this.sim.path(from.self);
      if (!this.callers.has(by)) this.follow(from.self);
      this.callers.set(by, [...(this.callers.get(by) ?? []), name]);
    }
    const end = await outcome.then(delivered(this.sim), notDelivered);
    this.note({ what: "end", dispatch: name, end });
  }
}

function delivered(sim: Simulation): (outcome: Outcome<string>) => End {
  return ({ deliveredTo, pid, attempts, reroutedFrom, rerouteTimings }) => ({
    type: "delivered",
    to: deliveredTo,
    life: sim.path(pid),
    attempts,
    reroutedFrom,
    timings: rerouteTimings.map(({ consumer, exitAt, reroutedAt }) => ({ consumer, exitAt, reroutedAt })),
  });
}

function notDelivered(error: unknown): End {
  if (!(error instanceof DispatchError)) return { type: "withdrawn" };
  const history = error.history.map(({ attempt, consumer, end }) => ({ attempt, consumer, end }));
  const why =
    error instanceof ConversationError ? error.end : error instanceof NoConsumerError ? error.why : undefined;
  return { type: "failed", code: error.code, history, ...(why === undefined ? {} : { why }) };
}
