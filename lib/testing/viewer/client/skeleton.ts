// The empty parts of the viewer: the controls, the diagram and the panel.

import type { Picture } from "../picture.js";
import { element, shape } from "./elements.js";

/** @param isPage - whether the viewer is a page of its own: a page has one heading of the first level and one main part */
export function skeleton({ failure }: Picture, isPage: boolean): readonly HTMLElement[] {
  const [title = ""] = (failure === "" ? "nothing failed" : failure).split("\n");
  return [
    element("header", {}, element(isPage ? "h1" : "h2", { class: "title" }, title), steps(), searching()),
    element(
      isPage ? "main" : "section",
      { id: "diagram", tabindex: 0, "aria-label": "Steps by process" },
      element("div", { id: "lanes" }),
      element("div", { id: "canvas" }),
      heads(),
    ),
    element(
      isPage ? "aside" : "section",
      { id: "panel", tabindex: 0, "aria-label": "The present step" },
      element(
        "div",
        { "aria-live": "polite" },
        element("h2", { id: "heading" }),
        element("div", { id: "about" }),
      ),
      element("div", { id: "state" }),
    ),
  ];
}

function steps(): HTMLElement {
  const button = (id: string, text: string, name: string, key: string): HTMLElement =>
    element("button", { type: "button", id, title: `${name} (${key})`, "aria-label": name }, text);
  return element(
    "nav",
    { "aria-label": "Steps" },
    button("first", "|◀", "First step", "Home"),
    button("back", "◀", "One step back", "←"),
    element("input", { type: "range", id: "slider", min: 1, max: 1, "aria-label": "Step" }),
    button("on", "▶", "One step on", "→"),
    button("end", "▶|", "Last step", "End"),
  );
}

function searching(): HTMLElement {
  const placeholder = "search (/), Enter for the next";
  return element(
    "nav",
    { "aria-label": "Search" },
    element("input", { type: "search", id: "search", placeholder, "aria-label": "Search in the steps" }),
    element("output", { id: "found" }),
  );
}

/** The head of an arrow, for all lines. */
function heads(): SVGElement {
  const svg = shape("svg", { width: 0, height: 0, "aria-hidden": "true" });
  const marker = shape("marker", {
    ...{ id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4 },
    ...{ markerWidth: 7, markerHeight: 7, orient: "auto" },
  });
  marker.append(shape("path", { d: "M0 0L8 4L0 8z", fill: "context-stroke" }));
  const defs = shape("defs", {});
  defs.append(marker);
  svg.append(defs);
  return svg;
}
