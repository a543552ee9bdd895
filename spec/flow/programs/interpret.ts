// Runs a program as a flow, and tells the world outside what it does.

import { defineFlow, type FlowContext, type FlowDefinition } from "signalbox/flow";
import type { SqlTransaction } from "signalbox/store";
import type { Node } from "./program.js";

/** What the outside sees of a flow. Calls are facts: nothing of them is undone by a crash. */
export interface World {
  /** The body of a step began. */
  ran(flow: string, step: string, attempt: number, token: number): void;
  /** The flow's code continued behind a step or booking: its outcome is recorded. */
  seen(flow: string, step: string, booked: boolean): void;
  /** Writes a booking. Undefined where the store has no SQL: then bookings are steps. */
  readonly book?: ((tx: SqlTransaction, flow: string, step: string) => Promise<void>) | undefined;
}

/** A value of a program. */
export type Value = number | string | null | readonly Value[] | { readonly caught: string };

const PREFIX = "program: ";

/** What the program itself throws; all other errors pass through its `catch`. */
export class ProgramError extends Error {
  constructor(message: string) {
    super(`${PREFIX}${message}`);
  }
}

/** What a program threw, without its prefix. Undefined for an error of somebody else. */
export function thrownBy(error: unknown): string | undefined {
  const message = error instanceof Error ? error.message : "";
  return message.startsWith(PREFIX) ? message.slice(PREFIX.length) : undefined;
}

/** The flow whose input is a program. */
export type ProgramFlow = FlowDefinition<Node, Value>;

/** @param world - what the flows of this definition tell what they do */
export function programFlow(world: World): ProgramFlow {
  const definition: ProgramFlow = defineFlow("program", (flow: FlowContext, program: Node) =>
    new Interpreter(flow, world, definition).run(program, ""),
  );
  return definition;
}

/** A failed step is tried again at once. */
const AT_ONCE = { minMs: 1, maxMs: 1, jitter: 0 };

/** Runs a program on what a flow offers. */
export class Interpreter {
  private readonly flow: FlowContext;
  private readonly world: World;
  private readonly child: ProgramFlow;

  constructor(flow: FlowContext, world: World, child: ProgramFlow) {
    this.flow = flow;
    this.world = world;
    this.child = child;
  }

  /** @param round - the rounds of the loops around the node */
  async run(node: Node, round: string): Promise<Value> {
    const { flow } = this;
    const key = `${node.name}${round}`;
    switch (node.type) {
      case "step":
        return this.step(key, node.value, node.failures);
      case "broken":
        return this.step(key, null, Number.POSITIVE_INFINITY);
      case "book":
        return this.book(key, node.value);
      case "sleep":
        await flow.sleep(node.ms);
        return null;
      case "mail":
        return (await flow.receive(key)) as string;
      case "silence":
        return ((await flow.receive(key, { timeout: node.ms })) ?? null) as string | null;
      case "echo":
        await flow.send(flow.flowId, key, node.value);
        return (await flow.receive(key)) as number;
      case "throw":
        throw new ProgramError(key);
      case "chance":
        return this.chance(node, key, round);
      case "sequence":
        return this.sequence(node.of, () => round);
      case "loop":
        return this.sequence(new Array<Node>(node.times).fill(node.of[0]), (turn) => `${round}.${turn}`);
      case "child":
        return this.call(node.of[0], key);
      case "catch":
        return this.attempt(node.of, round);
      case "all":
        return this.all(node.of, key, round);
      case "allSettled":
        return this.allSettled(node.of, round);
      case "race":
        return this.race(node.of, key, round);
      case "any":
        return this.any(node.of, key, round);
      case "completions":
        return this.completions(node.of, key, round);
      default:
        return node satisfies never;
    }
  }

  private async step(key: string, value: Value, failures: number): Promise<Value> {
    const { flow, world } = this;
    const attempts = Number.isFinite(failures) ? failures + 1 : 1;
    const body = ({ attempt, token }: { attempt: number; token: number }): Value => {
      world.ran(flow.flowId, key, attempt, token);
      if (attempt <= failures) throw new ProgramError(key);
      return value;
    };
    try {
      const result = await flow.step(key, body, { retry: { attempts, backoff: AT_ONCE } });
      world.seen(flow.flowId, key, false);
      return result;
    } catch (error) {
      if (thrownBy(error) !== undefined) world.seen(flow.flowId, key, false);
      throw error;
    }
  }

  private async book(key: string, value: Value): Promise<Value> {
    const { flow, world } = this;
    const { book } = world;
    if (book === undefined) return this.step(key, value, 0);
    await flow.transaction(key, (tx) => book(tx, flow.flowId, key));
    world.seen(flow.flowId, key, true);
    return value;
  }

  private async sequence(parts: readonly Node[], roundOf: (at: number) => string): Promise<Value> {
    const values: Value[] = [];
    for (const [at, part] of parts.entries()) values.push(await this.run(part, roundOf(at)));
    return values;
  }

  private async call(body: Node, key: string): Promise<Value> {
    const { flow } = this;
    try {
      return await flow.call(this.child, body, { id: childId(flow.flowId, key) });
    } catch (error) {
      if (error instanceof Error && error.name === "FlowFailedError") throw new ProgramError(`child ${key}`);
      throw error;
    }
  }

  private async attempt([body, otherwise]: readonly [Node, Node], round: string): Promise<Value> {
    try {
      return await this.run(body, round);
    } catch (error) {
      return [caught(error), await this.run(otherwise, round)];
    }
  }

  /** A step that tells the world what was decided. */
  private async decided(key: string, index: number): Promise<void> {
    await this.step(decisionStep(key, index), index, 0);
  }

  private async chance({ by, of }: Chance, key: string, round: string): Promise<Value> {
    const { flow } = this;
    const drawn =
      by === "random" ? Math.floor(flow.random() * 1e6) : by === "now" ? flow.now() : hash(flow.id());
    const index = drawn % of.length;
    await this.decided(key, index);
    return this.run(of[index] as Node, round);
  }

  private async all(of: readonly Node[], key: string, round: string): Promise<Value> {
    const failed: { index: number; error: unknown }[] = [];
    const parts = of.map(async (part, index) => {
      try {
        return await this.run(part, round);
      } catch (error) {
        failed.push({ index, error });
        throw error;
      }
    });
    try {
      return await Promise.all(parts);
    } catch (error) {
      caught(error);
      const first = failed.find((one) => one.error === error);
      await this.decided(key, first?.index ?? -1);
      throw error;
    }
  }

  private async allSettled(of: readonly Node[], round: string): Promise<Value> {
    const settled = await Promise.allSettled(of.map((part) => this.run(part, round)));
    return settled.map((one) => (one.status === "fulfilled" ? one.value : caught(one.reason)));
  }

  private async race(of: readonly Node[], key: string, round: string): Promise<Value> {
    const first = await Promise.race(of.map((part, index) => this.tagged(part, index, round)));
    if (!first.ok) caught(first.error);
    await this.decided(key, first.index);
    if (!first.ok) throw first.error;
    return first.value;
  }

  private async any(of: readonly Node[], key: string, round: string): Promise<Value> {
    try {
      const parts = of.map(async (part, index) => [index, await this.run(part, round)] as const);
      const [index, value] = await Promise.any(parts);
      await this.decided(key, index);
      return value;
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      for (const one of error.errors) caught(one);
      throw new ProgramError(`any ${key}`);
    }
  }

  /** Takes the parts as they settle, and does something after each. */
  private async completions(of: readonly Node[], key: string, round: string): Promise<Value> {
    const open = new Map(of.map((part, index) => [index, this.tagged(part, index, round)]));
    const values: Value[] = [];
    while (open.size > 0) {
      const settled = await Promise.race(open.values());
      open.delete(settled.index);
      const value = settled.ok ? settled.value : caught(settled.error);
      await this.decided(turnOf(key, values.length), settled.index);
      values.push([settled.index, value]);
    }
    return values;
  }

  /** Fulfilled with the part's index and outcome. */
  private async tagged(part: Node, index: number, round: string): Promise<Tagged> {
    try {
      return { index, ok: true, value: await this.run(part, round) };
    } catch (error) {
      return { index, ok: false, error };
    }
  }
}

type Chance = Extract<Node, { readonly type: "chance" }>;

type Tagged =
  | { readonly index: number; readonly ok: true; readonly value: Value }
  | { readonly index: number; readonly ok: false; readonly error: unknown };

/** What the program threw, as a value. Throws what somebody else threw. */
function caught(error: unknown): Value {
  const message = thrownBy(error);
  if (message === undefined) throw error;
  return { caught: message };
}

export const childId = (flow: string, key: string): string => `${flow}/${key}`;

/** The name of the step by which a flow tells what it decided at a node. */
export const decisionStep = (key: string, index: number): string => `${key}=${index}`;

/** A turn of a loop over completions, as a place for a decision. */
export const turnOf = (key: string, turn: number): string => `${key}@${turn}`;

/** A number from an id. */
function hash(id: string): number {
  let sum = 0;
  for (const character of id) sum = (sum * 31 + (character.codePointAt(0) as number)) % 1_000_003;
  return sum;
}

/** How a flow of a program ended, for whoever awaits its result. Throws what is no end of a program. */
export async function endOf(
  result: Promise<Value>,
): Promise<{ readonly ok: true; readonly value: Value } | { readonly ok: false; readonly thrown: string }> {
  try {
    return { ok: true, value: await result };
  } catch (error) {
    const thrown = thrownBy((error as Error).cause);
    if (thrown === undefined) throw error;
    return { ok: false, thrown };
  }
}
