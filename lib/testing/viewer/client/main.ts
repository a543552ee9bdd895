// Puts the page together: the diagram, the panel, and the controls that move between steps.

import type { Picture } from "../picture.js";
import { nextMatch } from "../state.js";
import { drawDiagram } from "./diagram.js";
import { part } from "./elements.js";
import { showPanel } from "./panel.js";

const FAR = 10;
const picture = JSON.parse(part<HTMLElement>("trace").textContent ?? "") as Picture;
const last = Math.max(0, picture.steps.length - 1);
const slider = part<HTMLInputElement>("slider");
const search = part<HTMLInputElement>("search");
const found = part<HTMLOutputElement>("found");
const diagram = drawDiagram(picture, (step) => go(step));
let present = last;

function go(step: number): void {
  present = Math.min(last, Math.max(0, step));
  slider.value = String(present + 1);
  slider.setAttribute("aria-valuetext", `step ${present + 1}, ${picture.steps[present]?.time ?? ""}`);
  diagram.show(present);
  showPanel(picture, present);
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

const KEYS: Readonly<Record<string, () => void>> = {
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

slider.max = String(last + 1);
slider.addEventListener("input", () => go(Number(slider.value) - 1));
const controls = {
  first: () => go(0),
  back: () => go(present - 1),
  on: () => go(present + 1),
  end: () => go(last),
};
for (const [id, act] of Object.entries(controls)) part<HTMLButtonElement>(id).addEventListener("click", act);
search.addEventListener("keydown", (event) => {
  if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
  if (event.key === "Escape") search.blur();
});
document.addEventListener("keydown", (event) => {
  const act = KEYS[event.key];
  const { target } = event;
  const typing = target instanceof HTMLInputElement;
  if (act === undefined || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
  if (target instanceof HTMLButtonElement && target.classList.contains("step")) diagram.focus(present);
});
go(last);
