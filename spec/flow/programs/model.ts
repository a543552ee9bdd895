// What a program means, without flows: a pure function of the program and of what was left open to time and chance. Where a program
// races, the model takes the winner from the record of the flow's decisions, and says whether there could be such a winner.

import { childId, decisionStep, turnOf, type Value } from "./interpret.js";
import { mailFor, type Node } from "./program.js";

/** How a program or a part of it ends. */
export type Outcome =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly thrown: string };

/** What a program does. */
export interface Meaning {
  readonly outcome: Outcome;
  /** The steps that it cannot have ended without, by flow. */
  readonly steps: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What a flow decided at a place, or undefined. */
export type Decisions = (flow: string, key: string) => number | undefined;

/** A flow did what its program does not allow. */
export class ImpossibleError extends Error {
  constructor(flow: string, key: string, what: string) {
    super(`${flow}, ${key}: ${what}`);
  }
}

/**
 * The meaning of a program.
 *
 * @param bookings - whether bookings are transactions; then they are no steps
 * @throws ImpossibleError when the decisions do not fit the program
 */
export function meaningOf(flow: string, program: Node, decisions: Decisions): Meaning {
  const steps = new Map<string, Set<string>>();
  const outcome = new Model(flow, decisions, steps).run(program, "");
  return { outcome, steps };
}

class Model {
  private readonly flow: string;
  private readonly decisions: Decisions;
  private readonly steps: Map<string, Set<string>>;

  constructor(flow: string, decisions: Decisions, steps: Map<string, Set<string>>) {
    this.flow = flow;
    this.decisions = decisions;
    this.steps = steps;
  }

  run(node: Node, round: string): Outcome {
    const key = `${node.name}${round}`;
    switch (node.type) {
      case "step":
      case "book":
        this.did(key);
        return fulfilled(node.value);
      case "broken":
        this.did(key);
        return { ok: false, thrown: key };
      case "sleep":
      case "silence":
        return fulfilled(null);
      case "mail":
        return fulfilled(mailFor(key));
      case "echo":
        return fulfilled(node.value);
      case "throw":
        return { ok: false, thrown: key };
      case "chance":
        return this.run(this.chosen(node.of, key), round);
      case "sequence":
        return this.sequence(node.of, () => round);
      case "loop":
        return this.sequence(new Array<Node>(node.times).fill(node.of[0]), (turn) => `${round}.${turn}`);
      case "child":
        return this.child(node.of[0], key);
      case "catch": {
        const body = this.run(node.of[0], round);
        if (body.ok) return body;
        const otherwise = this.run(node.of[1], round);
        return otherwise.ok ? fulfilled([settled(body), otherwise.value]) : otherwise;
      }
      case "all":
        return this.all(node.of, key, round);
      case "allSettled":
        return fulfilled(node.of.map((part) => settled(this.run(part, round))));
      case "race":
        return this.run(this.chosen(node.of, key), round);
      case "any":
        return this.any(node.of, key, round);
      case "completions":
        return this.completions(node.of, key, round);
      default:
        return node satisfies never;
    }
  }

  private did(step: string): void {
    const own = this.steps.get(this.flow) ?? new Set();
    this.steps.set(this.flow, own.add(step));
  }

  /** The part that was decided on, or undefined. */
  private decided(of: readonly Node[], key: string): Node | undefined {
    const index = this.decisions(this.flow, key);
    if (index === undefined) return undefined;
    const part = of[index];
    if (part === undefined) this.refuse(key, `there is no part ${index}`);
    this.did(decisionStep(key, index));
    return part;
  }

  private chosen(of: readonly Node[], key: string): Node {
    return this.decided(of, key) ?? this.refuse(key, "nothing was decided");
  }

  private refuse(key: string, what: string): never {
    throw new ImpossibleError(this.flow, key, what);
  }

  private sequence(parts: readonly Node[], roundOf: (at: number) => string): Outcome {
    const values: Value[] = [];
    for (const [at, part] of parts.entries()) {
      const outcome = this.run(part, roundOf(at));
      if (!outcome.ok) return outcome;
      values.push(outcome.value);
    }
    return fulfilled(values);
  }

  private child(body: Node, key: string): Outcome {
    const outcome = new Model(childId(this.flow, key), this.decisions, this.steps).run(body, "");
    return outcome.ok ? outcome : { ok: false, thrown: `child ${key}` };
  }

  private all(of: readonly Node[], key: string, round: string): Outcome {
    const broken = this.decided(of, key);
    if (broken !== undefined) {
      const outcome = this.run(broken, round);
      return outcome.ok ? this.refuse(key, "it was rejected by a part that does not throw") : outcome;
    }
    const values: Value[] = [];
    for (const part of of) {
      const outcome = this.run(part, round);
      if (!outcome.ok) this.refuse(key, "a part throws, and it was not rejected");
      values.push((outcome as { readonly value: Value }).value);
    }
    return fulfilled(values);
  }

  private any(of: readonly Node[], key: string, round: string): Outcome {
    const winner = this.decided(of, key);
    if (winner !== undefined) {
      const outcome = this.run(winner, round);
      return outcome.ok ? outcome : this.refuse(key, "a part won that throws");
    }
    for (const part of of) if (this.run(part, round).ok) this.refuse(key, "a part ends well, and none won");
    return { ok: false, thrown: `any ${key}` };
  }

  private completions(of: readonly Node[], key: string, round: string): Outcome {
    const values: Value[] = [];
    const open = new Set(of);
    for (let turn = 0; turn < of.length; turn++) {
      const part = this.chosen(of, turnOf(key, turn));
      if (!open.delete(part)) this.refuse(turnOf(key, turn), "the same part came twice");
      values.push([of.indexOf(part), settled(this.run(part, round))]);
    }
    return fulfilled(values);
  }
}

const fulfilled = (value: Value): Outcome => ({ ok: true, value });

const settled = (outcome: Outcome): Value => (outcome.ok ? outcome.value : { caught: outcome.thrown });
