// The machine of the ledger: one property for each line of its proof, and counts against a model written another way.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type LedgerEvent,
  type LedgerState,
  type OfLetter,
  type Taken,
} from "../../../lib/pipeline/ledger/ledger-machine.js";
import { sized } from "../../support/proof.js";

/** What a host does: numbers choose among what there is, now and long ago. */
interface Move {
  readonly what:
    | ("take" | "source" | "close" | "settle" | "dead" | "emit" | "return" | "due" | "end")
    | ("give up" | "move")
    | OfLetter["type"];
  readonly which: number;
  readonly count: number;
  /** Uses what was true earlier: an old epoch, or a message that was settled. */
  readonly stale: boolean;
}

const move: fc.Arbitrary<Move> = fc.record({
  what: fc.constantFrom(
    ...([
      "take",
      "take",
      "take",
      "source",
      "close",
      "settle",
      "settle",
      "dead",
      "emit",
      "return",
      "due",
      "give up",
      "move",
      "put back",
      "put back",
      "drop",
      "hand over",
    ] as const),
  ),
  which: fc.nat(20),
  count: fc.nat(3),
  stale: fc.boolean(),
});
const moves = fc
  .tuple(fc.array(move, { maxLength: 60 }), fc.boolean())
  .map(([all, ends]): Move[] =>
    ends ? [...all, { what: "end", which: 0, count: 0, stale: false }, ...all.slice(0, 5)] : all,
  );

/** The whole past, from which everything can be counted anew. */
class Past {
  readonly state: LedgerState;
  readonly taken: Taken[] = [];
  readonly accepted: LedgerEvent[] = [];
  readonly ends: string[] = [];
  endedAt: number | undefined;
  made = 0;
  reopened = 0;

  readonly sources: readonly string[];

  constructor(sources: readonly string[]) {
    this.sources = sources;
    this.state = initial(sources, [{ id: "first", queue: "q" }]);
  }

  play({ what, which, count, stale }: Move): void {
    const event = this.#event(what, which, count, stale);
    if (event === undefined) return;
    const before = snapshot(this.state);
    const [, effects] = decide(this.state, event);
    if (effects.some(({ type }) => type === "refused")) {
      expect(snapshot(this.state)).toEqual(before);
      return;
    }
    // Behind the end, people may do something with dead letters.
    if (!LETTER_STEPS.has(event.type)) expect(this.endedAt).toBeUndefined();
    this.accepted.push(event);
    if (event.type === "take")
      this.taken.push({ id: event.id, epoch: this.state.live.get(event.id)?.epoch as number });
    for (const effect of effects)
      if (effect.type === "ended") {
        this.ends.push(effect.as);
        this.endedAt = this.accepted.length;
      } else if (effect.type === "reopened") {
        expect(this.ends.at(-1)).toBe("completed");
        this.endedAt = undefined;
        this.reopened++;
      }
  }

  #event(what: Move["what"], which: number, count: number, stale: boolean): LedgerEvent | undefined {
    const { live, open, letters } = this.state;
    const pick = <T>(all: readonly T[]): T | undefined => all[which % Math.max(1, all.length)];
    const now = [...live.values()].filter((one) => one.state === "taken");
    const one = stale ? pick(this.taken) : pick(now);
    const children = Array.from({ length: count }, (_, i) => ({
      id: stale && i === 0 ? "first" : `m${this.made++}`,
      queue: "q",
    }));
    const source = which % 2 === 0 ? "s" : "t";
    switch (what) {
      case "take": {
        const id = pick([...live.keys()]);
        return id === undefined ? undefined : { type: "take", id };
      }
      case "source":
        return {
          type: "source",
          source,
          from: (open.get(source) ?? 0) + (stale ? 1 : 0),
          messages: children,
        };
      case "close":
        return { type: "close", source };
      case "settle":
      case "dead":
        return one && { type: "settle", taken: one, children, dead: what === "dead" };
      case "emit":
        return one && { type: "emit", taken: [one, one, ...now.slice(0, 2)], children };
      case "return":
        return one && { type: "return", taken: one, delayed: count > 1 };
      case "due": {
        const id = pick([...live.keys()]);
        return id === undefined ? undefined : { type: "due", id };
      }
      case "give up": {
        const ids = stale && one !== undefined ? [one.id] : [...live.keys()].slice(which, which + count);
        return { type: "give up", ids: [...ids, ...ids], source: which === 1 ? source : undefined };
      }
      case "move": {
        const ids = stale && one !== undefined ? [one.id] : [...live.keys()].slice(which, which + count);
        return { type: "move", ids, to: "r" };
      }
      case "put back":
      case "drop":
      case "hand over": {
        const id = stale ? this.taken[which % Math.max(1, this.taken.length)]?.id : pick([...letters.keys()]);
        return id === undefined ? undefined : { type: what, id };
      }
      default:
        return { type: "end", as: "cancelled" };
    }
  }
}

const LETTER_STEPS: ReadonlySet<string> = new Set<OfLetter["type"]>(["put back", "drop", "hand over"]);

const snapshot = ({ live, settled, open, letters, ...counts }: LedgerState): unknown => ({
  live: [...live],
  letters: [...letters],
  settled: [...settled],
  open: [...open],
  ...counts,
});

/** Counts a past from its steps alone: which ids were ever made, and which have left. */
function counted(accepted: readonly LedgerEvent[], sources: readonly string[]) {
  const made = new Set(["first"]);
  const left = new Set<string>();
  let open = sources.length;
  let dead = 0;
  let dropped = 0;
  let replayed = 0;
  for (const event of accepted) {
    if (event.type === "close") open--;
    if (event.type === "give up") {
      for (const id of event.ids) left.add(id);
      dropped += new Set(event.ids).size;
      if (event.source !== undefined) open--;
    }
    if (event.type === "settle") left.add(event.taken.id);
    if (event.type === "settle" && event.dead) dead++;
    if (LETTER_STEPS.has(event.type)) dead--;
    if (event.type === "drop") dropped++;
    if (event.type === "hand over") replayed++;
    if (event.type === "put back") left.delete(event.id);
    if (event.type === "emit") for (const { id } of event.taken) left.add(id);
    if (event.type === "source") for (const { id } of event.messages) made.add(id);
    if (event.type === "settle" || event.type === "emit") for (const { id } of event.children) made.add(id);
  }
  return { pending: made.size - left.size + open, done: left.size, dead, dropped, replayed };
}

function played(all: readonly Move[], sources: readonly string[]): Past {
  const past = new Past(sources);
  for (const one of all) past.play(one);
  return past;
}

/** Whatever is live is done, or dies. */
function settleAll(state: LedgerState, dead: boolean): void {
  for (const { id, state: at } of [...state.live.values()]) {
    if (at === "delayed") decide(state, { type: "due", id });
    if (at !== "taken") decide(state, { type: "take", id });
    const epoch = state.live.get(id)?.epoch as number;
    decide(state, { type: "settle", taken: { id, epoch }, children: [], dead });
  }
}

const pasts = (check: (past: Past) => void): void =>
  fc.assert(
    fc.property(moves, fc.constantFrom(["s", "t"], []), (all, sources) => {
      const past = new Past(sources);
      for (const one of all) {
        past.play(one);
        check(past);
      }
    }),
    { numRuns: sized(300), seed: 70 },
  );

describe("the machine of a ledger", () => {
  it("has as many pending as live messages and open sources, and counts as a model does [Y3]", () => {
    pasts(({ state, accepted, sources }) => {
      expect(state.pending).toBe(state.live.size + state.open.size);
      const { pending, done, dead, dropped, replayed } = state;
      expect({ pending, done, dead, dropped, replayed }).toEqual(counted(accepted, sources));
      expect(state.letters.size).toBe(dead);
    });
  });

  it("is never complete while a message is live or a source open, and always when neither is [Y4]", () => {
    let completed = 0;
    pasts(({ state }) => {
      if (state.ended === "completed") completed++;
      if (state.ended === "completed") expect(state.live.size + state.open.size).toBe(0);
      if (state.live.size + state.open.size === 0) expect(state.ended).toBe("completed");
    });
    expect(completed).toBeGreaterThan(0);
  });

  it("ends once, and takes no step after its end; a refused step changes nothing [Y5]", () => {
    let ended = 0;
    pasts(({ ends, endedAt, accepted, state, reopened }) => {
      expect(ends.length - reopened).toBe(state.ended === undefined ? 0 : 1);
      if (endedAt === undefined) return;
      ended++;
      expect(accepted.slice(endedAt).every(({ type }) => type === "drop" || type === "hand over")).toBe(true);
    });
    expect(ended).toBeGreaterThan(0);
  });

  it("that has completed goes on when a dead letter is put back, and completes once more; one that failed does not [Y446]", () => {
    let again = 0;
    fc.assert(
      fc.property(moves, fc.boolean(), (all, diesAgain) => {
        const { state } = played(all, ["s"]);
        if (state.ended === "cancelled") return;
        decide(state, { type: "close", source: "s" });
        settleAll(state, true);
        expect(state.ended).toBe("completed");
        for (const id of [...state.letters.keys()]) {
          const { done, dead } = state;
          expect(decide(state, { type: "put back", id })[1]).toEqual([{ type: "reopened" }]);
          expect([state.pending, state.done, state.dead]).toEqual([1, done - 1, dead - 1]);
          settleAll(state, diesAgain);
          expect([state.ended, state.done, state.dead]).toEqual([
            "completed",
            done,
            dead - (diesAgain ? 0 : 1),
          ]);
          again++;
        }
      }),
      { numRuns: sized(100), seed: 446 },
    );
    expect(again).toBeGreaterThan(0);
    const state = initial([], [{ id: "a", queue: "q" }]);
    decide(state, { type: "take", id: "a" });
    decide(state, { type: "settle", taken: { id: "a", epoch: 1 }, children: [], dead: true });
    expect(decide(state, { type: "put back", id: "a" })[1]).toEqual([{ type: "reopened" }]);
    expect([state.pending, state.done, state.dead, state.ended]).toEqual([1, 0, 0, undefined]);
    expect(decide(state, { type: "put back", id: "a" })[1]).toEqual([{ type: "refused", why: "not dead" }]);
  });

  it("uses no id again", () => {
    pasts(({ state }) => {
      for (const id of state.live.keys()) expect(state.settled.has(id)).toBe(false);
      expect(state.settled.size).toBe(state.done);
    });
  });

  it("lets nobody settle what people have given up or moved, as it was taken before [Y460]", () => {
    let late = 0;
    pasts(({ state, taken, accepted }) => {
      const last = accepted.at(-1);
      if (state.ended !== undefined || (last?.type !== "give up" && last?.type !== "move")) return;
      for (const one of taken.filter(({ id }) => last.ids.includes(id))) {
        const [, effects] = decide(state, { type: "settle", taken: one, children: [], dead: false });
        expect(effects).toEqual([{ type: "refused", why: "overtaken" }]);
        late++;
      }
    });
    expect(late).toBeGreaterThan(0);
  });

  it("counts the children of a message with its end, so that none of them is the last too early (bugs 1, 2, 3)", () => {
    const state = initial([], [{ id: "a", queue: "q" }]);
    decide(state, { type: "take", id: "a" });
    const children = [
      { id: "a.1", queue: "q" },
      { id: "a.2", queue: "q" },
    ];
    decide(state, { type: "settle", taken: { id: "a", epoch: 1 }, children, dead: false });
    decide(state, { type: "take", id: "a.1" });
    decide(state, { type: "settle", taken: { id: "a.1", epoch: 1 }, children: [], dead: false });
    expect([state.pending, state.ended]).toEqual([1, undefined]);
    decide(state, { type: "take", id: "a.2" });
    const last = decide(state, { type: "settle", taken: { id: "a.2", epoch: 1 }, children: [], dead: false });
    expect(last[1]).toEqual([{ type: "ended", as: "completed" }]);
  });

  it("refuses what was decided under an older epoch (bugs 5, 6)", () => {
    const state = initial([], [{ id: "a", queue: "q" }]);
    decide(state, { type: "take", id: "a" });
    decide(state, { type: "return", taken: { id: "a", epoch: 1 }, delayed: false });
    decide(state, { type: "take", id: "a" });
    const late = decide(state, { type: "settle", taken: { id: "a", epoch: 1 }, children: [], dead: false });
    expect(late[1]).toEqual([{ type: "refused", why: "overtaken" }]);
    expect(state.pending).toBe(1);
  });
});
