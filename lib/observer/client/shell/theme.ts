// Light, dark, or as the system of the reader has it.

import { effect, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { keep, kept } from "./browser.js";

export type Theme = "system" | "light" | "dark";

const NAME = "signalbox-theme";
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const own: Signal<Theme> = signal(themeOf(kept("browser", NAME)));

function themeOf(text: string | undefined): Theme {
  return text === "light" || text === "dark" ? text : "system";
}

export const theme: ReadonlySignal<Theme> = own;

export function switchTheme(): void {
  own.value = NEXT[own.value];
  keep("browser", NAME, own.value === "system" ? undefined : own.value);
}

export function beginTheme(): void {
  effect(() => {
    if (own.value === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", own.value);
  });
}
