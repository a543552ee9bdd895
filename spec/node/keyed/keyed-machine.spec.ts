// Three nodes that contend for the leases of shards, under views of the placement that differ. The model is the leases themselves.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decide,
  initial,
  type KeyedEffect,
  type KeyedEvent,
  type KeyedState,
  waitingIn,
} from "../../../lib/node/keyed/keyed-machine.js";
import { sized } from "../../support/proof.js";

type Body<E = KeyedEvent> = E extends KeyedEvent ? Omit<E, "now"> : never;

const NODES = 3;
const SHARDS = 3;
const MOST_WAITING = 2;

interface Contender {
  /** The token of the lease, while it is held. */
  token: number | undefined;
  isLeaving: boolean;
}

class Node {
  state: KeyedState = initial(SHARDS, MOST_WAITING);
  readonly contenders = new Map<number, Contender>();
  isStopped = false;
}

class World {
  readonly nodes = Array.from({ length: NODES }, () => new Node());
  /** By shard: the node that holds its lease. */
  readonly holders = new Map<number, Node>();
  readonly open = new Set<number>();
  readonly #asked = new Map<number, readonly [node: Node, shard: number]>();
  readonly saw = new Set<string>();
  #now = 0;
  #tokens = 0;
  #asks = 0;

  happen(node: Node, event: Body): void {
    const [state, effects] = decide(node.state, {
      ...event,
      now: this.#now,
    } as KeyedEvent);
    node.state = state;
    for (const effect of effects) this.#carryOut(node, effect);
    expect(waitingIn(state)).toBeLessThanOrEqual(MOST_WAITING);
    // A contender runs exactly in these phases.
    for (const [shard, { type }] of state.shards.entries())
      expect(node.contenders.has(shard)).toBe(["contending", "held", "leaving"].includes(type));
  }

  #carryOut(node: Node, effect: KeyedEffect): void {
    this.saw.add(effect.type);
    switch (effect.type) {
      case "contend":
        expect(node.contenders.has(effect.shard)).toBe(false);
        node.contenders.set(effect.shard, {
          token: undefined,
          isLeaving: false,
        });
        return;
      case "leave": {
        const contender = node.contenders.get(effect.shard) as Contender;
        expect(contender.isLeaving).toBe(false);
        contender.isLeaving = true;
        return;
      }
      case "serve":
        // Only the holder of the lease serves.
        expect(node.contenders.get(effect.shard)?.token).toBeDefined();
        expect(this.holders.get(effect.shard)).toBe(node);
        this.#answered(effect.ask);
        return;
      case "moved":
      case "busy":
        this.#answered(effect.ask);
        return;
      case "stopped":
        expect(node.contenders.size).toBe(0);
        expect(node.isStopped).toBe(false);
        node.isStopped = true;
        return;
      case "wake":
        return;
      default:
        effect satisfies never;
    }
  }

  #answered(ask: number): void {
    expect(this.open.delete(ask)).toBe(true);
  }

  ask(node: Node, shard: number): void {
    const ask = ++this.#asks;
    this.open.add(ask);
    this.#asked.set(ask, [node, shard]);
    this.happen(node, { type: "ask", ask, shard });
  }

  forget(nth: number): void {
    const ask = [...this.open][nth];
    if (ask === undefined) return;
    const [node, shard] = this.#asked.get(ask) as readonly [Node, number];
    this.open.delete(ask);
    this.happen(node, { type: "forget", ask, shard });
  }

  /** The source gives the lease to one contender, if it is free. */
  grant(node: Node, shard: number): void {
    const contender = node.contenders.get(shard);
    if (contender === undefined || contender.isLeaving || this.holders.has(shard)) return;
    this.holders.set(shard, node);
    contender.token = ++this.#tokens;
    this.happen(node, { type: "held", shard, token: contender.token });
  }

  /** What ran under the lease has ended: the lease was lost. */
  lose(node: Node, shard: number): void {
    const contender = node.contenders.get(shard);
    if (contender?.token === undefined) return;
    const { token } = contender;
    contender.token = undefined;
    this.holders.delete(shard);
    this.happen(node, { type: "vacated", shard, token });
  }

  /** The contender ends: one that was told to, or one that crashed. */
  end(node: Node, shard: number, isCrash: boolean): void {
    const contender = node.contenders.get(shard);
    if (contender === undefined || (!contender.isLeaving && !isCrash)) return;
    this.lose(node, shard);
    node.contenders.delete(shard);
    this.happen(node, { type: "ended", shard });
  }

  pass(ms: number): void {
    this.#now += ms;
    for (const node of this.nodes)
      if ((node.state.wakeAt ?? Number.POSITIVE_INFINITY) <= this.#now) this.happen(node, { type: "tick" });
  }
}

const nth = (most: number) => fc.nat({ max: most - 1 });
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("place" as const),
      node: nth(NODES),
      here: fc.array(fc.boolean(), { minLength: SHARDS, maxLength: SHARDS }),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constantFrom("grant", "lose", "end", "crash", "ask", "ask", "ask" as const),
      node: nth(NODES),
      shard: nth(SHARDS),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("forget" as const), ask: nth(4) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: nth(150) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("stop" as const), node: nth(NODES) }) },
);

describe("the shards of a node", () => {
  test("have one contender each, serve where the lease is held, answer each ask once, and come to their place in the end [N1361]", () => {
    const saw = new Set<string>();
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: "max" }), (steps) => {
        const world = new World();
        const at = (n: number): Node => world.nodes[n] as Node;
        for (const one of steps)
          switch (one.do) {
            case "place":
              world.happen(at(one.node), { type: "placed", here: one.here });
              break;
            case "grant":
              world.grant(at(one.node), one.shard);
              break;
            case "lose":
              world.lose(at(one.node), one.shard);
              break;
            case "end":
              world.end(at(one.node), one.shard, false);
              break;
            case "crash":
              world.end(at(one.node), one.shard, true);
              break;
            case "ask":
              world.ask(at(one.node), one.shard);
              break;
            case "forget":
              world.forget(one.ask);
              break;
            case "pass":
              world.pass(one.ms);
              break;
            case "stop":
              world.happen(at(one.node), { type: "stop" });
              break;
            default:
              one satisfies never;
          }
        // In the end all nodes agree on the place of each shard, and everything that was asked for ends.
        const stopping = world.nodes.filter(({ state }) => state.isStopping);
        const alive = world.nodes.filter(({ state }) => !state.isStopping);
        const placeOf = (shard: number): Node | undefined => alive[shard % Math.max(1, alive.length)];
        for (let round = 0; round < 3; round++) {
          for (const node of alive)
            world.happen(node, {
              type: "placed",
              here: [0, 1, 2].map((shard) => placeOf(shard) === node),
            });
          for (const node of world.nodes) for (let s = 0; s < SHARDS; s++) world.end(node, s, false);
          world.pass(1_000);
          for (const node of world.nodes) for (let s = 0; s < SHARDS; s++) world.grant(node, s);
        }
        for (let shard = 0; shard < SHARDS; shard++) expect(world.holders.get(shard)).toBe(placeOf(shard));
        expect(world.open.size).toBe(0);
        for (const node of stopping) expect(node.isStopped).toBe(true);
        for (const one of world.saw) saw.add(one);
      }),
      { numRuns: sized(800, 1, 300), seed: 1 },
    );
    expect([...saw].sort()).toEqual(["busy", "contend", "leave", "moved", "serve", "stopped", "wake"]);
  });

  test("wait no longer than they may, and 1,000 asks of one shard take their turn", () => {
    let [state] = decide(initial(1, 1_000), {
      type: "placed",
      here: [true],
      now: 0,
    });
    for (let ask = 0; ask < 1_000; ask++) [state] = decide(state, { type: "ask", ask, shard: 0, now: 0 });
    expect(decide(state, { type: "ask", ask: 1_000, shard: 0, now: 0 })[1]).toEqual([
      { type: "busy", ask: 1_000 },
    ]);
    const [, effects] = decide(state, {
      type: "held",
      shard: 0,
      token: 1,
      now: 0,
    });
    expect(effects.map((effect) => (effect as { readonly ask?: number }).ask)).toEqual(
      Array.from({ length: 1_000 }, (_, ask) => ask),
    );
  });
});
