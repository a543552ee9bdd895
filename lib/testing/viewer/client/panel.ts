// The panel beside the diagram: the text of the present step, and the state after it.

import type { Picture, ShownChange } from "../picture.js";
import { stateAfter } from "../state.js";
import { element, part, type Room } from "./elements.js";

export function showPanel(room: Room, picture: Picture, step: number): void {
  const shown = picture.steps[step];
  const heading = part<HTMLElement>(room, "heading");
  const about = part<HTMLElement>(room, "about");
  if (shown === undefined) {
    heading.textContent = "No steps";
    return;
  }
  heading.textContent = `Step ${step + 1} of ${picture.steps.length}: ${picture.lanes[shown.lane]}`;
  about.replaceChildren(
    element("p", { class: shown.fault ? "struck" : "" }, shown.title),
    element(
      "p",
      { class: "place" },
      shown.place === "" ? `at ${shown.time}` : `at ${shown.time}, in ${shown.place}`,
    ),
    element("ul", {}, ...shown.lines.map((line) => element("li", {}, line))),
  );
  if (step === picture.steps.length - 1 && picture.failure !== "")
    about.append(element("pre", { class: "failure" }, picture.failure));
  part<HTMLElement>(room, "state").replaceChildren(...stateOf(picture, step, shown.lane));
}

function stateOf(picture: Picture, step: number, first: number): HTMLElement[] {
  const { processes, values } = stateAfter(picture, step);
  const alive = [...processes.values()].filter(({ status }) => status !== "ended");
  alive.sort((a, b) => Number(b.lane === first) - Number(a.lane === first) || a.lane - b.lane);
  const parts: HTMLElement[] = [];
  if (values.length > 0)
    parts.push(element("ul", { class: "values" }, ...values.map((value) => element("li", {}, value))));
  parts.push(...alive.map((change) => processOf(picture, change, change.lane === first)));
  const over = [...processes.values()].filter(({ status }) => status === "ended");
  if (over.length > 0)
    parts.push(
      element("p", { class: "over" }, `ended: ${over.map(({ lane }) => picture.lanes[lane]).join(", ")}`),
    );
  return parts;
}

function processOf({ lanes }: Picture, change: ShownChange, present: boolean): HTMLElement {
  const { lane, status, mailbox, links, monitors } = change;
  const name = element(
    "h3",
    {},
    lanes[lane] ?? "",
    " ",
    element("span", { class: `status ${status}` }, status),
  );
  const whole = element("section", present ? { class: "present" } : {}, name);
  const row = (what: string, list: readonly string[]): void => {
    if (list.length > 0) whole.append(element("p", {}, element("b", {}, `${what} `), list.join(", ")));
  };
  if (mailbox.length > 0)
    whole.append(
      element("ol", { "aria-label": "mailbox" }, ...mailbox.map((text) => element("li", {}, text))),
    );
  row("links", links);
  row("monitors", monitors);
  return whole;
}
