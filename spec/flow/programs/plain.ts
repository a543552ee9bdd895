// Runs a program without durability: plain promises over a timeline of its own. It shows that the interpreter and the model agree
// before a flow comes between them.

import type { FlowContext, StepContext } from "signalbox/flow";
import { Random } from "../../../lib/testing/kit/random.js";
import { Interpreter, type ProgramFlow, thrownBy, type World } from "./interpret.js";
import { mailFor, mailOf, type Node } from "./program.js";
import type { Ended } from "./record.js";

/** Time that moves when nobody has anything to do. */
class Timeline {
  now = 0;
  private readonly random: Random;
  private readonly waits: { readonly at: number; readonly end: () => void }[] = [];

  constructor(seed: number) {
    this.random = new Random(seed);
  }

  /** Waits for so long, and a little more at random. */
  wait(ms: number): Promise<void> {
    return new Promise((end) => {
      this.waits.push({ at: this.now + ms + this.random.unit(), end });
    });
  }

  async until(done: () => boolean): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (done()) return;
      this.waits.sort((a, b) => a.at - b.at);
      const first = this.waits.shift();
      if (first === undefined) throw new Error("nothing is left to wait for");
      this.now = first.at;
      first.end();
    }
  }

  draw(): number {
    return this.random.unit();
  }
}

/** What a flow offers to the interpreter, without a journal. */
class PlainContext {
  readonly flowId: string;
  private readonly time: Timeline;
  private readonly mail = new Map<string, unknown[]>();
  private readonly receivers = new Map<string, (value: unknown) => void>();
  private readonly world: World;

  constructor(flowId: string, time: Timeline, world: World) {
    this.flowId = flowId;
    this.time = time;
    this.world = world;
  }

  async step<T>(
    _name: string,
    body: (step: StepContext) => T,
    { retry }: { readonly retry: { readonly attempts: number } },
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      await this.time.wait(1);
      try {
        return body({ attempt, token: 1 } as StepContext);
      } catch (error) {
        if (attempt >= retry.attempts) throw error;
      }
    }
  }

  sleep(ms: number): Promise<void> {
    return this.time.wait(ms);
  }

  async send(_to: string, topic: string, value: unknown): Promise<void> {
    await this.time.wait(1);
    const receiver = this.receivers.get(topic);
    this.receivers.delete(topic);
    if (receiver === undefined) this.mail.set(topic, [...(this.mail.get(topic) ?? []), value]);
    else receiver(value);
  }

  async receive(topic: string, options?: { readonly timeout: number }): Promise<unknown> {
    const waiting = this.mail.get(topic)?.shift();
    if (waiting !== undefined) return waiting;
    const message = new Promise((resolve) => this.receivers.set(topic, resolve));
    return options === undefined ? message : Promise.race([message, this.time.wait(options.timeout)]);
  }

  async call(_flow: ProgramFlow, program: Node, { id }: { readonly id: string }): Promise<unknown> {
    const end = await runPlain(id, program, this.time, this.world);
    if (end.ok) return end.value;
    throw Object.assign(new Error(), { name: "FlowFailedError" });
  }

  now(): number {
    return Math.floor(this.time.now);
  }

  random(): number {
    return this.time.draw();
  }

  id(): string {
    return String(this.time.draw());
  }
}

async function runPlain(flow: string, program: Node, time: Timeline, world: World): Promise<Ended> {
  const context = new PlainContext(flow, time, world);
  for (const topic of mailOf(program)) void context.send(flow, topic, mailFor(topic));
  try {
    const interpreter = new Interpreter(context as unknown as FlowContext, world, undefined as never);
    return { ok: true, value: await interpreter.run(program, "") };
  } catch (error) {
    const thrown = thrownBy(error);
    if (thrown === undefined) throw error;
    return { ok: false, thrown };
  }
}

/** Runs a program to its end. @param seed - decides what is faster */
export async function plain(flow: string, program: Node, seed: number, world: World): Promise<Ended> {
  const time = new Timeline(seed);
  let end: Ended | undefined;
  let failure: unknown;
  runPlain(flow, program, time, world).then(
    (value) => {
      end = value;
    },
    (error: unknown) => {
      failure = error;
    },
  );
  await time.until(() => end !== undefined || failure !== undefined);
  if (end === undefined) throw failure;
  return end;
}
