// The recipe "saga": all bookings or none, when there is no room, when an agency does not answer, and when the host is killed anywhere.

import { System, supervisor } from "signalbox";
import { flowHost, openFlowOperations } from "signalbox/flow";
import { memory } from "signalbox/store";
import { explore, flowKit } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import {
  type Agencies,
  type Kind,
  SoldOutError,
  type TripEnd,
  tripFlow,
} from "../../../examples/cookbook/saga/trip.js";

const TRIP = { id: "7", to: "Lisbon" };
const FULL = { flight: "flight-1", hotel: "hotel-1", car: "car-1" };
const ONCE = { retry: { attempts: 1 } };

/** Agencies that write down what they are asked. `answers` replaces an answer, once or always. */
function agencies(
  answers: Readonly<Record<string, () => unknown>> = {},
): Agencies & { readonly log: string[] } {
  const log: string[] = [];
  const ask = async (what: string, answer: string): Promise<string> => {
    log.push(what);
    return ((await answers[what]?.()) as string | undefined) ?? answer;
  };
  return {
    log,
    book: (kind) => ask(`book ${kind}`, `${kind}-1`),
    cancel: async (_kind, booking) => void (await ask(`cancel ${booking}`, "")),
  };
}

const throws = (error: Error) => (): never => {
  throw error;
};
const noCar = throws(new SoldOutError("no car"));

describe("a trip", () => {
  it("is booked as a whole, or given back, the last first", async () => {
    const [open, full] = [agencies(), agencies({ "book car": noCar })];
    for (const [all, end] of [[open, FULL] as const, [full, { refused: "no car" }] as const]) {
      await using kit = await flowKit({ flows: [tripFlow(all)] });
      expect(await (await kit.start(tripFlow(all), TRIP)).result()).toEqual(end);
    }
    expect(full.log).toEqual(["book flight", "book hotel", "book car", "cancel hotel-1", "cancel flight-1"]);
  });

  it("continues after a kill: finished requests are not repeated, and unanswered ones are repeated with the same key", async () => {
    const keys: string[] = [];
    let isLost = true;
    const all = agencies({ "book hotel": () => (isLost ? new Promise(() => undefined) : "hotel-1") });
    const flow = tripFlow({
      ...all,
      book: (kind, trip, key, signal) => {
        keys.push(key);
        return all.book(kind, trip, key, signal);
      },
    });
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, TRIP);
    expect(all.log).toEqual(["book flight", "book hotel"]);
    isLost = false;
    await kit.crash();
    expect(await run.result()).toEqual(FULL);
    expect(all.log).toEqual(["book flight", "book hotel", "book hotel", "book car"]);
    expect(keys[2]).toBe(keys[1]);
  });

  it("waits for a person when a booking has no answer, and cancels nothing", async () => {
    const all = agencies({ "book hotel": throws(new Error("no answer")) });
    await using kit = await flowKit({ flows: [tripFlow(all)] });
    const run = await kit.start(tripFlow(all), TRIP);
    await kit.advance("1 hour");
    expect(await run.status()).toBe("hospitalized");
    expect(all.log.filter((what) => what === "book hotel")).toHaveLength(8);
    expect(all.log.filter((what) => what.startsWith("cancel"))).toEqual([]);
  });

  it("is given back when the customer cancels it", async () => {
    const all = agencies({ "book car": () => new Promise(() => undefined) });
    await using kit = await flowKit({ flows: [tripFlow(all)] });
    const run = await kit.start(tripFlow(all), TRIP);
    await run.cancel();
    expect(await run.status()).toBe("cancelled");
    expect(all.log.slice(3)).toEqual(["cancel hotel-1", "cancel flight-1"]);
  });

  it("waits for a person when a cancellation fails, and goes on from there", async () => {
    let isDown = true;
    const hotel = (): void => (isDown ? throws(new Error("no answer"))() : undefined);
    const all = agencies({ "book car": noCar, "cancel hotel-1": hotel });
    await using system = new System({ report: false });
    const kept = new Promise<string>((resolve) => {
      system.events.on("hospital", (report) => {
        if (report.type === "observed") resolve(report.record.symptom.message);
      });
    });
    const [store, flow] = [memory(), tripFlow(all, ONCE)];
    const flows = await system.start(flowHost({ store, flows: [flow] }));
    const run = await flows.start(flow, TRIP, { id: "trip-7" });
    expect(await kept).toBe("not undone: undo book hotel");
    isDown = false;
    await using operations = await openFlowOperations(system, store);
    await operations.retry("trip-7", { from: "undo book hotel" });
    expect(await run.result()).toEqual({ refused: "no car" });
  });

  it("is whole or not there, wherever its host is killed and whichever answer is lost", async () => {
    const { schedules } = await explore(
      async (sim) => {
        const booked = new Map<string, Kind>();
        const hasCar = sim.choose(2, "car") === 1;
        const failures = [new Error("no answer")];
        const book = sim.io(
          "book",
          (kind: Kind, key: string) => {
            if (kind === "car" && !hasCar) throw new SoldOutError("no car");
            booked.set(key, kind);
            return key;
          },
          { failures },
        );
        const cancel = sim.io("cancel", (booking: string) => void booked.delete(booking), { failures });
        const trip = tripFlow({
          book: (kind, _trip, key) => book(kind, key),
          cancel: (_kind, booking) => cancel(booking),
        });
        const system = sim.system({ name: "travel" });
        const host = flowHost({ store: sim.store(), flows: [trip], name: "flows" });
        sim.calm();
        await system.start(supervisor({ label: "root", children: [{ id: "flows", start: host }] }));
        sim.storm();
        const flows = host.at(system, "flows");
        for (let end: TripEnd | undefined; end === undefined; ) {
          try {
            await flows.start(trip, TRIP, { id: "trip-7" });
            end = await flows.get<TripEnd>("trip-7").result({ timeoutMs: 600_000 });
          } catch {
            await sim.sleep(10);
          }
        }
        const kinds = [...booked.values()].join(" ");
        if (kinds !== (hasCar ? "flight hotel car" : "")) throw new Error(`booked in the end: ${kinds}`);
      },
      { schedules: 40, faults: { crash: { of: "travel/root/flows", reason: "kill" } } },
    );
    expect(schedules).toBe(40);
  });
});
