// Signals cross a simulated network as the text that they would be between two machines.

import { CallTimeoutError, type Pid, type ReplyTo, type System } from "signalbox";
import { explore, type NetworkOptions, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";

class Declined extends Error {
  readonly reason: string = "funds";
}

class Order {
  readonly n = 1;
}

/** Runs once, with two systems on a network. */
async function once(
  options: NetworkOptions,
  scenario: (here: System, there: System, sim: Simulation) => Promise<void>,
): Promise<void> {
  await explore(
    async (sim) => {
      const network = sim.network(options);
      const [here, there] = ["here", "there"].map((name) => network.join(sim.system({ name })));
      await scenario(here as System, there as System, sim);
    },
    { schedules: 1 },
  );
}

const known = <M>(here: System, pid: Pid<M>, there: System): Pid<M> =>
  here.pidAt(there.address(pid)) as Pid<M>;

describe("on a simulated network", () => {
  test("a message that no wire can carry throws where it is sent, and nothing arrives [N979]", async () => {
    await once({}, async (here, there, sim) => {
      const heard: unknown[] = [];
      const office = there.spawn<unknown>({ handle: (_ctx, message) => void heard.push(message) });
      for (const message of [new Order(), { callback: () => 1 }, Symbol("s")])
        expect(() => here.send(known(here, office, there), message)).toThrow(
          expect.objectContaining({ code: "ERR_NODE_UNSENDABLE" }),
        );
      const sender = here.spawn((ctx) => ctx.send(known(here, office, there), { order: new Order() }));
      expect(await here.exited(sender)).toMatchObject({
        type: "crash",
        error: { code: "ERR_NODE_UNSENDABLE", path: "message.order" },
      });
      await sim.quiet();
      expect(heard).toEqual([]);
    });
  });

  test("a message of a timer that no wire can carry crashes the process that set it; without one it is a dead letter [N983]", async () => {
    await once({}, async (here, there, sim) => {
      const letters: unknown[] = [];
      here.events.on("deadLetter", ({ reason, error }) => letters.push(reason, error));
      const office = known(here, there.spawn<unknown>({ handle: () => undefined }), there);
      const setter = here.spawn({
        init: (ctx) => void ctx.sendAfter(office, { order: new Order() }, 5),
        handle: () => undefined,
      });
      const ended = here.exited(setter);
      here.sendAfter(office, new Order(), 10);
      await sim.sleep(20);
      expect(await ended).toMatchObject({ type: "crash", error: { path: "message.order" } });
      const error = expect.objectContaining({ code: "ERR_NODE_UNSENDABLE" });
      expect(letters).toEqual(["unsendable", error, "unsendable", error]);
    });
  });

  test("a value and an error are the receiver's own, with the class that is registered [N979]", async () => {
    await once({ errors: [Declined] }, async (here, there) => {
      interface Question {
        readonly given: readonly unknown[];
        readonly replyTo: ReplyTo<unknown>;
      }
      const echo = there.spawn<Question>({
        handle: (ctx, { given, replyTo }) => {
          expect(given[0]).toBeInstanceOf(Declined);
          ctx.reply(replyTo, given);
        },
      });
      const given = [
        new Declined("no"),
        new CallTimeoutError("clerk", 5, "taken"),
        new Map([[1n, new Date(5)]]),
      ];
      const back = (await here.call(known(here, echo, there), (replyTo: ReplyTo<unknown>) => ({
        given,
        replyTo,
      }))) as typeof given;
      expect(back).toEqual(given);
      expect(back[0]).not.toBe(given[0]);
      expect(back[0]).toBeInstanceOf(Declined);
    });
  });

  test("a message over maxBytes throws where it is sent, and wrong options are refused [N979]", async () => {
    await once({ maxBytes: 100 }, async (here, there, sim) => {
      const office = there.spawn<string>({ handle: () => undefined });
      expect(() => here.send(known(here, office, there), "x".repeat(200))).toThrow(
        expect.objectContaining({ code: "ERR_NODE_TOO_LARGE", maxBytes: 100 }),
      );
      expect(() => sim.network({ maxBytes: 0 })).toThrow("network.maxBytes");
      expect(() => sim.network({ errors: [Order as never] })).toThrow("network.errors[0]");
    });
  });
});
