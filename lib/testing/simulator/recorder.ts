// Records the events of a schedule as a trace. Exploration runs without a recorder; a failing schedule runs again for its report.

import { isGone, plain, SignalEntry, TaskEntry } from "../../process/entries.js";
import { EMPTY } from "../../process/mailbox.js";
import type { Pid } from "../../process/pid.js";
import { STARTING } from "../../process/process-state.js";
import type { ExitReason } from "../../process/reason.js";
import { messageText, reasonText } from "../report/message.js";
import { placeOf } from "../report/place.js";
import type { RequestOutcome, TraceEffect, TraceStep } from "../report/trace.js";
import type { Actor } from "./actor.js";
import { host } from "./host.js";
import { Parcel } from "./parcel.js";
import type { SimulatedTask } from "./tasks.js";
import type { World } from "./world.js";

type Doing =
  | { readonly type: "run"; readonly process: string; readonly took: string }
  | { readonly type: "resume"; readonly process: string; readonly from: string }
  | { readonly type: "deliver"; readonly process: string; readonly from: string; readonly message: string }
  | {
      readonly type: "effect";
      readonly process: string;
      readonly from: string;
      readonly request: string;
      readonly outcome: RequestOutcome;
    }
  | { readonly type: "timer"; readonly process: string; readonly what: string }
  | { readonly type: "fault"; readonly process: string; readonly fault: string };

export class Recorder {
  readonly steps: TraceStep[] = [];
  private world!: World;
  private doing: Doing | undefined = undefined;
  private effects: TraceEffect[] = [];
  private readonly senders = new WeakMap<object, Actor | undefined>();

  attach(world: World): void {
    this.world = world;
  }

  began(task: SimulatedTask): void {
    const process = task.owner.path;
    if (task.kind === "run") {
      const { process: running } = task.owner;
      let index = running?.pendingReceive?.scanned ?? 0;
      while (isGone(running?.peek(index))) index++;
      const first = running?.peek(index);
      const starting = running?.state === STARTING;
      const took = starting
        ? "starts"
        : first === undefined || first === EMPTY
          ? "wakes"
          : this.taken(plain(first));
      this.doing = { type: "run", process, took };
    } else if (task.kind === "resume") this.doing = { type: "resume", process, from: task.what };
    else if (task.kind === "deliver")
      this.doing = {
        type: "deliver",
        process,
        from: task.from.path,
        message: this.show(plain(task.held[0])),
      };
  }

  time(system: string): void {
    this.doing ??= { type: "timer", process: system, what: "a timer fires" };
  }

  fault(actor: Actor, fault: string): void {
    this.faultOf(actor.path, fault);
  }

  faultOf(path: string, fault: string): void {
    this.doing = { type: "fault", process: path, fault };
  }

  /** The item that a process takes, and its sender if that is certain. */
  private taken(item: unknown): string {
    const from = typeof item === "object" && item !== null ? this.senders.get(item) : undefined;
    const signal = item instanceof SignalEntry || item instanceof TaskEntry;
    return `${this.show(item)}${from === undefined || signal ? "" : ` from ${from.path}`}`;
  }

  sent(from: Actor, to: Actor, item: unknown, held: boolean): void {
    // An object that was sent more than once has no certain sender.
    if (typeof item === "object" && item !== null)
      this.senders.set(item, this.senders.has(item) ? undefined : from);
    this.effects.push({ type: "send", to: to.path, message: this.show(item), held });
  }

  /** Code has sent a request to the outside world. */
  requested(outside: Actor, args: readonly unknown[]): void {
    this.effects.push({ type: "send", to: outside.path, message: this.arguments(args), held: true });
  }

  /** The present step decides about a request to the outside world. */
  decided(outside: Actor, caller: Actor, args: readonly unknown[], outcome: RequestOutcome): void {
    const request = this.arguments(args);
    this.doing = { type: "effect", process: outside.path, from: caller.path, request, outcome };
  }

  /** A request has its answer, which is now on its way. */
  answered(answer: unknown, fails: boolean): void {
    if (fails) this.note(`fails with ${this.show(answer)}`);
    else if (answer !== undefined) this.note(`answers ${this.show(answer)}`);
  }

  private arguments(args: readonly unknown[]): string {
    return `(${args.map((one) => this.show(one)).join(", ")})`;
  }

  spawned(actor: Actor): void {
    this.effects.push({ type: "spawn", process: actor.path });
  }

  exited(actor: Actor, reason: ExitReason): void {
    this.effects.push({ type: "exit", process: actor.path, reason: reasonText(reason) });
  }

  settled(actor: Actor, what: string): void {
    this.effects.push({ type: "settle", process: actor.path, what });
  }

  note(text: string): void {
    this.effects.push({ type: "note", text });
  }

  /** The place of the caller in the code of the test or the service. */
  place(): string | undefined {
    return placeOf(host.stack());
  }

  /** Discards events between two steps, which belong to no step. */
  between(): void {
    this.effects = [];
  }

  ended(): void {
    const doing = this.doing ?? { type: "run" as const, process: "scenario", took: "starts" };
    this.steps.push({ number: this.steps.length + 1, at: this.world.now, effects: this.effects, ...doing });
    this.doing = undefined;
    this.effects = [];
  }

  /** A step in a few words. */
  line(index: number): string {
    const step = this.steps[index];
    if (step === undefined) return "nothing: it had ended";
    const what =
      step.type === "run"
        ? step.took
        : step.type === "fault"
          ? step.fault
          : step.type === "timer"
            ? step.what
            : step.type;
    return `${step.process}: ${what}`;
  }

  private show(item: unknown): string {
    const nameOf = (pid: Pid): string => this.world.interceptor.actorOf(pid)?.path ?? String(pid);
    if (!(item instanceof Parcel)) return messageText(item, nameOf);
    const { kind, content } = item;
    if (kind === "message") return messageText(content, nameOf);
    return content === undefined ? kind : `${kind} (${messageText(content, nameOf)})`;
  }
}
