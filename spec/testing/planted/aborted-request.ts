// An aborted request: the client gave up waiting for a seat and booked another, but the first request was on its way.

import type { Planted } from "./planted.js";

const PATIENCE_MS = 50;

interface Booking {
  readonly seat: string;
  readonly attempt: number;
}

export const abortedRequest: Planted = {
  bug: "aborted request that took effect",
  wrong: "a client that aborts a booking takes it for not made, and books another seat",
  code: "ERR_SIM_INVARIANT",
  says: "a guest has one seat",
  scenario: (wrong) => async (sim) => {
    const bookings: Booking[] = [];
    const book = sim.io(
      "POST /bookings",
      (booking: Booking, _init: { readonly signal: AbortSignal }) => {
        if (!wrong) {
          // A guest's later attempt replaces an earlier one, in whichever order they arrive.
          if (bookings.some(({ attempt }) => attempt > booking.attempt)) return;
          bookings.length = 0;
        }
        bookings.push(booking);
      },
      { latencyMs: [0, 100] },
    );
    const system = sim.system({ name: "theatre" });
    system.spawn(
      async (ctx) => {
        for (const [attempt, seat] of ["A1", "A2", "A3"].entries()) {
          const controller = new AbortController();
          ctx.runAfter(PATIENCE_MS, () => controller.abort());
          const booked = book({ seat, attempt }, { signal: controller.signal });
          const isBooked = await booked.then(
            () => true,
            () => false,
          );
          if (isBooked) return;
        }
      },
      { label: "guest" },
    );
    sim.monitor.always("a guest has one seat", () => bookings.length <= 1);
    await sim.sleep(1_000);
  },
};
