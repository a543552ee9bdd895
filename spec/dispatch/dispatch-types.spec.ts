// What a dispatch comes back with has the type that its group says: held by the compiler, in `npm run types`.

import {
  ConsumerGroup,
  consumer,
  type Delivery,
  dispatch,
  type Outcome,
  reject,
  System,
  type SystemOptions,
  stop,
} from "signalbox";
import { describe, expect, expectTypeOf, it } from "vitest";

interface Order {
  readonly item: string;
}

interface Receipt {
  readonly left: number;
}

const quiet: SystemOptions = { report: false };

describe("the types of a dispatch", () => {
  it("come from its group: the type of the payload, and of the reply [D42]", async () => {
    await using system = new System(quiet);
    const pickers = new ConsumerGroup<Order, Receipt>();
    const work = consumer(
      (order, delivery) => {
        expectTypeOf(order).toEqualTypeOf<Order>();
        expectTypeOf(delivery).toEqualTypeOf<Delivery<Order, Receipt>>();
        return { left: order.item.length };
      },
      { group: pickers },
    );
    system.spawn(work);
    await system.idle();
    const outcome = await system.dispatch(pickers, { item: "tea" });
    expectTypeOf(outcome).toEqualTypeOf<Outcome<Order, Receipt>>();
    expectTypeOf(outcome.reply).toEqualTypeOf<Receipt | undefined>();
    expect(outcome.reply?.left).toBe(3);
    const again = system.envelope<Order>({ item: "milk" });
    expectTypeOf(await system.dispatch(pickers, again)).toEqualTypeOf<Outcome<Order, Receipt>>();
    expect((await system.dispatch(pickers, again)).duplicate).toBe(true);
    system.spawn(async (ctx) => {
      expectTypeOf(await dispatch(ctx, pickers, again)).toEqualTypeOf<Outcome<Order, Receipt>>();
    });
    await system.idle();
  });

  it("leave the reply unknown where the group has no type for it", async () => {
    await using system = new System(quiet);
    const group = new ConsumerGroup<string>();
    system.spawn(consumer((text: string) => text.length, { group }));
    await system.idle();
    const { reply } = await system.dispatch(group, "tea");
    expectTypeOf(reply).toBeUnknown();
    expect(reply).toBe(3);
  });

  it("are compile errors where they do not fit [D42]", () => {
    const misuse = async (system: System, group: ConsumerGroup<Order, Receipt>): Promise<void> => {
      // @ts-expect-error the reply has no text
      consumer(() => "done", { group });
      // @ts-expect-error nor a promise of one
      consumer(async () => "done", { group });
      // @ts-expect-error nor one by the delivery
      consumer((_order, delivery) => void delivery.reply("done"), { group });
      // @ts-expect-error the payload is an order
      consumer((text: string) => ({ left: text.length }), { group });
      // @ts-expect-error it may have settled otherwise
      (await system.dispatch(group, { item: "tea" })).reply.left;
      // @ts-expect-error the payload is an order
      await system.dispatch(group, "tea");
      // These end without a reply, and with a no, and with one that comes later.
      consumer(() => undefined, { group });
      consumer(() => stop(), { group });
      consumer(() => reject(new Error("no")), { group });
      consumer((order) => void order.item, { group });
      consumer(async (order) => ({ left: order.item.length }), { group });
      consumer((order, delivery) => void delivery.reply({ left: order.item.length }), { group });
    };
    expect(misuse).toBeTypeOf("function");
  });
});
