import { fc, test } from "@fast-check/vitest";
import { byKey, byLabel, leastLoaded, type ProgramNode } from "signalbox/nodes";
import { describe, expect } from "vitest";

const nodes = fc.uniqueArray(
  fc.record({
    node: fc.record({ name: fc.constantFrom("a", "b"), id: fc.string({ minLength: 1 }) }),
    children: fc.nat(),
    labels: fc.dictionary(fc.constantFrom("disk", "zone"), fc.constantFrom("fast", "slow")),
    load: fc.nat(5),
  }),
  { minLength: 1, maxLength: 8, selector: ({ node }) => node.id },
);
const keys = fc.array(fc.string(), { minLength: 1, maxLength: 30 });

describe("byKey()", () => {
  const place = byKey();
  const chosen = (all: readonly ProgramNode[], key: string): string | undefined =>
    place(all, "cart", [key])?.node.id;

  test.prop([nodes, keys])(
    "moves only the keys of a node that goes, and gives one that comes only keys of its own [N1042]",
    (all, some) => {
      const [gone, ...left] = all as [ProgramNode, ...ProgramNode[]];
      if (left.length === 0) return;
      for (const key of some)
        if (chosen(all, key) !== gone.node.id) expect(chosen(left, key)).toBe(chosen(all, key));
    },
  );

  test.prop([nodes, keys])("chooses the same in whatever order the nodes came [N1042]", (all, some) => {
    for (const key of some) expect(chosen([...all].reverse(), key)).toBe(chosen(all, key));
  });

  test("spreads keys over the nodes [N1042]", () => {
    const all = ["one", "two", "three", "four"].map((id) => ({
      node: { name: "n", id },
      children: 0,
      labels: {},
      load: 0,
    }));
    const counts = new Map<string | undefined, number>();
    for (let i = 0; i < 4_000; i++) {
      const id = chosen(all, `user-${i}`);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    expect(counts.size).toBe(4);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});

describe("leastLoaded()", () => {
  test.prop([nodes])("chooses a node with the least load, the first of these [N1042]", (all) => {
    const least = Math.min(...all.map(({ load }) => load));
    expect(leastLoaded()(all, "p", [])).toBe(all.find(({ load }) => load === least));
  });
});

describe("byLabel()", () => {
  test.prop([nodes])(
    "chooses among the nodes with the label, and none where there is none [N1042]",
    (all) => {
      const able = all.filter(({ labels }) => labels.disk === "fast");
      const first = byLabel("disk", "fast", ([one]) => one);
      expect(first(all, "p", [])).toBe(able[0]);
      expect(byLabel("toString", "fast")(all, "p", [])).toBeUndefined();
    },
  );
});
