// Operations, asked for once. Where a program has several hosts of one kind, the address of the page says which one is meant.

import { addressed } from "../model/stores.js";
import { type Args, post } from "./api.js";
import { route } from "./router.js";
import { knownStores } from "./session.js";

/** Arguments with the store that the page is about. In a component, it is drawn anew when that is another one. */
export const meant = (op: string, args: Args): Args => addressed(op, args, route.value, knownStores());

/** Asks an operation that looks, once. @throws AskError */
export async function ask<T>(op: string, args: Args = {}, signal?: AbortSignal): Promise<T> {
  const response = await post("ask", { op, args: meant(op, args) }, signal);
  return ((await response.json()) as { ok: T }).ok;
}

/** Has an operation change something. The server refuses it unless it was started with `actions: true`. @throws AskError */
export function act<T = unknown>(op: string, args: Args = {}): Promise<T> {
  return ask<T>(op, args);
}
