// Three nodes tell each other of their consumers, over connections that come and go. The model is what the consumers themselves did: who is
// connected to whom, and which consumers are where.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decide,
  type Exchange,
  type ExchangeEvent,
  initialExchange,
  type News,
} from "../../../lib/node/groups/exchange-machine.js";

interface Consumer {
  readonly id: string;
}

const NODES = ["a", "b", "c"] as const;
const GROUPS = ["pickers", "packers"] as const;

/** The nodes, and what is under way between them. */
class Cluster {
  readonly #machines = new Map<string, Exchange<Consumer>>(NODES.map((node) => [node, initialExchange()]));
  readonly #underWay = new Map<string, News<Consumer>[]>();
  readonly #connected = new Set<string>();
  /** By node: the consumers of other nodes that are members there. */
  readonly admitted = new Map<string, Set<string>>(NODES.map((node) => [node, new Set()]));
  /** What is: the consumers of each node's groups, and the groups that there are. */
  readonly actual = new Map<string, Map<string, Set<string>>>(NODES.map((node) => [node, new Map()]));

  happen(node: string, event: ExchangeEvent<Consumer>): void {
    const [after, effects] = decide(this.#machines.get(node) as Exchange<Consumer>, event);
    this.#machines.set(node, after);
    const here = this.admitted.get(node) as Set<string>;
    for (const effect of effects) {
      if (effect.type === "tell") this.#sent(node, effect.node).push(effect.news);
      else if (effect.type === "admit") {
        const key = `${effect.node} ${effect.group} ${effect.member.id}`;
        expect(here).not.toContain(key);
        here.add(key);
      } else expect(here.delete(`${effect.node} ${effect.group} ${effect.id}`)).toBe(true);
    }
  }

  share(node: string, group: string): void {
    const groups = this.actual.get(node) as Map<string, Set<string>>;
    if (groups.has(group)) return;
    groups.set(group, new Set());
    this.happen(node, { type: "shared", group });
  }

  join(node: string, group: string, id: string): void {
    const members = this.actual.get(node)?.get(group);
    if (members === undefined || members.has(id)) return;
    members.add(id);
    this.happen(node, { type: "joined", group, member: { id } });
  }

  leave(node: string, group: string, id: string): void {
    this.actual.get(node)?.get(group)?.delete(id);
    this.happen(node, { type: "left", group, id });
  }

  connect(a: string, b: string): void {
    if (a === b || this.#connected.has(pairOf(a, b))) return;
    this.#connected.add(pairOf(a, b));
    this.happen(a, { type: "up", node: b });
    this.happen(b, { type: "up", node: a });
  }

  disconnect(a: string, b: string): void {
    if (!this.#connected.delete(pairOf(a, b))) return;
    this.#underWay.delete(`${a} ${b}`);
    this.#underWay.delete(`${b} ${a}`);
    this.happen(a, { type: "down", node: b });
    this.happen(b, { type: "down", node: a });
  }

  /** The oldest news on one way arrive. False when there are none. */
  arrive(from: string, to: string): boolean {
    const news = this.#sent(from, to).shift();
    if (news !== undefined) this.happen(to, { type: "news", node: from, news });
    return news !== undefined;
  }

  settle(): void {
    for (const from of NODES) for (const to of NODES) while (this.arrive(from, to));
  }

  /** Who has to be a member at a node, once all news have arrived. */
  expected(node: string): string[] {
    const others = NODES.filter((other) => this.#connected.has(pairOf(node, other)));
    const groups = [...(this.actual.get(node)?.keys() ?? [])];
    return others.flatMap((other) =>
      groups.flatMap((group) =>
        [...(this.actual.get(other)?.get(group) ?? [])].map((id) => `${other} ${group} ${id}`),
      ),
    );
  }

  #sent(from: string, to: string): News<Consumer>[] {
    const sent = this.#underWay.get(`${from} ${to}`) ?? [];
    this.#underWay.set(`${from} ${to}`, sent);
    return sent;
  }
}

const pairOf = (a: string, b: string): string => [a, b].sort().join(" ");

type Step = (cluster: Cluster) => void;

const node = fc.constantFrom(...NODES);
const group = fc.constantFrom(...GROUPS);
const id = fc.constantFrom("north", "south");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(node, group).map(
    ([n, g]): Step =>
      (cluster) =>
        cluster.share(n, g),
  ),
  fc.tuple(node, group, id).map(
    ([n, g, i]): Step =>
      (cluster) =>
        cluster.join(n, g, i),
  ),
  fc.tuple(node, group, id).map(
    ([n, g, i]): Step =>
      (cluster) =>
        cluster.leave(n, g, i),
  ),
  fc.tuple(node, node).map(
    ([a, b]): Step =>
      (cluster) =>
        cluster.connect(a, b),
  ),
  fc.tuple(node, node).map(
    ([a, b]): Step =>
      (cluster) =>
        cluster.disconnect(a, b),
  ),
  fc.tuple(node, node).map(
    ([a, b]): Step =>
      (cluster) =>
        void cluster.arrive(a, b),
  ),
);

describe("nodes that tell each other of their consumers", () => {
  test("agree once all news have arrived, whatever came and went [N1127]", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cluster = new Cluster();
        for (const one of steps) one(cluster);
        cluster.settle();
        for (const at of NODES)
          expect([...(cluster.admitted.get(at) ?? [])].sort()).toEqual(cluster.expected(at).sort());
      }),
    );
  });

  test("believe nothing of a node that is lost [N1127]", () => {
    const cluster = new Cluster();
    for (const at of NODES) cluster.share(at, "pickers");
    cluster.join("a", "pickers", "north");
    cluster.connect("a", "b");
    cluster.settle();
    expect([...(cluster.admitted.get("b") ?? [])]).toEqual(["a pickers north"]);
    cluster.disconnect("a", "b");
    expect([...(cluster.admitted.get("b") ?? [])]).toEqual([]);
  });
});
