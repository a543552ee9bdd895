// The bank and the carrier, as the shop sees them: requests that are retried, behind a circuit breaker for each. Every request
// names its order, so that a partner does what it is asked to do once.

import type { System } from "signalbox";
import { type BreakerDefinition, circuitBreaker, type Guarded, retryPolicy } from "signalbox/service";
import type { Order } from "./order.js";
import type { Paid } from "./payment.js";

/** Charges the card of an order. */
export type Charge = Guarded<[order: Order], Paid>;
/** Has a parcel fetched; resolves with its number. */
export type Ship = Guarded<[order: Order, label: string], string>;

export interface Partners {
  readonly charge: Charge;
  readonly ship: Ship;
}

/** A partner that fails half of all requests is left alone for a while. */
const breaker = (label: string): BreakerDefinition =>
  circuitBreaker({
    label,
    failureRate: 0.5,
    minimumCalls: 20,
    backoff: { minMs: 100, maxMs: 1_000 },
    timeoutMs: 2_000,
  });

export const BankBreaker: BreakerDefinition = breaker("bank");
export const CarrierBreaker: BreakerDefinition = breaker("carrier");

/** @param url - where the partners are */
export function partnersOf(system: System, url: string): Partners {
  const retry = retryPolicy({ attempts: 8, backoff: { minMs: 20, maxMs: 500 } }).local(system);
  const bank = BankBreaker.at(system, "bank breaker");
  const carrier = CarrierBreaker.at(system, "carrier breaker");
  return {
    charge: retry(
      bank(async ({ signal }, { id, card }: Order): Promise<Paid> => {
        const { receipt, declined } = await post(`${url}/charges`, id, { card }, signal);
        if (declined !== undefined) return { type: "declined", why: declined };
        if (receipt === undefined) throw new PartnerError("the bank sent no receipt");
        return { type: "paid", receipt };
      }),
    ),
    ship: retry(
      carrier(async ({ signal }, { id }: Order, label: string): Promise<string> => {
        const { parcel } = await post(`${url}/parcels`, id, { label }, signal);
        if (parcel === undefined) throw new PartnerError("the carrier sent no number");
        return parcel;
      }),
    ),
  };
}

/** A partner gave an answer that is none. */
export class PartnerError extends Error {
  override readonly name = "PartnerError";
}

async function post(
  url: string,
  id: string,
  body: object,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string | undefined>>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": id },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) throw new PartnerError(`${url} answered ${response.status}`);
  return (await response.json()) as Readonly<Record<string, string | undefined>>;
}
