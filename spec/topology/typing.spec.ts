// What the compiler knows of a topology: this file is as much a test when it is compiled as when it is run.

import { bolt, field, grouping, spout, spoutFrom, topology } from "signalbox/topology";
import { describe, expect, expectTypeOf, it } from "vitest";

interface Order {
  readonly sku: string;
  readonly n: number;
}

const orders = spoutFrom([{ sku: "tea", n: 3 }], {
  stream: "orders",
  fields: { sku: field.text, n: field.number },
});

describe("a spout's types", () => {
  it("have the id that `ack` or `fail` says, in whatever order its parts stand", () => {
    const streams = { numbers: { n: field.number } };
    spout({
      streams,
      ack: (id: number) => expectTypeOf(id).toBeNumber(),
      next: ({ emit }) => {
        emit.numbers({ n: 1 }, { id: 7 });
        // @ts-expect-error - the id is a number
        emit.numbers({ n: 1 }, { id: "7" });
      },
    });
    spout({
      streams,
      init: () => ({ left: 3 }),
      next: ({ emit }) => emit.numbers({ n: 1 }, { id: "a" }),
      ack: (id: string, { state }) =>
        expectTypeOf([id, state.left] as const).toEqualTypeOf<readonly [string, number]>(),
    });
    spout({ streams, next: ({ emit }) => emit.numbers({ n: 1 }, { id: 7 }), fail: (id: number) => void id });
    expect(streams.numbers.n.type).toBe("number");
  });
});

describe("a subscription", () => {
  it("says why a bolt cannot read a stream", () => {
    const wrong = bolt({ input: { sku: field.text, price: field.number }, execute: () => undefined });
    const other = bolt({ input: { n: field.text }, execute: () => undefined });
    const named = bolt({ inputs: { payments: { sku: field.text } }, execute: () => undefined });
    const begun = topology("shop").spout("shop", orders);
    // @ts-expect-error - cannot read shop.orders: the field price is missing
    expect(() => begun.bolt("a", wrong, { from: { "shop.orders": grouping.shuffle() } }).build()).toThrow(
      "price",
    );
    // @ts-expect-error - cannot read shop.orders: the field n is of another type
    expect(() => begun.bolt("b", other, { from: { "shop.orders": grouping.shuffle() } }).build()).toThrow(
      "text",
    );
    // @ts-expect-error - cannot read shop.orders: it reads only streams called payments
    expect(() => begun.bolt("c", named, { from: { "shop.orders": grouping.shuffle() } }).build()).toThrow(
      "payments",
    );
  });

  it("from `dead` carries the failed tuple, with its type", () => {
    const letters = bolt({
      inputs: { dead: { id: field.of<Order>(), values: field.of<Order>(), attempts: field.number } },
      execute: ({ values }) => expectTypeOf(values.values.sku).toBeString(),
    });
    const built = topology("shop")
      .spout("shop", orders)
      .bolt("letters", letters, { from: { "shop.dead": {} } })
      .build();
    expect(built.blueprint.subscriptions).toHaveLength(1);
  });

  it("to a definition that is not a bolt's is refused at once", () => {
    const begun = topology("shop").spout("shop", orders);
    expect(() => begun.bolt("a", undefined as never)).toThrow(
      "a definition that bolt() or the like has made",
    );
    expect(() => begun.bolt("a", orders as never)).toThrow("a definition that bolt() or the like has made");
    expect(() => topology("shop").spout("shop", {} as never)).toThrow(
      "a definition that spout() or the like",
    );
  });
});
