// Questions to the server. Each is a POST of JSON with the token in a header.

import { token } from "./token.js";

export type Args = Readonly<Record<string, unknown>>;

/** The server's answer was an error, or no answer came. */
export class AskError extends Error {
  override readonly name: string;
  /** The code of the error where the operation ran, such as `ERR_NO_PROCESS`. */
  readonly code: string | undefined;
  /** The status of the answer. 0: no answer came. */
  readonly status: number;

  constructor(status: number, error: { name?: string; message?: string; code?: string | undefined }) {
    super(error.message ?? `the server answered with status ${status}`);
    this.name = error.name ?? "AskError";
    this.code = error.code;
    this.status = status;
  }
}

/** Posts to the server. @throws AskError when the status is not 200 */
export async function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(`api/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token.value ?? ""}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new AskError(0, { message: "the service does not answer" });
  });
  if (response.status === 200) return response;
  const answer = (await response.json().catch(() => ({}))) as { error?: { name?: string; message?: string } };
  throw new AskError(response.status, answer.error ?? {});
}
