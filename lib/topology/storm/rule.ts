// What all rules have in common.

import type { Blueprint, ComponentPlan, Subscription } from "../definition/blueprint.js";
import { madeBy, type ShellForm } from "../definition/made-by.js";
import type { StormFinding } from "./finding.js";

/** Checks one part of a topology, and returns its findings. */
export type StormRule = (blueprint: Blueprint) => readonly StormFinding[];

/** What a rule says beside the effect, the code and the place. */
export interface Said {
  readonly text: string;
  readonly instead: string;
}

/** A subscription as the place of a finding. */
export function placeOf({ from, stream, to }: Pick<Subscription, "from" | "stream" | "to">): string {
  return `${to} <- ${from}.${stream}`;
}

/** A finding about a component, or about a part of it. */
export function about(
  effect: StormFinding["effect"],
  code: string,
  component: string,
  said: Said,
  place: string = component,
): StormFinding {
  return { effect, code, component, place, ...said };
}

/** The form of a shell component. */
export function shellOf({ definition }: ComponentPlan): ShellForm | undefined {
  const made = madeBy(definition);
  return made?.by === "shell" ? made : undefined;
}

/** A rule that looks at one component after the other. */
export function ofEach(
  rule: (plan: ComponentPlan, blueprint: Blueprint) => readonly StormFinding[],
): StormRule {
  return (blueprint) => blueprint.components.flatMap((plan) => rule(plan, blueprint));
}
