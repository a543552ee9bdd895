// Commands about dead letters: they list them, and put them back, edit them, or give them up.

import type { DeadMessage } from "../../pipeline/operations/operations.js";
import { letterCommands, letterText } from "../shell/letters.js";
import { kit, type PipelinesCommands } from "./context.js";

const placeOf = ({ queue, route, adapter }: DeadMessage): string =>
  [route ?? queue, ...(adapter === undefined ? [] : [adapter])].join(" / ");

export const DEAD: PipelinesCommands = letterCommands(kit, {
  word: "ID",
  owner: "an execution",
  limit: "most letters. Default: all",
  records: "lists the letters that are no longer dead: replayed, put back or dropped, by whom, when and why",
  retry: "puts dead letters back into their queues with all attempts left; a completed execution runs again",
  hasRoutes: true,
  letters: (on, id, filter) => on.deadLetters(id, filter),
  text: (letter, context) => letterText(letter, placeOf(letter), letter.errors, context),
});
