// A model of links, monitors and exit signals: one pass over a history, with sets in place of signals on their way. A crash
// ends every process that can be reached along links; processes linked to an ended one that trap exits get its EXIT.

import { type Deed, type Heard, heardText, told } from "./support-history.js";

/** Interesting states that a history came through, for `sim.sometimes`. */
export const SIGNAL_STATES = [
  "three die together",
  "a normal end leaves a linked one alive",
  "one that traps stops the spread",
  "killed spreads along a link",
  "kill without a kill signal spreads as it is",
  "a link to the dead",
  "a link to the dead kills",
  "an EXIT is flushed",
  "an EXIT outlives its link",
  "a monitor of the dead",
  "a DOWN is flushed",
  "a DOWN outlives its monitor",
  "two monitors of one process fire",
  "two EXITs wait in one mailbox",
  "a fault strikes a linked process",
  "an end is heard after notes",
] as const;

export type SignalState = (typeof SIGNAL_STATES)[number];

export interface Verdict {
  /** The first thing that is wrong; undefined when nothing is. */
  readonly complaint: string | undefined;
  readonly states: ReadonlySet<SignalState>;
  /** For each process that is alive at the end, the processes linked to it. */
  readonly links: ReadonlyMap<number, ReadonlySet<number>>;
}

/** A signal or note that a process is to get. Those with the same `at` and sender may come in any order. */
interface Due {
  readonly at: number;
  readonly heard: Heard;
}

interface One {
  alive: boolean;
  traps: boolean;
  links: Set<number>;
  due: Due[];
}

interface Watch {
  readonly by: number;
  readonly of: number;
  active: boolean;
}

type End = Extract<Deed, { deed: "end" }>;

/** The reason of a fault names it; a kill by fault is a `killed` that no process has sent. */
const FAULT = /^(?:fault \d+|killed)$/;

class Judge {
  readonly states = new Set<SignalState>();
  readonly all = new Map<number, One>();
  private readonly watches = new Map<number, Watch>();
  private at = 0;

  read(history: readonly Deed[]): string | undefined {
    while (this.at < history.length) {
      const deed = history[this.at] as Deed;
      const begin = this.at++;
      const ends: End[] = [];
      for (let next = history[this.at]; next?.deed === "end"; next = history[++this.at]) ends.push(next);
      const complaint = deed.deed === "heard" ? this.hears(deed.who, deed.signal) : undefined;
      const wrong = complaint ?? this.dies(deed, this.cause(deed, begin), ends, begin);
      if (wrong !== undefined) return `after ${begin} deeds, when ${told(deed)}: ${wrong}`;
    }
    return undefined;
  }

  /** What is still due at the end, when nothing can run any more. */
  unheard(): string | undefined {
    for (const [who, { due }] of this.all)
      for (const one of due) return `${who} never hears ${heardText(one.heard)}`;
    return undefined;
  }

  private one(who: number): One {
    let one = this.all.get(who);
    if (one === undefined) {
      one = { alive: false, traps: false, links: new Set(), due: [] };
      this.all.set(who, one);
    }
    return one;
  }

  /** Takes in what a deed changes at once; gives the death that it means, if it means one. */
  private cause(deed: Deed, at: number): { readonly who: number; readonly reason: string } | undefined {
    switch (deed.deed) {
      case "spawn":
        this.all.set(deed.who, { alive: true, traps: deed.traps, links: new Set(), due: [] });
        return undefined;
      case "trap":
        this.one(deed.who).traps = deed.on;
        return undefined;
      case "link": {
        const { who, to } = deed;
        const [self, other] = [this.one(who), this.one(to)];
        if (who === to || self.links.has(to)) return undefined;
        if (other.alive) {
          self.links.add(to);
          other.links.add(who);
          return undefined;
        }
        this.states.add("a link to the dead");
        if (!self.traps) this.states.add("a link to the dead kills");
        return this.signalled(who, to, "noproc", at);
      }
      case "unlink": {
        const { who, from, flush } = deed;
        const self = this.one(who);
        self.links.delete(from);
        this.one(from).links.delete(who);
        const waiting = self.due.findIndex(({ heard }) => heard.kind === "exit" && heard.from === from);
        if (waiting >= 0) this.states.add(flush ? "an EXIT is flushed" : "an EXIT outlives its link");
        if (waiting >= 0 && flush) self.due.splice(waiting, 1);
        return undefined;
      }
      case "monitor": {
        const { who, of, ref } = deed;
        const active = this.one(of).alive;
        this.watches.set(ref, { by: who, of, active });
        if (!active) {
          this.states.add("a monitor of the dead");
          this.owe(who, { kind: "down", from: of, ref, reason: "noproc" }, at);
        }
        return undefined;
      }
      case "demonitor": {
        const { who, ref, flush } = deed;
        const watch = this.watches.get(ref);
        if (watch !== undefined) watch.active = false;
        const self = this.one(who);
        const waiting = self.due.findIndex(({ heard }) => heard.kind === "down" && heard.ref === ref);
        if (waiting >= 0) this.states.add(flush ? "a DOWN is flushed" : "a DOWN outlives its monitor");
        if (waiting >= 0 && flush) self.due.splice(waiting, 1);
        return undefined;
      }
      case "send":
        this.owe(deed.to, { kind: "note", from: deed.who, note: deed.note }, at);
        return undefined;
      case "signal": {
        const { who, to, reason } = deed;
        if (!this.one(to).alive) return undefined;
        if (reason === "kill") return { who: to, reason: "killed" };
        if (reason === "normal" && who !== to && !this.one(to).traps) return undefined;
        return this.signalled(to, who, reason, at);
      }
      case "stop":
        return deed;
      default:
        return undefined;
    }
  }

  private signalled(
    who: number,
    from: number,
    reason: string,
    at: number,
  ): { who: number; reason: string } | undefined {
    if (!this.one(who).traps) return { who, reason };
    this.owe(who, { kind: "exit", from, reason }, at);
    return undefined;
  }

  private owe(who: number, heard: Heard, at: number): void {
    const one = this.one(who);
    if (!one.alive) return;
    one.due.push({ at, heard });
    if (one.due.filter((due) => due.heard.kind === "exit").length === 2)
      this.states.add("two EXITs wait in one mailbox");
  }

  private hears(who: number, heard: Heard): string | undefined {
    const { alive, due } = this.one(who);
    if (!alive) return `${who} hears something though it has ended`;
    const ofSender = due.filter((one) => one.heard.from === heard.from);
    const found = ofSender.find((one) => heardText(one.heard) === heardText(heard));
    if (found === undefined) {
      const instead =
        ofSender.length === 0 ? "nothing" : ofSender.map((one) => heardText(one.heard)).join(", ");
      return `of ${heard.from} it is to hear ${instead}`;
    }
    const earlier = ofSender.find(({ at }) => at < found.at);
    if (earlier !== undefined) return `${heardText(earlier.heard)} was sent before that, and comes later`;
    if (heard.kind !== "note" && found.at > 0 && this.noted(who, heard.from))
      this.states.add("an end is heard after notes");
    if (heard.kind === "note") this.notes.add(`${heard.from} to ${who}`);
    due.splice(due.indexOf(found), 1);
    return undefined;
  }

  private readonly notes = new Set<string>();

  private noted(who: number, from: number): boolean {
    return this.notes.has(`${from} to ${who}`);
  }

  /** The processes that end at one moment: all that the first reaches along links, through those that do not trap exits. */
  private reach(first: number, reason: string): Set<number> {
    const dead = new Set([first]);
    if (reason === "normal") return dead;
    for (const who of dead) for (const to of this.one(who).links) if (!this.one(to).traps) dead.add(to);
    return dead;
  }

  private dies(
    deed: Deed,
    cause: { readonly who: number; readonly reason: string } | undefined,
    ends: readonly End[],
    at: number,
  ): string | undefined {
    const said = ends.map(({ who, reason }) => `${who} (${reason})`).join(", ") || "nobody";
    const twice = ends.find(({ who }) => !this.one(who).alive);
    if (twice !== undefined) return `${twice.who} ends a second time`;
    let first = cause;
    if (first === undefined) {
      if (ends.length === 0) return undefined;
      if (deed.deed !== "line") return `${said} ended of it, which kills nobody`;
      // A fault: the history does not say which process it struck, but everything else must follow from that.
      first = ends.find(
        ({ who, reason }) => FAULT.test(reason) && this.reach(who, reason).size === ends.length,
      );
      if (first === undefined) return `${said} ended of a fault, and nobody's end explains the others'`;
      if (ends.length > 1) this.states.add("a fault strikes a linked process");
    }
    const { reason } = first;
    const dead = this.reach(first.who, reason);
    const right =
      ends.length === dead.size && ends.every((end) => dead.has(end.who) && end.reason === reason);
    if (!right) return `${[...dead].join(", ")} should have ended, ${reason}; there ended ${said}`;
    this.remark(first.who, reason, dead);
    for (const who of dead) this.bury(who, reason, dead, at);
    return undefined;
  }

  private remark(first: number, reason: string, dead: ReadonlySet<number>): void {
    const neighbours = [...dead].flatMap((who) => [...this.one(who).links]).filter((who) => !dead.has(who));
    if (dead.size >= 3) this.states.add("three die together");
    if (reason === "normal" && neighbours.some((who) => !this.one(who).traps))
      this.states.add("a normal end leaves a linked one alive");
    if (reason !== "normal" && dead.size > 1 && neighbours.some((who) => this.one(who).traps))
      this.states.add("one that traps stops the spread");
    if (reason === "killed" && this.one(first).links.size > 0) this.states.add("killed spreads along a link");
    if (reason === "kill" && dead.size > 1) this.states.add("kill without a kill signal spreads as it is");
  }

  private bury(who: number, reason: string, dead: ReadonlySet<number>, at: number): void {
    const one = this.one(who);
    let fired = 0;
    for (const [ref, watch] of this.watches) {
      if (watch.by === who) watch.active = false;
      if (watch.of !== who || !watch.active) continue;
      watch.active = false;
      if (dead.has(watch.by)) continue;
      fired++;
      this.owe(watch.by, { kind: "down", from: who, ref, reason }, at);
    }
    if (fired > 1) this.states.add("two monitors of one process fire");
    for (const to of one.links) {
      this.one(to).links.delete(who);
      if (!dead.has(to) && this.one(to).traps) this.owe(to, { kind: "exit", from: who, reason }, at);
    }
    one.alive = false;
    one.links = new Set();
    one.due = [];
  }
}

/**
 * Judges a history of links, monitors and exit signals.
 *
 * @param atRest - nothing can run any more: whatever is due should have been heard
 */
export function judgeSignals(history: readonly Deed[], atRest: boolean): Verdict {
  const judge = new Judge();
  const complaint = judge.read(history) ?? (atRest ? judge.unheard() : undefined);
  const links = new Map([...judge.all].filter(([, one]) => one.alive).map(([who, one]) => [who, one.links]));
  return { complaint, states: judge.states, links };
}
