// The token that every question carries. It comes in the fragment of the URL that the service prints, which no server and no log ever
// sees; the page takes it from the address at once, so that an address which is passed on has none.

import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { takeToken } from "../model/route.js";
import { keep, kept } from "./browser.js";

const NAME = "signalbox-token";
const own: Signal<string | undefined> = signal(undefined);

export const token: ReadonlySignal<string | undefined> = own;

/** Takes the token from the address, or the one that this tab has had. Called once, before the router reads the address. */
export function beginToken(): void {
  const { token: given, rest } = takeToken(location.hash);
  if (given !== undefined) {
    history.replaceState(null, "", rest === "" ? location.pathname + location.search : rest);
    setToken(given);
  } else own.value = kept("tab", NAME);
}

export function setToken(text: string | undefined): void {
  keep("tab", NAME, text);
  own.value = text;
}
