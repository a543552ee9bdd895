// What the service knows of its partners: a URL, and that a request with a known idempotency key is answered as before.

import { DeclinedError } from "./checkout.js";

/** Asks a partner. */
export type Post = <T>(path: string, body: object, idempotencyKey: string, signal: AbortSignal) => Promise<T>;

/** @throws DeclinedError when the partner refuses, Error when it does not answer as expected */
export function partnersAt(url: string): Post {
  return async <T>(path: string, body: object, idempotencyKey: string, signal: AbortSignal): Promise<T> => {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": idempotencyKey },
      body: JSON.stringify(body),
      signal,
    });
    const answer = (await response.json()) as T & { readonly error?: string };
    if (response.status === 402) throw new DeclinedError(answer.error);
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
    return answer;
  };
}
