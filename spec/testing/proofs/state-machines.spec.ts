// State machines under the simulator: callers, a bank and a timeout that arrive in any order.

import { type Context, WrongStateError } from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { BANK_MS, Payment } from "../../behaviour/state-machine/payment.js";
import { exhausted, explored } from "../../support/proof.js";

const OUTCOMES = ["paid", "declined", "refunded", "refused"];

/** A customer pays while others ask for refunds; the bank answers just before the machine gives it up, or too late. */
function payments(refunds: readonly number[]): (sim: Simulation) => Promise<void> {
  return async (sim) => {
    const system = sim.system();
    const payment = await system.start(Payment, 500);
    const paidBack: { readonly cents: number; readonly left: number }[] = [];
    const refund = async (ctx: Context<never>, cents: number): Promise<void> => {
      try {
        const { call } = payment.with({ from: ctx, timeoutMs: 10 * BANK_MS });
        paidBack.push({ cents, left: await call.refund({ cents }) });
        sim.sometimes("refunded");
      } catch (error) {
        if (!(error instanceof WrongStateError)) throw error;
        expect(["waiting", "declined"]).toContain(error.state);
        sim.sometimes("refused");
      }
    };
    const customers = refunds.map((cents) => system.spawn<never>((ctx) => refund(ctx, cents)));
    customers.push(
      system.spawn<never>(async (ctx) => {
        await payment.with({ from: ctx }).call.pay({ card: "4000" });
        const late = ctx.buggify("a slow bank", 0.5);
        ctx.runAfter(late ? BANK_MS + 1 : BANK_MS - 1, () => payment.cast.charged({ receipt: "r1" }));
        await ctx.receive({ timeoutMs: 2 * BANK_MS }).catch(() => undefined);
      }),
    );
    const reasons = await Promise.all(customers.map((pid) => system.exited(pid)));
    for (const { type } of reasons) expect(["normal", "noproc"]).toContain(type);
    // Handled one after the other, each refund leaves what the one before left, less its own.
    let before = 500;
    for (const { cents, left } of paidBack.toSorted((a, b) => b.left - a.left)) {
      expect(left).toBe(before - cents);
      before = left;
    }
    const status = await payment.call.status();
    if (paidBack.length > 0) expect(status).toBe("paid");
    sim.sometimes(status === "paid" ? "paid" : "declined");
  };
}

describe("a state machine, in every order of calls, casts and timeouts", () => {
  it("answers each call once, as the state says in which it is handled [B31]", async () => {
    await explored(payments([100, 50, 25]), { quick: 60, sometimes: OUTCOMES });
  });

  it("does so in all schedules of two refunds [B31]", async () => {
    expect(await exhausted(payments([100, 50]), { sometimes: OUTCOMES })).toBeGreaterThan(10);
  });
});
