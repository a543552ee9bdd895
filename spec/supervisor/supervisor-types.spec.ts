// What a child is given is checked against what it takes: held by the compiler, which reads this file in `npm run types`.

import {
  type AnySupervisorRef,
  type BodyContext,
  type ChildSpec,
  type Context,
  type DynamicSupervisorRef,
  defineServer,
  dynamicSupervisor,
  type SupervisorRef,
  type System,
  supervisor,
  supervisorRef,
} from "signalbox";
import { describe, expect, expectTypeOf, it } from "vitest";

const Stock = defineServer({
  init: (_ctx, left: number, options?: { readonly shelves: number[] }) => ({ left, options }),
  calls: { take: (state, n: number) => (state.left -= n) },
});
const Till = defineServer({ init: (_ctx) => ({ cash: 0 }) });

describe("the types of a child", () => {
  it("come from its definition: the arguments that its `init` takes, and a body's ctx [V33]", () => {
    const Shop = supervisor({
      strategy: "rest_for_one",
      children: [
        { id: "stock", start: Stock, args: [100], restart: "transient" },
        { id: "shelves", start: Stock, args: [100, { shelves: [1, 2] }] },
        { id: "till", start: Till },
        { id: "safe", start: Till, args: [] },
        {
          id: "body",
          start: async (ctx) => {
            expectTypeOf(ctx).toEqualTypeOf<BodyContext<never>>();
            await ctx.receive();
          },
        },
        {
          id: "callbacks",
          start: { handle: (ctx) => void expectTypeOf(ctx).toEqualTypeOf<Context<never>>() },
        },
        { id: "branch", start: supervisor({ children: [{ id: "stock", start: Stock, args: [1] }] }) },
      ],
    });
    const listed: readonly ChildSpec[] = [{ id: "stock", start: Stock, args: [100] }];
    const alike = ["a", "b"].map((id): ChildSpec => ({ id, start: Till }));
    const Listed = supervisor({ children: [...listed, ...alike] });
    expectTypeOf(Shop).toEqualTypeOf(Listed);
    expect(Shop).toBeTypeOf("object");
  });

  it("may be those of a body that says which messages it receives [V33]", () => {
    const pack = async (ctx: BodyContext<"parcel" | "letter">): Promise<void> => {
      expectTypeOf(await ctx.receive()).toEqualTypeOf<"parcel" | "letter">();
    };
    const rest = async (ctx: BodyContext<never>): Promise<void> => void (await ctx.receive());
    const Packers = supervisor({
      children: [
        { id: "pack", start: pack },
        { id: "rest", start: rest },
      ],
    });
    expect([Packers, dynamicSupervisor({ child: { id: "pack", start: pack } })]).toHaveLength(2);
  });

  it("are errors where they do not fit [V33]", () => {
    const misuse = (): void => {
      // @ts-expect-error a body takes a context
      supervisor({ children: [{ id: "body", start: (left: number) => left }] });
      // @ts-expect-error the argument of init is a number
      supervisor({ children: [{ id: "stock", start: Stock, args: ["100"] }] });
      // @ts-expect-error it needs an argument
      supervisor({ children: [{ id: "stock", start: Stock }] });
      // @ts-expect-error it takes two at most
      supervisor({ children: [{ id: "stock", start: Stock, args: [1, { shelves: [] }, 3] }] });
      // @ts-expect-error shelves are numbers
      supervisor({ children: [{ id: "stock", start: Stock, args: [1, { shelves: ["a"] }] }] });
      // @ts-expect-error it takes none
      supervisor({ children: [{ id: "till", start: Till, args: [1] }] });
      // @ts-expect-error nor does a body
      supervisor({ children: [{ id: "body", start: () => undefined, args: [1] }] });
      const till = { id: "till", start: Till };
      // @ts-expect-error the second one is wrong, too
      supervisor({ children: [till, { id: "stock", start: Stock, args: [true] }] });
      // @ts-expect-error there is no such option
      supervisor({ children: [{ id: "till", start: Till, restarts: "permanent" }] });
      // @ts-expect-error a template has no arguments: startLike gives them
      dynamicSupervisor({ child: { id: "stock", start: Stock, args: [1] } });
    };
    expect(misuse).toBeTypeOf("function");
  });
});

describe("the handles of supervisors", () => {
  it("are of two types: one for named children, one for children of a template [V33]", () => {
    const use = async (system: System): Promise<void> => {
      const shop = await system.start(supervisor({}));
      expectTypeOf(shop).toEqualTypeOf<SupervisorRef>();
      await shop.startChild({ id: "stock", start: Stock, args: [1] });
      await shop.startChild({ id: "body", start: async (ctx) => void (await ctx.receive()) });
      // @ts-expect-error the argument of init is a number
      await shop.startChild({ id: "stock", start: Stock, args: ["1"] });
      // @ts-expect-error it needs an argument
      await shop.startChild({ id: "stock", start: Stock });
      // @ts-expect-error its children have names
      await shop.startLike([1]);
      // @ts-expect-error by which they are terminated
      await shop.terminateChild(shop.pid);

      const Sessions = dynamicSupervisor({ child: { id: "session", start: Stock } });
      const sessions = await system.start(Sessions);
      expectTypeOf(sessions).toExtend<
        DynamicSupervisorRef<readonly [number, { readonly shelves: number[] }?]>
      >();
      expectTypeOf(sessions).toExtend<AnySupervisorRef>();
      const pid = await sessions.startLike([7], { timeoutMs: 100 });
      await sessions.startLike([7, { shelves: [1] }]);
      if (pid !== undefined) await sessions.terminateChild(pid);
      // @ts-expect-error the argument of init is a number
      await sessions.startLike(["7"]);
      // @ts-expect-error it needs an argument
      await sessions.startLike();
      // @ts-expect-error its children have no names
      await sessions.terminateChild("session");
      // @ts-expect-error nor specs of their own
      await sessions.startChild({ id: "till", start: Till });
      const tills = await system.start(dynamicSupervisor({ child: { id: "till", start: Till } }));
      await tills.startLike();
      await tills.startLike([], { timeoutMs: 5 });

      expectTypeOf(Sessions.at(system, "sessions")).toEqualTypeOf<typeof sessions>();
      expectTypeOf(supervisor({}).at(system, shop.pid)).toEqualTypeOf<SupervisorRef>();
      expectTypeOf(supervisorRef(system, "shop")).toEqualTypeOf<SupervisorRef>();
    };
    expect(use).toBeTypeOf("function");
  });
});
