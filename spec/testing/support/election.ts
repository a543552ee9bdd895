// Five nodes elect a leader, again and again: whoever has not heard from a leader for a random time becomes a candidate of the
// next term. A wrong node that has been a leader before forgets for whom it voted as soon as it hears from the next leader, and may
// vote again in the same term. Two such nodes are needed for a second leader, so the failure comes late.

import type { Context, Pid } from "signalbox";
import type { FaultOptions, Scenario, Simulation } from "signalbox/testing";

const NODES = 5;
const MAJORITY = 3;
const HEARTBEAT_MS = 50;
/** A node waits so long for a leader, and up to as long again. */
const TIMEOUT_MS = 200;
/** A leader steps down after so many heartbeats, so that there are many elections. */
const REIGN = 2;

type Message =
  | { readonly type: "vote-for-me"; readonly term: number; readonly from: number }
  | { readonly type: "vote"; readonly term: number; readonly from: number }
  | { readonly type: "leader"; readonly term: number }
  | { readonly type: "timeout"; readonly round: number }
  | { readonly type: "beat"; readonly term: number };

export const ELECTION_FAULTS: FaultOptions = {
  delay: { of: "**/node-*", atMost: 4 },
  pause: { of: "**/node-*", atMost: 2, forMs: [100, 300] },
};

/** Who was leader in which term. */
type Book = Map<number, Set<number>>;

class Node {
  term = 0;
  votedFor: number | undefined = undefined;
  private readonly votes = new Set<number>();
  private round = 0;
  private reign = 0;
  private hasLed = false;
  private readonly me: number;
  private readonly wrong: boolean;
  private readonly book: Book;
  private readonly others: () => readonly Pid<Message>[];

  constructor(me: number, wrong: boolean, book: Book, others: () => readonly Pid<Message>[]) {
    this.me = me;
    this.wrong = wrong;
    this.book = book;
    this.others = others;
  }

  /** Waits for a leader from now on. */
  wait(ctx: Context<Message>): void {
    const ms = TIMEOUT_MS + Math.floor(ctx.random() * TIMEOUT_MS);
    ctx.sendAfter(ctx.self, { type: "timeout", round: ++this.round }, ms);
  }

  handle(ctx: Context<Message>, message: Message): void {
    if (message.type === "timeout") {
      if (message.round === this.round) this.stand(ctx);
      return;
    }
    if (message.term > this.term) this.enter(message.term);
    if (message.type === "vote-for-me") this.asked(ctx, message.term, message.from);
    else if (message.type === "vote") this.elected(ctx, message.term, message.from);
    else if (message.type === "beat") this.beat(ctx, message.term);
    else if (message.term === this.term) this.heard(ctx);
  }

  private heard(ctx: Context<Message>): void {
    if (this.wrong && this.hasLed) this.votedFor = undefined;
    this.wait(ctx);
  }

  private enter(term: number): void {
    this.term = term;
    this.votedFor = undefined;
    this.votes.clear();
  }

  private stand(ctx: Context<Message>): void {
    this.enter(this.term + 1);
    this.votedFor = this.me;
    this.votes.add(this.me);
    this.broadcast(ctx, { type: "vote-for-me", term: this.term, from: this.me });
    this.wait(ctx);
  }

  private asked(ctx: Context<Message>, term: number, from: number): void {
    if (term < this.term) return;
    if (this.votedFor !== undefined && this.votedFor !== from) return;
    this.votedFor = from;
    ctx.send(this.others()[from] as Pid<Message>, { type: "vote", term, from: this.me });
    this.wait(ctx);
  }

  private elected(ctx: Context<Message>, term: number, from: number): void {
    if (term < this.term || this.votes.has(from)) return;
    this.votes.add(from);
    if (this.votes.size !== MAJORITY) return;
    const leaders = this.book.get(term) ?? new Set();
    this.book.set(term, leaders.add(this.me));
    this.hasLed = true;
    this.reign = REIGN;
    this.beat(ctx, term);
  }

  private beat(ctx: Context<Message>, term: number): void {
    if (term !== this.term || this.reign === 0) return;
    this.reign--;
    this.broadcast(ctx, { type: "leader", term });
    if (this.reign > 0) ctx.sendAfter(ctx.self, { type: "beat", term }, HEARTBEAT_MS);
    this.wait(ctx);
  }

  private broadcast(ctx: Context<Message>, message: Message): void {
    for (const [number, pid] of this.others().entries()) if (number !== this.me) ctx.send(pid, message);
  }
}

/** Two leaders of one term are wrong. */
export function election(wrong: boolean, forMs: number): Scenario {
  return async (sim: Simulation): Promise<void> => {
    const system = sim.system({ name: "cluster" });
    const book: Book = new Map();
    const pids: Pid<Message>[] = [];
    for (let me = 0; me < NODES; me++) {
      const node = new Node(me, wrong, book, () => pids);
      pids.push(
        system.spawn<Message>(
          { init: (ctx) => node.wait(ctx), handle: (ctx, message) => node.handle(ctx, message) },
          { label: `node-${me}` },
        ),
      );
    }
    sim.monitor.always("a term has one leader", () =>
      [...book.values()].every((leaders) => leaders.size < 2),
    );
    await sim.sleep(forMs);
  };
}
