// Who answers: the greeting of the server. Until it has come, the page asks for a token or waits.

import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { KnownStores } from "../model/stores.js";
import { AskError, post } from "./api.js";
import { later, nowMs } from "./browser.js";
import { token } from "./token.js";

/** What the operations of a page are about. A service without pipelines has no page for them. */
export type Subject = "system" | "flows" | "pipelines" | "queues";

export interface Hello {
  readonly name: string;
  readonly version: string;
  /** Whether operations that change something are allowed. */
  readonly actions: boolean;
  readonly subjects: readonly Subject[];
  readonly systems: readonly { readonly name: string; readonly id: string }[];
  /** The stores of its hosts, by the subject of their operations. */
  readonly stores: KnownStores;
  /** The time there, in milliseconds since 1970. */
  readonly now: number;
}

export type Session =
  | { readonly phase: "greeting"; readonly problem?: string }
  | { readonly phase: "token"; readonly problem?: string }
  | { readonly phase: "open"; readonly hello: Hello };

const own: Signal<Session> = signal({ phase: "greeting" });
/** Milliseconds between two greetings that got no answer. */
const AGAIN_MS = 2_000;

export const session: ReadonlySignal<Session> = own;

/** What the clock there is ahead of the clock here. */
export const clockSkew: Signal<number> = signal(0);

/** The greeting, on pages: they are shown only when there is one. */
export function useHello(): Hello {
  const now = own.value;
  if (now.phase !== "open") throw new Error("a page is shown only in an open session");
  return now.hello;
}

/** The stores of the hosts there. None before the greeting. */
export const knownStores = (): KnownStores => (own.value.phase === "open" ? own.value.hello.stores : {});

/** Greets the server whenever there is a token to try. */
export function beginSession(): void {
  effect(() => {
    const given = token.value;
    const aborted = new AbortController();
    if (given === undefined) own.value = { phase: "token" };
    else void greet(aborted.signal);
    return () => aborted.abort();
  });
}

async function greet(ended: AbortSignal): Promise<void> {
  try {
    const hello = await asked(ended);
    if (!ended.aborted) own.value = { phase: "open", hello };
  } catch (error) {
    if (!ended.aborted) failed(error as Error, ended);
  }
}

async function asked(ended?: AbortSignal): Promise<Hello> {
  const begin = nowMs();
  const hello = (await (await post("hello", {}, ended)).json()) as Hello;
  // The answer was written about in the middle.
  clockSkew.value = hello.now - (begin + nowMs()) / 2;
  return hello;
}

/** Asks again who answers: the service may have started anew, with other parts. Without an answer, the feed says what is wrong. */
export function greetAgain(): void {
  asked().then(
    (hello) => {
      own.value = { phase: "open", hello };
    },
    () => undefined,
  );
}

function failed(error: Error, ended: AbortSignal): void {
  if (error instanceof AskError && error.status === 401) {
    own.value = { phase: "token", problem: "The service does not know this token." };
    return;
  }
  own.value = { phase: "greeting", problem: error.message };
  const off = later(AGAIN_MS, () => void greet(ended));
  ended.addEventListener("abort", off, { once: true });
}

/** The server refuses the token in the middle: it has started again with another one. */
export function tokenRefused(): void {
  own.value = { phase: "token", problem: "The service has started again, with another token." };
}
