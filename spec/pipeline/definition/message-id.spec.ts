import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ancestorsOf,
  childId,
  descendantsOf,
  hopsOf,
  sourceId,
} from "../../../lib/pipeline/definition/message-id.js";

/** Paths of descent as numbers: the model. A path comes before another one as its numbers do, and before its descendants. */
const paths = fc.array(fc.nat({ max: 2 ** 40 }), { minLength: 2, maxLength: 6 });

function idOf([source, n, ...children]: readonly number[]): string {
  return children.reduce(childId, sourceId(source as number, n as number));
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [i, n] of a.entries()) {
    const other = b[i];
    if (other === undefined) return 1;
    if (n !== other) return n < other ? -1 : 1;
  }
  return a.length - b.length;
}

describe("ids of messages", () => {
  test("name the source, the number there, and the number among the siblings at each hop", () => {
    expect(sourceId(0, 3)).toBe("10.13");
    expect(childId("10.13", 40)).toBe("10.13.214");
    expect(ancestorsOf("10.13.214.10")).toEqual(["10.13", "10.13.214"]);
    expect(hopsOf("10.13")).toBe(0);
    expect(hopsOf("10.13.214.10")).toBe(2);
  });

  test("are ordered as their paths are, and no two paths have one id", () => {
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const [left, right] = [idOf(a), idOf(b)];
        expect(left < right ? -1 : left > right ? 1 : 0).toBe(Math.sign(compare(a, b)));
      }),
    );
  });

  test("hold their ancestors, and bound their descendants", () => {
    fc.assert(
      fc.property(paths, paths, (a, b) => {
        const isBelow = b.length > a.length && a.every((n, i) => n === b[i]);
        const id = idOf(b);
        expect(ancestorsOf(id).includes(idOf(a))).toBe(isBelow);
        const { from, below } = descendantsOf(idOf(a));
        expect(id >= from && id < below).toBe(isBelow);
        expect(ancestorsOf(id)).toHaveLength(hopsOf(id));
      }),
    );
  });

  test.each([-1, 0.5, Number.NaN, 2 ** 53])("refuse %d as a number", (n) => {
    expect(() => sourceId(0, n)).toThrow("is no number of a message");
  });
});
