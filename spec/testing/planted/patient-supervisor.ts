// A supervisor that never gives up: it waits between restarts, so that there are never too many of them within its period.

import { type BodyContext, type Pid, type ReplyTo, supervisor } from "signalbox";
import type { Planted } from "./planted.js";

interface Books {
  readonly printer: Pid<ReplyTo<void>>;
  sold: number;
  paid: number;
}

/** Books one sale after another, on pages that outlive it. Does not open while the pages do not agree. */
async function till(ctx: BodyContext<never>, books: Books, wrong: boolean, opens: () => void): Promise<void> {
  if (books.sold !== books.paid) throw new Error("the books do not agree");
  opens();
  for (let sale = 0; sale < 2; sale++) {
    books.sold++;
    // A crash between two writes that belong together cannot be mended by a restart.
    if (wrong) await print(ctx, books.printer);
    books.paid++;
    if (!wrong) await print(ctx, books.printer);
  }
  await ctx.receive();
}

function print(ctx: BodyContext<never>, printer: Pid<ReplyTo<void>>): Promise<void> {
  return ctx.call(printer, (replyTo: ReplyTo<void>) => replyTo);
}

export const patientSupervisor: Planted = {
  bug: "restarts that never help",
  wrong:
    "a till that crashes between two writes cannot open again, and a backoff keeps its supervisor from giving up",
  code: "ERR_SIM_LIVENESS",
  says: "a shop that has closed opens again",
  faults: { crash: { of: "**/till" } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const system = sim.system({ name: "shop" });
    const printer = system.spawn<ReplyTo<void>>(
      { handle: (ctx, replyTo) => ctx.reply(replyTo, undefined) },
      { label: "printer" },
    );
    const books: Books = { printer, sold: 0, paid: 0 };
    let open: boolean | undefined;
    const opens = (): void => {
      open = true;
    };
    system.events.on("exit", () => {
      open = false;
    });
    await system.start(
      supervisor({
        intensity: 3,
        periodMs: 1_000,
        backoff: { minMs: 500, maxMs: 500 },
        children: [{ id: "till", start: (ctx: BodyContext<never>) => till(ctx, books, wrong, opens) }],
      }),
    );
    sim.monitor.leadsTo(
      "a shop that has closed opens again",
      () => open === false,
      () => open === true,
    );
    sim.storm();
    await sim.sleep(5);
    sim.calm();
    await sim.sleep(2_000);
  },
};
