// The diagram: a lane for each process, a button for each step, an arrow for each message.

import type { Arrow, Picture } from "../picture.js";
import { element, part, type Room, shape } from "./elements.js";

const ROW = 26;
/** Width of the column with the virtual time. */
const TIMES = 72;
const LEAST_LANE = 104;
const MOST_LANE = 260;

export interface Diagram {
  /** Marks a step as the present one; later ones are pale. */
  show(step: number): void;
  focus(step: number): void;
}

/** @param select - called with the step that was clicked */
export function drawDiagram(room: Room, picture: Picture, select: (step: number) => void): Diagram {
  const wide = part<HTMLElement>(room, "diagram").clientWidth - TIMES;
  const lane = Math.min(
    MOST_LANE,
    Math.max(LEAST_LANE, Math.floor(wide / Math.max(1, picture.lanes.length))),
  );
  const canvas = part<HTMLElement>(room, "canvas");
  const height = picture.steps.length * ROW;
  const width = TIMES + lane * picture.lanes.length;
  part<HTMLElement>(room, "lanes").append(...heads(picture, lane));
  part<HTMLElement>(room, "lanes").style.width = `${width}px`;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const svg = shape("svg", { width, height, "aria-hidden": "true" });
  svg.append(...lifelines(picture, lane));
  const arrows = picture.arrows.map((arrow) => ({ arrow, line: lineOf(arrow, lane) }));
  svg.append(...arrows.map(({ line }) => line));
  const buttons = picture.steps.map((_, step) => button(picture, step, lane, select));
  canvas.append(svg, ...times(picture), ...buttons);

  let present = -1;
  return {
    show(step) {
      buttons[present]?.removeAttribute("aria-current");
      buttons[present]?.setAttribute("tabindex", "-1");
      buttons[step]?.setAttribute("aria-current", "step");
      buttons[step]?.setAttribute("tabindex", "0");
      for (const [index, one] of buttons.entries()) one.classList.toggle("later", index > step);
      for (const { arrow, line } of arrows) {
        line.classList.toggle("later", arrow.from.step > step);
        line.classList.toggle("present", arrow.from.step === step || arrow.to?.step === step);
      }
      present = step;
      buttons[step]?.scrollIntoView({ block: "nearest", inline: "nearest" });
    },
    focus: (step) => buttons[step]?.focus({ preventScroll: true }),
  };
}

const middle = (lane: number, width: number): number => TIMES + lane * width + width / 2;
const row = (step: number): number => step * ROW + ROW / 2;

function heads({ lanes }: Picture, width: number): HTMLElement[] {
  return lanes.map((path, lane) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    const head = element("div", { class: "lane", title: path }, element("b", {}, name));
    if (name !== path) head.append(element("small", {}, path.slice(0, -name.length)));
    head.style.left = `${TIMES + lane * width}px`;
    head.style.width = `${width}px`;
    return head;
  });
}

/** A vertical line for each process, from its spawn to its end. */
function lifelines({ lanes, steps }: Picture, width: number): SVGElement[] {
  return lanes.map((_, lane) => {
    const begin = steps.findIndex((step) => step.spawned.includes(lane) || step.lane === lane);
    const end = steps.findIndex((step) => step.ended.includes(lane));
    const x = middle(lane, width);
    const y2 = end < 0 ? steps.length * ROW : row(end);
    return shape("line", { class: "life", x1: x, x2: x, y1: row(Math.max(0, begin)), y2 });
  });
}

/** A line from the step that sends to the step that takes. For a message that no process took, a short line toward its receiver. */
function lineOf({ letter, from, to, target, lost }: Arrow, width: number): SVGElement {
  const [x1, y1] = [middle(from.lane, width), row(from.step)];
  const x2 = middle(target, width);
  const y2 = to === undefined ? y1 + ROW : row(to.step);
  const bend = from.lane === target ? width / 3 : 0;
  const path = `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}`;
  const fate = lost ? " lost" : to === undefined ? " open" : "";
  const kind = `message${letter === undefined ? " reply" : fate}`;
  return shape("path", { class: kind, d: path, "marker-end": to === undefined ? "" : "url(#head)" });
}

/** The virtual time, where it changes. */
function times({ steps }: Picture): HTMLElement[] {
  return steps.flatMap(({ time }, step) => {
    if (time === steps[step - 1]?.time) return [];
    const label = element("div", { class: "time" }, time);
    label.style.top = `${step * ROW}px`;
    return [label];
  });
}

function button(
  { lanes, steps }: Picture,
  step: number,
  width: number,
  select: (step: number) => void,
): HTMLButtonElement {
  const { lane, title, fault, kind, ended } = steps[step] as Picture["steps"][number];
  const marks = `${fault ? "⚡ " : ""}${ended.length > 0 ? "× " : ""}`;
  const text = `${step + 1} ${marks}${title}`;
  const label = `${text}, of ${lanes[lane]}`;
  const made = element("button", { type: "button", tabindex: -1, title, "aria-label": label }, text);
  made.className = `step ${kind}${fault ? " struck" : ""}`;
  made.style.left = `${TIMES + lane * width + 4}px`;
  made.style.top = `${step * ROW + 2}px`;
  made.style.width = `${width - 8}px`;
  made.addEventListener("click", () => select(step));
  return made;
}
