// Whose turn it is among the dispatches that wait.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Demand,
  decide,
  type Effect,
  type Event,
  HIGHEST_PRIORITY,
  initial,
  offerTo,
  type Slots,
  type State,
  type Takes,
} from "../../lib/dispatch/queue-machine.js";
import { sized } from "../support/proof.js";

interface Consumer extends Slots {
  readonly name: string;
  inFlight: number;
}
type D = Demand<Consumer>;
type Fx = Effect<string, Consumer>;

const BUSY = 100_000;
/** A consumer with no free slot. */
const busy = (name: string): Consumer => ({
  name,
  inFlight: BUSY,
  maxInFlight: BUSY,
  reserved: 0,
  hasLeft: false,
});

/** A queue, its consumers, and what a group does with them. */
class Queue {
  readonly ann = busy("ann");
  readonly bob = busy("bob");
  private state: State<string, Consumer>;
  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.state = initial(capacity);
  }

  get size(): number {
    return this.state.places.size;
  }

  /** Consumers with a line of their own. */
  get ownLines(): number {
    return this.state.own.size;
  }

  offerTo(dispatch: string): Consumer | undefined {
    return offerTo(this.state, dispatch);
  }

  /** The dispatches that the event wakes. */
  private after(event: Event<string, Consumer>): string[] {
    return this.effects(event).flatMap((effect) => (effect.type === "wake" ? [effect.dispatch] : []));
  }

  effects(event: Event<string, Consumer>): readonly Fx[] {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    return effects;
  }

  /** False when the dispatch is turned away. */
  enter(dispatch: string, of: Partial<D> = {}): boolean {
    return !this.effects({ type: "wait", dispatch, demand: this.demand(of) }).some(
      ({ type }) => type === "turn-away",
    );
  }

  /** The dispatch did not use its slot, and waits again. */
  decline(dispatch: string, of: Partial<D> = {}): string[] {
    return this.after({ type: "wait", dispatch, demand: this.demand(of) });
  }

  /** A slot of the consumer comes free. */
  free(consumer = this.ann): string[] {
    consumer.inFlight--;
    return this.after({ type: "freed", consumer });
  }

  /** The dispatch uses the slot that it was offered. */
  serve(dispatch: string, consumer = this.ann): string[] {
    consumer.inFlight++;
    return this.leave(dispatch);
  }

  /** The dispatch ends. */
  leave(dispatch: string): string[] {
    return this.after({ type: "leave", dispatch });
  }

  /** Frees a slot and serves whoever is woken, until nobody is. */
  served(consumer = this.ann): string[] {
    const order: string[] = [];
    for (let [next] = this.free(consumer); next !== undefined; [next] = this.free(consumer)) {
      order.push(next);
      this.serve(next, consumer);
    }
    consumer.inFlight++; // nobody wanted the last one
    expect(consumer.reserved).toBe(0);
    return order;
  }

  demand(of: Partial<D>): D {
    return { priority: 0, urgent: false, takes: "any", at: this.ann, excluded: [], ...of };
  }
}

describe("the queue of waiting dispatches", () => {
  it("serves the first that came first", () => {
    const queue = new Queue();
    for (const name of ["a", "b", "c"]) queue.enter(name);
    expect(queue.served()).toEqual(["a", "b", "c"]);
  });

  it("serves dispatches that lost a consumer before others, and a higher priority before a lower one", () => {
    const queue = new Queue();
    queue.enter("ordinary");
    queue.enter("lost", { urgent: true });
    queue.enter("also lost", { urgent: true });
    queue.enter("important", { priority: 1 });
    queue.enter("most important", { priority: HIGHEST_PRIORITY });
    expect(queue.served()).toEqual(["most important", "important", "lost", "also lost", "ordinary"]);
  });

  it("turns dispatches away beyond its capacity; one that is to choose again keeps its place", () => {
    const queue = new Queue(2);
    expect([queue.enter("a"), queue.enter("b"), queue.enter("c")]).toEqual([true, true, false]);
    queue.free();
    expect([queue.size, queue.enter("c"), queue.enter("a")]).toEqual([2, false, true]);
  });

  it("keeps the place of a dispatch that did not use its slot, and offers the slot on to those behind it", () => {
    const queue = new Queue();
    for (const name of ["a", "b", "c"]) queue.enter(name);
    expect(queue.free()).toEqual(["a"]);
    expect(queue.decline("a")).toEqual(["b"]);
    expect(queue.decline("b")).toEqual(["c"]);
    expect(queue.decline("c")).toEqual([]);
    queue.ann.inFlight++;
    expect(queue.served()).toEqual(["a", "b", "c"]);
  });

  it("offers a slot that was declined to dispatches that came meanwhile, too", () => {
    const queue = new Queue();
    for (const name of ["a", "b"]) queue.enter(name, { takes: "chooses" });
    queue.free();
    queue.enter("late and urgent", { urgent: true });
    expect(queue.decline("a")).toEqual(["b"]);
    expect(queue.decline("b")).toEqual(["late and urgent"]);
  });

  it("offers a consumer's slot to dispatches that insist on it, and to none that insists on another", () => {
    const queue = new Queue();
    const { ann, bob } = queue;
    queue.enter("for ann", { takes: "insists", at: ann });
    queue.enter("for bob", { takes: "insists", at: bob });
    queue.enter("for bob, too", { takes: "insists", at: bob });
    expect([queue.served(bob), queue.served(ann)]).toEqual([["for bob", "for bob, too"], ["for ann"]]);
  });

  it("offers no slot to a dispatch that has failed on that consumer", () => {
    const queue = new Queue();
    queue.enter("a", { excluded: [queue.ann] });
    queue.enter("b");
    expect(queue.free()).toEqual(["b"]);
  });

  it("wakes as many as a new member has slots for, and all that had no candidate", () => {
    const queue = new Queue();
    for (const name of ["a", "b", "c"]) queue.enter(name);
    queue.enter("nobody", { at: undefined });
    queue.enter("chooses", { takes: "chooses" });
    const consumer: Consumer = { name: "cem", inFlight: 0, maxInFlight: 2, reserved: 0, hasLeft: false };
    expect(queue.effects({ type: "joined", consumer })).toEqual([
      { type: "wake", dispatch: "a", offer: consumer },
      { type: "wake", dispatch: "b", offer: consumer },
      { type: "wake", dispatch: "nobody", offer: undefined },
      { type: "wake", dispatch: "chooses", offer: undefined },
    ]);
    expect(consumer.reserved).toBe(2);
  });

  it("wakes dispatches whose own choice is gone, and those without another candidate", () => {
    const queue = new Queue();
    const { ann, bob } = queue;
    queue.enter("takes any");
    queue.enter("insists", { takes: "insists" });
    queue.enter("chooses", { takes: "chooses", priority: 1 });
    queue.enter("was elsewhere", { excluded: [bob] });
    queue.enter("for bob", { takes: "chooses", at: bob });
    const woken = (isLast: boolean): string[] =>
      queue.effects({ type: "left", consumer: ann, isLast }).map(({ dispatch }) => dispatch);
    expect(woken(false)).toEqual(["chooses", "insists", "was elsewhere"]);
    for (const name of ["chooses", "insists", "was elsewhere"]) queue.leave(name);
    expect(woken(true)).toEqual(["takes any", "for bob"]);
  });

  it("offers no slot of a consumer that left: only dispatches that were offered one choose again [D44]", () => {
    const queue = new Queue();
    for (const name of ["one", "two", "three"]) queue.enter(name);
    const consumer: Consumer = { name: "cem", inFlight: 0, maxInFlight: 2, reserved: 0, hasLeft: false };
    const woken = queue.effects({ type: "joined", consumer }).map(({ dispatch }) => dispatch);
    expect(woken).toEqual(["one", "two"]);
    queue.effects({ type: "left", consumer, isLast: false });
    expect([queue.decline("one"), queue.decline("two"), queue.offerTo("three")]).toEqual([[], [], undefined]);
    expect(queue.free(consumer)).toEqual([]);
  });

  it("looks at as many places when a consumer leaves or joins as it wakes, however many wait [D44]", () => {
    const looks = (waiting: number): number => {
      let count = 0;
      const queue = new Queue();
      const watched = (of: Partial<D>): D => {
        const demand = queue.demand(of);
        const look = <K extends keyof D>(key: K): PropertyDescriptor => ({
          get: () => {
            count++;
            return demand[key];
          },
        });
        return Object.defineProperties({} as D, {
          ...{ priority: look("priority"), urgent: look("urgent"), takes: look("takes") },
          ...{ at: look("at"), excluded: look("excluded") },
        });
      };
      for (let n = 0; n < waiting; n++)
        queue.effects({ type: "wait", dispatch: `${n}`, demand: watched({}) });
      queue.effects({ type: "wait", dispatch: "insists", demand: watched({ takes: "insists" }) });
      count = 0;
      const woken = queue.effects({ type: "left", consumer: queue.ann, isLast: false });
      expect(woken.map(({ dispatch }) => dispatch)).toEqual(["insists"]);
      const consumer: Consumer = { name: "cem", inFlight: 0, maxInFlight: 3, reserved: 0, hasLeft: false };
      expect(queue.effects({ type: "joined", consumer })).toHaveLength(3);
      return count;
    };
    expect(looks(10_000)).toBe(looks(10));
  });

  it("wakes dispatches without a consumer in the order of their turn [D19]", () => {
    const queue = new Queue();
    queue.enter("ordinary", { at: undefined });
    queue.enter("lost", { at: undefined, urgent: true });
    queue.enter("important", { at: undefined, priority: 1 });
    const consumer: Consumer = { name: "cem", inFlight: 1, maxInFlight: 1, reserved: 0, hasLeft: false };
    const woken = queue.effects({ type: "joined", consumer }).map(({ dispatch }) => dispatch);
    expect(woken).toEqual(["important", "lost", "ordinary"]);
  });

  it("offers a slot that was declined in a consumer's own line to the next in turn of the common line [D19]", () => {
    const queue = new Queue();
    queue.enter("low", { takes: "chooses" });
    queue.enter("high", { takes: "chooses", priority: 1 });
    queue.enter("insists", { takes: "insists", priority: 1 });
    expect(queue.free()).toEqual(["insists"]);
    expect(queue.decline("insists", { takes: "insists", priority: 1 })).toEqual(["high"]);
    expect(queue.decline("high", { takes: "chooses", priority: 1 })).toEqual(["low"]);
  });

  it("takes a dispatch that now insists on another consumer out of the common line", () => {
    const queue = new Queue();
    queue.enter("a", { takes: "chooses" });
    queue.enter("b", { takes: "chooses" });
    queue.free();
    expect(queue.decline("a", { takes: "insists", at: queue.bob })).toEqual(["b"]);
    queue.decline("b", { takes: "chooses" });
    queue.ann.inFlight++;
    expect([queue.served(), queue.served(queue.bob)]).toEqual([["b"], ["a"]]);
  });

  it("keeps nothing of a consumer that no dispatch insists on any more", () => {
    const queue = new Queue();
    for (const name of ["a", "b"]) queue.enter(name, { takes: "insists" });
    expect(queue.ownLines).toBe(1);
    queue.leave("a");
    expect(queue.ownLines).toBe(1);
    queue.leave("b");
    expect(queue.ownLines).toBe(0);
  });

  it("knows which consumer reserves a slot for a dispatch, and ignores the end of an unknown one", () => {
    const queue = new Queue();
    queue.enter("a");
    expect([queue.offerTo("a"), queue.offerTo("unknown")]).toEqual([undefined, undefined]);
    queue.free();
    expect(queue.offerTo("a")).toBe(queue.ann);
    expect([queue.leave("unknown"), queue.size]).toEqual([[], 1]);
  });

  it("reserves a slot for the dispatch that was woken for it, until that has chosen", () => {
    const queue = new Queue();
    queue.enter("a");
    queue.free();
    expect(queue.ann.reserved).toBe(1);
    queue.leave("a");
    expect(queue.ann.reserved).toBe(0);
  });

  it("costs the same for each slot, however many wait", () => {
    // Steps, not time: each look at a place counts.
    const looks = (waiting: number): number => {
      let count = 0;
      const queue = new Queue();
      for (let n = 0; n < waiting; n++) {
        const demand = { ...queue.demand({}) };
        Object.defineProperty(demand, "excluded", {
          get: () => {
            count++;
            return [];
          },
        });
        queue.effects({ type: "wait", dispatch: String(n), demand });
      }
      expect(queue.served()).toHaveLength(waiting);
      return count;
    };
    expect(looks(10_000)).toBe(100 * looks(100));
  });
});

// A naive queue: one list, sorted anew for each slot.
interface Naive {
  readonly name: string;
  readonly demand: D;
  readonly came: number;
  woken: boolean;
  offered: Set<number>;
}

interface Slot {
  readonly of: Consumer;
  readonly n: number;
  holder: Naive | undefined;
}

type Step =
  | { readonly do: "wait"; readonly demand: Pick<D, "priority" | "urgent" | "takes">; readonly at: Name }
  | { readonly do: "free"; readonly at: Name }
  | { readonly do: "serve" | "decline"; readonly who: number }
  | { readonly do: "leave"; readonly who: number };
type Name = "ann" | "bob";

const at = fc.constantFrom<Name>("ann", "bob");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("wait" as const),
    demand: fc.record({
      priority: fc.nat({ max: 2 }),
      urgent: fc.boolean(),
      takes: fc.constantFrom<Takes>("any", "insists", "chooses"),
    }),
    at,
  }),
  fc.record({ do: fc.constant("free" as const), at }),
  fc.record({ do: fc.constantFrom("serve" as const, "decline" as const), who: fc.nat() }),
  fc.record({ do: fc.constant("leave" as const), who: fc.nat() }),
);

describe("whichever dispatches wait, slots come free and offers are declined", () => {
  it("each slot is offered to all dispatches that may take it, one at a time, in order, until one takes it [D19]", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new Queue();
        const all: Naive[] = [];
        const slots: Slot[] = [];
        let came = 0;
        const order = (a: Naive, b: Naive): number =>
          b.demand.priority - a.demand.priority ||
          Number(b.demand.urgent) - Number(a.demand.urgent) ||
          a.came - b.came;
        const eligible = (slot: Slot): Naive[] =>
          all
            .filter(({ demand: { takes, at } }) => takes !== "insists" || at === slot.of)
            .filter((one) => !one.woken && !one.offered.has(slot.n))
            .sort(order);
        const offered = (slot: Slot, woken: readonly string[], isFresh: boolean): void => {
          const may = eligible(slot);
          expect(woken.length).toBe(Math.min(1, may.length));
          slot.holder = all.find(({ name }) => name === woken[0]);
          if (slot.holder === undefined) return;
          expect(may).toContain(slot.holder);
          if (isFresh && may.every(({ demand: { takes } }) => takes !== "insists"))
            expect(slot.holder).toBe(may[0]);
          slot.holder.woken = true;
          for (const { n } of slots) if (n <= slot.n) slot.holder.offered.add(n);
        };
        const reserved = (consumer: Consumer): number =>
          slots.filter(({ of, holder }) => of === consumer && holder !== undefined).length;
        /** The dispatch has chosen. If the slot that it was offered is free, the slot is offered on. */
        const chosen = (one: Naive, decide: () => readonly string[]): void => {
          const slot = slots.find(({ holder }) => holder === one);
          const woken = decide();
          if (slot !== undefined) slot.holder = undefined;
          if (slot !== undefined && slot.of.inFlight + reserved(slot.of) < BUSY) offered(slot, woken, false);
          else expect(woken).toEqual([]);
        };
        for (const one of steps) {
          if (one.do === "wait") {
            const demand = queue.demand({ ...one.demand, at: queue[one.at] });
            const name = `d${came}`;
            all.push({ name, demand, came: came++, woken: false, offered: new Set() });
            expect(queue.enter(name, demand)).toBe(true);
          } else if (one.do === "free") {
            const slot: Slot = { of: queue[one.at], n: slots.length, holder: undefined };
            slots.push(slot);
            offered(slot, queue.free(slot.of), true);
          } else {
            const among = one.do === "leave" ? all : all.filter(({ woken }) => woken);
            const who = among[one.who % Math.max(1, among.length)];
            if (who === undefined) continue;
            const { name, demand } = who;
            if (one.do === "decline") {
              who.woken = false;
              chosen(who, () => queue.decline(name, demand));
            } else {
              const of = slots.find(({ holder }) => holder === who)?.of;
              chosen(who, () => (one.do === "serve" ? queue.serve(name, of) : queue.leave(name)));
              all.splice(all.indexOf(who), 1);
            }
          }
          for (const consumer of [queue.ann, queue.bob]) expect(consumer.reserved).toBe(reserved(consumer));
          expect(queue.size).toBe(all.length);
        }
      }),
      { numRuns: sized(300, 1 / 10, 1_000) },
    );
  });
});
