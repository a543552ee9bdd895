// One clock for all relative times of the page. It ticks once a second, so that they change together, and only while the page is seen.

import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { every, isHidden, keep, kept, nowMs } from "./browser.js";
import { clockSkew } from "./session.js";

const own: Signal<number> = signal(nowMs());

/** The time where the operations run, to a second. */
export const serverNow: ReadonlySignal<number> = computed(() => own.value + clockSkew.value);

const CLOCK = "signalbox-times";

/** Whether times are shown as the clock shows them, and not as distances. */
export const isAbsolute: Signal<boolean> = signal(kept("browser", CLOCK) === "absolute");

export function switchTimes(): void {
  isAbsolute.value = !isAbsolute.value;
  keep("browser", CLOCK, isAbsolute.value ? "absolute" : undefined);
}

export function beginClock(): void {
  every(1_000, () => {
    if (!isHidden()) own.value = nowMs();
  });
  document.addEventListener("visibilitychange", () => {
    own.value = nowMs();
  });
}
