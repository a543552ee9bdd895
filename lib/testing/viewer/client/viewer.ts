// A schedule that is stepped forwards and backwards, inside a document or a shadow root: the diagram, the panel, and the controls that
// move between steps. The page that a failing exploration writes and the observer's page are made of it.

import type { Picture } from "../picture.js";
import { nextMatch } from "../state.js";
import { drawDiagram } from "./diagram.js";
import { part, type Room } from "./elements.js";
import { showPanel } from "./panel.js";
import { skeleton } from "./skeleton.js";

const FAR = 10;
/** The buttons, by the keys that do the same. */
const BUTTONS = { first: "Home", back: "ArrowLeft", on: "ArrowRight", end: "End" };

/**
 * Draws the schedule, at its last step.
 *
 * @param keys - where keys are pressed that move between steps
 * @returns removes all of it
 */
export function openViewer(room: Room, picture: Picture, keys: Document | HTMLElement): () => void {
  const isPage = room instanceof Document;
  const content = skeleton(picture, isPage);
  (isPage ? room.body : room).append(...content);
  const last = Math.max(0, picture.steps.length - 1);
  const slider = part<HTMLInputElement>(room, "slider");
  const search = part<HTMLInputElement>(room, "search");
  const found = part<HTMLOutputElement>(room, "found");
  const diagram = drawDiagram(room, picture, (step) => go(step));
  let present = last;

  function go(step: number): void {
    present = Math.min(last, Math.max(0, step));
    slider.value = String(present + 1);
    slider.setAttribute("aria-valuetext", `step ${present + 1}, ${picture.steps[present]?.time ?? ""}`);
    diagram.show(present);
    showPanel(room, picture, present);
  }

  function find(direction: 1 | -1): void {
    const match = nextMatch(picture, search.value, present, direction);
    found.textContent = search.value === "" || match !== undefined ? "" : "not found";
    if (match !== undefined) go(match);
  }

  /** Goes to the next fault, or the one before. */
  function fault(direction: 1 | -1): void {
    let step = present + direction;
    while (step >= 0 && step <= last && picture.steps[step]?.fault !== true) step += direction;
    if (step >= 0 && step <= last) go(step);
  }

  const moves: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => go(present - 1),
    ArrowUp: () => go(present - 1),
    ArrowRight: () => go(present + 1),
    ArrowDown: () => go(present + 1),
    PageUp: () => go(present - FAR),
    PageDown: () => go(present + FAR),
    Home: () => go(0),
    End: () => go(last),
    f: () => fault(1),
    F: () => fault(-1),
    n: () => find(1),
    N: () => find(-1),
    "/": () => search.focus(),
  };
  const press = (event: Event): void => {
    if (pressed(event as KeyboardEvent, moves)) diagram.focus(present);
  };

  slider.max = String(last + 1);
  slider.addEventListener("input", () => go(Number(slider.value) - 1));
  for (const [id, key] of Object.entries(BUTTONS))
    part<HTMLButtonElement>(room, id).addEventListener("click", () => moves[key]?.());
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
    if (event.key === "Escape") search.blur();
  });
  keys.addEventListener("keydown", press);
  go(last);
  return () => {
    keys.removeEventListener("keydown", press);
    for (const one of content) one.remove();
  };
}

/** Makes the move of a key. @returns whether a step has the focus, which goes along */
function pressed(event: KeyboardEvent, moves: Readonly<Record<string, () => void>>): boolean {
  const { key, ctrlKey, metaKey, altKey } = event;
  const move = moves[key];
  // Outside of a shadow root, `target` would be its host.
  const [target] = event.composedPath();
  if (move === undefined || target instanceof HTMLInputElement || ctrlKey || metaKey || altKey) return false;
  event.preventDefault();
  move();
  return target instanceof HTMLButtonElement && target.classList.contains("step");
}
