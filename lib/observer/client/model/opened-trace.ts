// What a person opened or pasted on the page of the simulator: a kept failure, the page that was written beside it, or a token. Pure.

import { readFailure } from "../../../testing/report/failure-file.js";
import { decodeToken } from "../../../testing/report/token.js";
import { type Picture, pictureOf } from "../../../testing/viewer/picture.js";

export type OpenedTrace =
  | {
      readonly type: "steps";
      readonly name: string | undefined;
      readonly token: string | undefined;
      readonly picture: Picture;
    }
  /** A token is the list of the choices of a run: only the scenario makes steps of it. */
  | { readonly type: "token"; readonly token: string; readonly choices: number; readonly deviations: number }
  | { readonly type: "problem"; readonly text: string };

/** The limits of what the page opens: a button stands for each step. */
export const OPENED_LIMITS: { readonly characters: number; readonly steps: number } = {
  characters: 64_000_000,
  steps: 20_000,
};

const TOKEN = /^sb\d+\.\S+$/;
const EMBEDDED = /<script type="application\/json" id="trace">([\s\S]*?)<\/script>/;

export function openedTrace(given: string): OpenedTrace {
  const text = given.trim();
  if (text === "") return problem("there is nothing in it");
  if (text.length > OPENED_LIMITS.characters)
    return problem(
      `it has ${text.length} characters, and ${OPENED_LIMITS.characters} can be opened: see the text of the schedule with signalbox replay FILE --show`,
    );
  try {
    if (TOKEN.test(text)) return ofToken(text);
    const [, embedded] = EMBEDDED.exec(text) ?? [];
    return embedded === undefined ? ofFailure(text) : ofPage(embedded);
  } catch (error) {
    return problem(error instanceof Error ? error.message : String(error));
  }
}

const problem = (text: string): OpenedTrace => ({ type: "problem", text });

function ofToken(token: string): OpenedTrace {
  const { choices } = decodeToken(token);
  return {
    type: "token",
    token,
    choices: choices.length,
    deviations: choices.filter((one) => one !== 0).length,
  };
}

function ofFailure(text: string): OpenedTrace {
  const { name, token, trace } = readFailure(text);
  return ofSteps({ name, token, picture: pictureOf(trace) });
}

function ofPage(embedded: string): OpenedTrace {
  const picture: unknown = JSON.parse(embedded);
  if (!isPicture(picture)) return problem("the page holds no steps that this version of signalbox can show");
  return ofSteps({ name: undefined, token: undefined, picture });
}

function ofSteps(opened: Omit<OpenedTrace & { readonly type: "steps" }, "type">): OpenedTrace {
  const { length } = opened.picture.steps;
  if (length > OPENED_LIMITS.steps)
    return problem(
      `it has ${length} steps, and ${OPENED_LIMITS.steps} can be shown: explore with a smaller scenario`,
    );
  return { type: "steps", ...opened };
}

/** Whether a page of any version, or of any author, holds what the viewer reads. */
function isPicture(value: unknown): value is Picture {
  if (!isObject(value) || !areTexts(value.lanes) || typeof value.failure !== "string") return false;
  const { lanes, steps, arrows } = value;
  const isLane = (lane: unknown): boolean =>
    Number.isInteger(lane) && (lane as number) >= 0 && (lane as number) < lanes.length;
  const areLanes = (all: unknown): boolean => Array.isArray(all) && all.every(isLane);
  const isPoint = (point: unknown): boolean =>
    isObject(point) && Number.isInteger(point.step) && isLane(point.lane);
  const isChange = (change: unknown): boolean =>
    isObject(change) &&
    isLane(change.lane) &&
    typeof change.status === "string" &&
    areTexts(change.mailbox) &&
    areTexts(change.links) &&
    areTexts(change.monitors);
  const isStep = (step: unknown): boolean =>
    isObject(step) &&
    isLane(step.lane) &&
    ["kind", "time", "title", "place"].every((name) => typeof step[name] === "string") &&
    areTexts(step.lines) &&
    areLanes(step.spawned) &&
    areLanes(step.ended) &&
    Array.isArray(step.changes) &&
    step.changes.every(isChange) &&
    (step.states === undefined || areTexts(step.states));
  const isArrow = (arrow: unknown): boolean =>
    isObject(arrow) &&
    isPoint(arrow.from) &&
    (arrow.to === undefined || isPoint(arrow.to)) &&
    isLane(arrow.target);
  return Array.isArray(steps) && steps.every(isStep) && Array.isArray(arrows) && arrows.every(isArrow);
}

const isObject = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const areTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");
