// A trip is a flight, a hotel and a car, or nothing: a durable flow that books one after another, and cancels what it has booked when it
// cannot have them all.

import { defineFlow, FlowCancelledError, type FlowDefinition, type StepOptions } from "signalbox/flow";

export type Kind = "flight" | "hotel" | "car";

export interface Trip {
  readonly id: string;
  readonly to: string;
}

/** How a trip ends: the numbers of all its bookings, or the reason why there are none. */
export type TripEnd = Readonly<Record<Kind, string>> | { readonly refused: string };

/** The services of others. A request with a key that a service has seen gets the same answer, and is not done again. */
export interface Agencies {
  book(kind: Kind, trip: Trip, key: string, signal: AbortSignal): Promise<string>;
  cancel(kind: Kind, booking: string, key: string, signal: AbortSignal): Promise<void>;
}

/** A clear no: another attempt would not help, and nothing is booked. */
export class SoldOutError extends Error {
  readonly retriable = false;
}

/** Services are down now and then: some minutes of attempts, with the same key. */
const PATIENT: StepOptions = {
  retry: { attempts: 8, backoff: { minMs: 500, maxMs: 60_000 } },
  timeout: "30 s",
};

export function tripFlow(agencies: Agencies, patience: StepOptions = PATIENT): FlowDefinition<Trip, TripEnd> {
  return defineFlow(
    "trip",
    { onError: "hospital", errors: [SoldOutError] },
    async (flow, trip: Trip): Promise<TripEnd> => {
      const saga = flow.saga();
      const book = (kind: Kind): Promise<string> =>
        saga.step(
          `book ${kind}`,
          ({ idempotencyKey, signal }) => agencies.book(kind, trip, idempotencyKey, signal),
          (booking, { idempotencyKey, signal }) => agencies.cancel(kind, booking, idempotencyKey, signal),
          patience,
        );

      try {
        return { flight: await book("flight"), hotel: await book("hotel"), car: await book("car") };
      } catch (error) {
        const isCancelled = error instanceof FlowCancelledError;
        // No answer is not a no: a person finds out what became of the booking, and lets the flow try again.
        if (!(error instanceof SoldOutError || isCancelled)) throw error;
        await saga.rollback(); // a throw here brings the flow to the hospital
        if (isCancelled) throw error;
        return { refused: error.message };
      }
    },
  );
}
