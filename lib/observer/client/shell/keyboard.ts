// Keys of the whole page. A table that has rows to move in says so; the newest one is moved in.

import { type Signal, signal } from "@preact/signals";
import { type Command, decideKey, keysBegin } from "../model/keys.js";
import { nowMs } from "./browser.js";
import { switchTimes } from "./clock.js";
import { switchHeld } from "./feed.js";
import { go } from "./router.js";

/** What a table does for the keys. */
export interface KeyTarget {
  step(by: number): void;
  copy(): void;
}

const targets: KeyTarget[] = [];

/** Whether the help about keys is shown. */
export const isHelpShown: Signal<boolean> = signal(false);

/** Moves keys to this table. @returns what takes them away again */
export function takeKeys(target: KeyTarget): () => void {
  // The first table of a page is the one that it is about.
  targets.push(target);
  return () => {
    targets.splice(targets.indexOf(target), 1);
  };
}

/** The table that the reader is in, or the first of the page. */
export function preferKeys(target: KeyTarget): void {
  const at = targets.indexOf(target);
  if (at > 0) targets.unshift(...targets.splice(at, 1));
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.matches(
      "textarea, select, input:not([type=checkbox], [type=radio], [type=button], [type=range])",
    ));

/** Follows the keys from now on. @param letters - the pages by the letter behind `g` */
export function beginKeys(letters: () => ReadonlyMap<string, string>): void {
  let state = keysBegin;
  addEventListener("keydown", (event) => {
    const [next, command] = decideKey(state, {
      key: event.key,
      isChord: event.ctrlKey || event.altKey || event.metaKey,
      isTyping: isTyping(event.target),
      at: nowMs(),
    });
    state = next;
    if (command === undefined) return;
    const dialog = document.querySelector<HTMLDialogElement>("dialog[open]");
    if (dialog !== null) {
      // It has the keys of a form, and one that closes it.
      if (command.type === "leave") dialog.close();
      return;
    }
    if (carryOut(command, letters())) event.preventDefault();
  });
}

/** @returns whether the key did something */
function carryOut(command: Command, letters: ReadonlyMap<string, string>): boolean {
  switch (command.type) {
    case "row":
      targets[0]?.step(command.by);
      return targets.length > 0;
    case "copy":
      targets[0]?.copy();
      return targets.length > 0;
    case "search": {
      const field = document.querySelector<HTMLInputElement>("main [data-search]");
      field?.focus();
      field?.select();
      return field !== null;
    }
    case "help":
      isHelpShown.value = true;
      return true;
    case "pause":
      switchHeld();
      return true;
    case "times":
      switchTimes();
      return true;
    case "leave":
      if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
      return false;
    case "page": {
      const page = letters.get(command.letter);
      if (page !== undefined) go(page);
      return page !== undefined;
    }
    default:
      return command satisfies never;
  }
}
