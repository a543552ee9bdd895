// Values between two nodes come back as they were, or are refused where they are sent.

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { CallTimeoutError, UnknownRequestError } from "signalbox";
import { describe, expect, test } from "vitest";
import { SignalTooLargeError, UnsendableError } from "../../../lib/node/codec/errors.js";
import { nameVia } from "../../../lib/process/via.js";
import { sameGraph } from "../../host/payload/support.js";
import { sized } from "../../support/proof.js";
import { nodes } from "./support.js";

class Declined extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(`declined: ${reason}`);
    this.reason = reason;
  }
}

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

/** Values whose members may be one another: shared, and in circles. */
function tied(values: readonly unknown[], ties: readonly (readonly [number, number])[]): unknown {
  const containers = values.map((value) => [value]) as unknown[][];
  const kept = new Map<unknown, unknown>(containers.map((container, i) => [container, i]));
  for (const [from, to] of ties) {
    const [one, other] = [from, to].map((i) => containers[i % containers.length]) as [unknown[], unknown[]];
    one.push(other, { other, kept }, new Set([other]), new Error("tied", { cause: other }));
  }
  return containers;
}

describe("a value", () => {
  const anything = fc.anything({
    ...{ withBigInt: true, withBoxedValues: true, withDate: true, withMap: true, withNullPrototype: true },
    ...{ withObjectString: true, withSet: true, withSparseArray: true, withTypedArray: true },
    withUnicodeString: true,
  });

  test("of any shape comes back the same, with what it shares [N970]", () => {
    const { copyOf } = nodes();
    const ties = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(anything, { minLength: 1, maxLength: 4 }), ties, (values, pairs) => {
        // On Node 20 no invalid Date equals another.
        const isInvalid = (value: unknown): boolean => value instanceof Date && Number.isNaN(value.getTime());
        fc.pre(
          !JSON.stringify(values, (_, value) => (isBig(value) ? 0 : value))?.includes("null") ||
            !values.some(isInvalid),
        );
        const given = pairs.length === 0 ? values : tied(values, pairs);
        const back = copyOf(given);
        expect(isDeepStrictEqual(back, given)).toBe(true);
        expect(sameGraph(back, given)).toBe(true);
      }),
      { numRuns: sized(300, 1, 1_000) },
    );
  });

  const isBig = (value: unknown): boolean => typeof value === "bigint";

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["-0", -0],
    ["NaN", [Number.NaN, Number.NEGATIVE_INFINITY]],
    // biome-ignore lint/suspicious/noSparseArray: holes are kept
    ["holes", [1, , 3]],
    ["a Buffer", Buffer.from("bytes")],
    ["bytes in a Map", new Map([[{ key: 1 }, new Uint8Array([1, 255])]])],
    ["a key __proto__", JSON.parse('{"__proto__":{"polluted":1}}')],
    ["a key __proto__ beside a Date", [JSON.parse('{"__proto__":1}'), new Date(1)]],
    ["-1, which is undefined in another form", -1],
    ["an array that looks like a form", [[1, 2], 1]],
  ])("keeps what JSON would change: %s [N970]", (_, value) => {
    const back = nodes().copyOf(value);
    expect(isDeepStrictEqual(back, value)).toBe(true);
    expect(Object.is(back, value) || typeof value === "object").toBe(true);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test("is refused with its path where it is sent, if no wire can carry it [N973]", () => {
    const { encoder, there } = nodes();
    class Point {
      readonly x = 1;
    }
    const refused: readonly [unknown, string, RegExp][] = [
      [{ items: [{ callback: () => 1 }] }, "message.items[0].callback", /the function callback/],
      [Symbol("s"), "message", /Symbol\(s\)/],
      [{ at: new Point() }, "message.at", /an instance of Point/],
      [new Map([["a", Promise.resolve()]]), 'message.get("a")', /an instance of Promise/],
      [there, "message", /an instance of System/],
      [there.register, "message", /the function/],
    ];
    for (const [message, path, found] of refused) {
      const error = thrown(() =>
        encoder.encode({ type: "message", to: { node: there.node, id: 1 }, message }),
      ) as UnsendableError;
      expect(error).toBeInstanceOf(UnsendableError);
      expect(error).toMatchObject({ code: "ERR_NODE_UNSENDABLE", path });
      expect(error.found).toMatch(found);
      expect(error.message).toContain("cannot be sent to another node");
    }
  });

  test("over the limit is refused where it is sent: nothing else ends [N975]", () => {
    const { copyOf } = nodes({ maxBytes: 100 });
    expect(copyOf("x".repeat(98))).toHaveLength(98);
    for (const large of [
      "x".repeat(99),
      "é".repeat(50),
      [new Date(), "x".repeat(99)],
      new Error("x".repeat(99)),
    ]) {
      const error = thrown(() => copyOf(large)) as SignalTooLargeError;
      expect(error).toBeInstanceOf(SignalTooLargeError);
      expect(error).toMatchObject({ code: "ERR_NODE_TOO_LARGE", maxBytes: 100 });
      expect(error.bytes).toBeGreaterThan(100);
    }
    expect(() => nodes({ maxBytes: 0 })).toThrow("maxBytes");
    expect(nodes().copyOf("x".repeat(1_000_000))).toHaveLength(1_000_000);
  });
});

describe("a pid", () => {
  test("is the receiver's own for the same process, and keeps its label [N971]", () => {
    const { here, there, copyOf } = nodes();
    const clerk = here.spawn({ handle: () => undefined }, { label: "clerk" });
    const office = there.spawn({ handle: () => undefined }, { label: "office" });
    const known = here.pidAt(there.address(office));
    const back = copyOf({ clerk, again: [clerk], known, map: new Map([[clerk, known]]) });
    expect(back.known).toBe(office);
    expect(back.clerk).toBe(there.pidAt(here.address(clerk)));
    expect(back.again[0]).toBe(back.clerk);
    expect([...back.map]).toEqual([[back.clerk, office]]);
    expect(String(back.clerk)).toBe(String(clerk));
    expect(copyOf(back)).not.toBe(back);
    expect(copyOf(clerk)).toBe(back.clerk);
  });

  test("that was known without a label takes the one that comes with it; a process keeps its own [N971]", () => {
    const { here, there, copyOf, decoder } = nodes();
    const clerk = here.spawn({ handle: () => undefined }, { label: 'a "clerk" \n[0.1]' });
    const known = there.pidAt(here.address(clerk));
    expect(known.label).toBeUndefined();
    expect(copyOf(clerk)).toBe(known);
    expect(known.label).toBe(clerk.label);
    const office = there.spawn({ handle: () => undefined });
    const text = `[0,1,[["Pid",1],"1.${office.id} impostor"],1]`;
    there.address(office);
    expect(decoder.decode(text)).toMatchObject({ message: office });
    expect(office.label).toBeUndefined();
  });

  test("of a third node is that node's, for the sender and the receiver [N971]", () => {
    const { here, there, copyOf } = nodes();
    const third = nodes().here;
    const far = third.spawn({ handle: () => undefined }, { label: "far" });
    const mine = here.pidAt({ node: { ...third.node, name: 'shop "[0' }, id: far.id });
    const back = copyOf([mine]);
    expect(back[0]).toBe(there.pidAt({ node: third.node, id: far.id }));
    expect(back[0]?.node).toEqual(mine.node);
  });

  test("stands for a name: the process that has it when it is sent; without one the name is refused [N971]", () => {
    const { here, copyOf, there } = nodes();
    const address = nameVia(here.kernel, "clerk");
    expect(thrown(() => copyOf({ address }))).toMatchObject({
      code: "ERR_NODE_UNSENDABLE",
      path: "message.address",
    });
    const clerk = here.spawn({ handle: () => undefined }, { name: "clerk" });
    expect(copyOf({ address }).address).toBe(there.pidAt(here.address(clerk)));
  });
});

describe("an error", () => {
  test("comes back as its class, with stack, cause and fields: language's, library's and the user's [N972]", () => {
    const { here, copyOf, there } = nodes({ errors: [Declined] });
    const clerk = here.spawn({ handle: () => undefined });
    const inner = new RangeError("inner");
    const errors = [
      Object.assign(new TypeError("outer", { cause: inner }), { at: new Date(5), who: clerk }),
      new CallTimeoutError("clerk", 5, "taken"),
      new UnknownRequestError("call", "take", ["give"]),
      new AggregateError([inner, inner], "all"),
      new Declined("no funds"),
      new DOMException("gone", "AbortError"),
    ];
    const back = copyOf(errors);
    for (const [i, error] of errors.entries()) {
      const copy = back[i] as Error;
      expect(Object.getPrototypeOf(copy)).toBe(Object.getPrototypeOf(error));
      expect([copy.name, copy.message, copy.stack]).toEqual([error.name, error.message, error.stack]);
    }
    expect(back[0]).toMatchObject({ at: new Date(5), who: there.pidAt(here.address(clerk)) });
    expect(back[0]?.cause).toBeInstanceOf(RangeError);
    expect((back[3] as AggregateError).errors[0]).toBe(back[0]?.cause);
    expect((back[4] as Declined).reason).toBe("no funds");
  });

  test("of a class that is not registered is an Error with its name; what of it cannot be sent is a text [N972]", () => {
    const error = Object.assign(new Declined("late"), { retry: () => 1 });
    const back = nodes().copyOf(error);
    expect(Object.getPrototypeOf(back)).toBe(Error.prototype);
    expect(back).toMatchObject({ name: "Declined", message: "declined: late", reason: "late" });
    expect(back.retry).toMatch(/function/);
    expect(back.stack).toBe(error.stack);
  });
});
