// Records the events of a schedule as a trace. Exploration runs without a recorder; a failing schedule runs again for its report.

import { MachineProcess } from "../../behaviour/state-machine/machine-process.js";
import { plain, SignalEntry, TaskEntry } from "../../process/entries.js";
import type { DeadLetterReason } from "../../process/exit-reason.js";
import { processInfo } from "../../process/info.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import { placeOf } from "../../process/own-code.js";
import type { Pid } from "../../process/pid.js";
import { STARTING } from "../../process/process-state.js";
import type { ExitReason } from "../../process/reason.js";
import { endingText, eventText, messageText, reasonText } from "../report/message.js";
import { relativePlace } from "../report/place.js";
import type { ProcessChange, RequestOutcome, TraceEffect, TraceStep } from "../report/trace.js";
import type { Actor } from "./actor.js";
import type { Actors } from "./actors.js";
import { host } from "./host.js";
import { Packet } from "./packet.js";
import type { RunningCode } from "./running-code.js";
import type { ScheduleRecord } from "./schedule-record.js";
import { type SentMessage, SentMessages } from "./sent-messages.js";
import type { DeliverTask, RunTask, SimulatedTask } from "./tasks.js";

/** How an awaited promise ended, and where the code awaits it. */
export interface Ending {
  /** Undefined if it is not known yet. */
  readonly ended?: { readonly value: unknown } | { readonly error: unknown };
  readonly place: string | undefined;
}

/** The same, as the trace shows it. */
interface Shown {
  readonly result: string | undefined;
  readonly place: string | undefined;
}

/** The schedule that is recorded. */
interface Recorded {
  readonly actors: Actors;
  readonly record: ScheduleRecord;
  readonly code: RunningCode;
}

type DistributedOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
/** The event of a step, without the fields that all steps have. */
type Doing = DistributedOmit<TraceStep, "number" | "at" | "effects">;

const LOSSES: { readonly [Reason in DeadLetterReason]: string } = {
  noproc: "no such process",
  exited: "the process has exited",
  "mailbox-full": "its mailbox is full",
  noconnection: "its system is out of reach",
  unhandled: "it handles no signals",
  "stash-full": "its stash is full",
  unsendable: "no wire can carry it",
};

function ended(process: string): ProcessChange {
  return { process, status: "ended", mailbox: [], links: [], monitors: [] };
}

/** Leaves out the fields that are undefined. */
function known<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}

export class Recorder {
  readonly steps: TraceStep[] = [];
  #of!: Recorded;
  readonly #placed: number;
  #doing: Doing | undefined = undefined;
  #effects: TraceEffect[] = [];
  readonly #sent = new SentMessages();
  /** How the promises ended whose code has not gone on yet. */
  readonly #endings = new Map<Actor, Shown[]>();
  /** A body runs: until it takes a message, this is where it looks for one. */
  #searching: { readonly actor: Actor; readonly from: number } | undefined = undefined;
  /** Requests to the outside world, by their arguments. */
  readonly #requests = new WeakMap<readonly unknown[], number>();
  /** The message that arrives over a network in this step. */
  #arriving: SentMessage | undefined = undefined;

  /** The states of state machines, by name. */
  readonly #stateNames = new Map<Actor, string>();
  /** What the trace said last about each process, and about the values. */
  readonly #shown = new Map<Actor, string>();
  #shownValues = "[]";
  #values: () => readonly (() => unknown)[] = () => [];

  /** @param placed - steps whose places are recorded: a schedule that does not end has many more than its report shows */
  constructor(placed: number = Number.POSITIVE_INFINITY) {
    this.#placed = placed;
  }

  attach(recorded: Recorded): void {
    this.#of = recorded;
  }

  /** Shows these values with each step that changes them. */
  watch(values: () => readonly (() => unknown)[]): void {
    this.#values = values;
  }

  began(task: SimulatedTask): void {
    this.#searching = undefined;
    this.#arriving = undefined;
    if (task.kind === "run") this.#doing = this.#run(task);
    else if (task.kind === "deliver") this.#doing = this.#deliver(task);
    else if (task.kind === "timer")
      this.#doing = { type: "timer", process: task.owner.path, what: "a timer fires" };
    else if (task.kind === "resume") {
      const { result, place } = this.#endings.get(task.owner)?.shift() ?? {};
      const process = task.owner.path;
      this.#doing = { type: "resume", process, from: task.what, ...known({ result, place }) };
    }
  }

  #run({ owner }: RunTask): Doing {
    const doing = { type: "run", process: owner.path } as const;
    const { process } = owner;
    if (process === undefined || process.state === STARTING) return { ...doing, took: "starts" };
    if (process.handle !== undefined)
      return process.isEmpty ? { ...doing, took: "wakes" } : { ...doing, ...this.#taken(owner, 0) };
    this.#searching = { actor: owner, from: process.pendingReceive?.scanned ?? 0 };
    return { ...doing, took: "wakes", ...known({ place: this.#waitPlace(owner) }) };
  }

  /** Where the body waits for a message. */
  #waitPlace(owner: Actor): string | undefined {
    return [...owner.waits].find(({ what }) => what === "a receive")?.place;
  }

  #deliver({ from, owner, held }: DeliverTask): Doing {
    const [item] = held;
    const sent = this.#sent.arriving(wayOf(from, owner), item);
    const message = this.#show(plain(item));
    const doing = { type: "deliver", message, ...known({ letter: sent?.number }) } as const;
    if (item instanceof Packet) {
      this.#arriving = sent;
      const { to } = item.ends();
      return { ...doing, process: to ? this.#nameOf(to) : owner.path, from: sent?.from ?? from.path };
    }
    if (sent !== undefined) this.#sent.enter(owner, sent);
    return { ...doing, process: owner.path, from: from.path };
  }

  /** A process takes the entry at a place of its mailbox. */
  took(actor: Actor, index: number): void {
    if (this.#searching?.actor !== actor || this.#doing?.type !== "run") return;
    this.#searching = undefined;
    this.#doing = { ...this.#doing, ...this.#taken(actor, index) };
  }

  #taken(owner: Actor, index: number): Pick<Doing & { type: "run" }, "took" | "sender" | "letter"> {
    const item = owner.process?.peek(index);
    const sent = this.#sent.take(owner, index);
    const ownText = item instanceof SignalEntry || item instanceof TaskEntry;
    const behaviour = owner.process?.behaviour;
    const event = behaviour instanceof MachineProcess ? behaviour.ownEvent : undefined;
    if (item instanceof TaskEntry && event !== undefined)
      return {
        took: `its own event ${eventText(event, (one) => this.#show(one))}`,
        ...known({ letter: sent?.number }),
      };
    const sender = ownText ? undefined : sent?.from;
    return { took: this.#show(plain(item)), ...known({ sender, letter: sent?.number }) };
  }

  /** A fault has lasted its time. */
  time(): void {
    this.#doing ??= { type: "timer", process: "the simulator", what: "a timer fires" };
  }

  fault(actor: Actor, fault: string): void {
    this.faultOf(actor.path, fault);
  }

  faultOf(path: string, fault: string): void {
    this.#doing = { type: "fault", process: path, fault };
  }

  /** A message was sent; `item` is as mailboxes hold it. */
  sent(from: Actor, to: Actor, item: unknown, held: boolean): void {
    const arriving = this.#arriving;
    if (arriving !== undefined && !held && from === this.#of.actors.main) {
      // The message was recorded when it was sent to the network.
      this.#arriving = undefined;
      this.#sent.enter(to, { ...arriving, item });
      return;
    }
    const ends = item instanceof Packet ? item.ends() : undefined;
    const running = ends === undefined ? from : this.#of.code.current;
    const sender = ends?.from ? this.#nameOf(ends.from) : this.#senderOf(running);
    const receiver = ends?.to ? this.#nameOf(ends.to) : to.path;
    const sent = this.#sent.send(sender, item);
    this.#effects.push({
      type: "send",
      to: receiver,
      from: sender,
      message: this.#show(plain(item)),
      held,
      letter: sent.number,
      ...known({ place: this.place() }),
    });
    if (held) this.#sent.hold(wayOf(from, to), sent);
    else this.#sent.enter(to, sent);
  }

  /** Path of the running code. No code runs while a timer fires: its message is from the process that set it. */
  #senderOf(running: Actor): string {
    const doing = this.#doing;
    return running === this.#of.actors.main && doing?.type === "timer" ? doing.process : running.path;
  }

  /** A message was discarded: no process will handle it. */
  lost(to: Pid | string, message: unknown, why: DeadLetterReason): void {
    const actor = typeof to === "string" ? undefined : this.#of.actors.of(to);
    const sent = actor && this.#sent.lost(actor, message);
    this.#effects.push({
      type: "lost",
      to: actor?.path ?? String(to),
      message: this.#show(message),
      reason: LOSSES[why],
      ...known({ letter: sent?.number }),
    });
  }

  /** Code has sent a request to the outside world. */
  requested(outside: Actor, args: readonly unknown[]): void {
    const from = this.#of.code.current.path;
    const { number } = this.#sent.send(from, args);
    this.#requests.set(args, number);
    this.#effects.push({
      type: "send",
      to: outside.path,
      from,
      message: this.#arguments(args),
      held: true,
      letter: number,
      ...known({ place: this.place() }),
    });
  }

  /** The present step decides about a request to the outside world. */
  decided(outside: Actor, caller: Actor, args: readonly unknown[], outcome: RequestOutcome): void {
    const request = this.#arguments(args);
    const sent = this.#requests.get(args);
    this.#doing = {
      type: "effect",
      process: outside.path,
      from: caller.path,
      request,
      outcome,
      ...known({ letter: sent }),
    };
  }

  /** A request has its answer, which is now on its way. */
  answered(answer: unknown, fails: boolean): void {
    if (fails) this.note(`fails with ${this.#show(answer)}`);
    else if (answer !== undefined) this.note(`answers ${this.#show(answer)}`);
  }

  #arguments(args: readonly unknown[]): string {
    return `(${args.map((one) => this.#show(one)).join(", ")})`;
  }

  spawned(actor: Actor): void {
    this.#effects.push({ type: "spawn", process: actor.path, ...known({ place: this.place() }) });
  }

  exited(actor: Actor, reason: ExitReason): void {
    this.#effects.push({ type: "exit", process: actor.path, reason: reasonText(reason) });
  }

  /** @param ending - undefined if the value of the promise is unknown */
  settled(process: Actor, what: string, ending: Ending | undefined): void {
    const result = ending?.ended && endingText(what, ending.ended, (pid) => this.#nameOf(pid));
    const shown = this.#endings.get(process) ?? [];
    this.#endings.set(process, shown);
    shown.push({ result, place: ending?.place });
    this.#effects.push({ type: "settle", process: process.path, what, ...known({ result }) });
  }

  /** The scenario or the simulator made a choice. */
  chose(label: string, value: unknown): void {
    this.#effects.push({ type: "choice", label, value: this.#show(value) });
  }

  /** Something happened in a simulated device. */
  device(device: string, text: string): void {
    this.#effects.push({ type: "device", device, text });
  }

  note(text: string): void {
    this.#effects.push({ type: "note", text });
  }

  /** The place of the caller in the code of the test or the service. */
  place(): string | undefined {
    if (this.#of.record.steps > this.#placed) return undefined;
    const place = placeOf(host.stack());
    return place === undefined ? undefined : relativePlace(place, host.folder());
  }

  /** Discards events between two steps, which belong to no step. */
  between(): void {
    this.#effects = [];
  }

  /** @param at - the time of the step */
  ended(at: number): void {
    this.#unfound();
    this.#machines();
    const doing = this.#doing ?? { type: "run" as const, process: "scenario", took: "starts" };
    const place = doing.place ?? this.#placeOfEffects();
    const effects = this.#effects;
    const number = this.steps.length + 1;
    const more = known({ place, changes: this.#changes(), states: this.#states() });
    this.steps.push({ ...doing, number, at, effects, ...more });
    this.#doing = undefined;
    this.#effects = [];
  }

  /** The state machines that have gone to another state. */
  #machines(): void {
    for (const actor of this.#of.actors.all) {
      const behaviour = actor.process?.behaviour;
      if (!(behaviour instanceof MachineProcess) || !actor.alive || actor.process?.state === STARTING)
        continue;
      const state = behaviour.stateName;
      const before = this.#stateNames.get(actor);
      if (state === before) continue;
      this.#stateNames.set(actor, state);
      this.note(before === undefined ? `state: ${state}` : `state: ${before} → ${state}`);
    }
  }

  /** The processes that differ from what the trace said last. */
  #changes(): ProcessChange[] | undefined {
    const changes: ProcessChange[] = [];
    for (const actor of this.#of.actors.all) {
      const { process } = actor;
      if (process === undefined) continue;
      const change = actor.alive ? this.#living(actor, process) : ended(actor.path);
      const text = JSON.stringify(change);
      if (this.#shown.get(actor) !== text) changes.push(change);
      this.#shown.set(actor, text);
    }
    return changes.length === 0 ? undefined : changes;
  }

  #living(actor: Actor, process: WatchedProcess): ProcessChange {
    const { status, links, monitors } = processInfo(process.kernel, process);
    const paths = (pids: readonly Pid[]): string[] => pids.map((pid) => this.#nameOf(pid));
    const mailbox = this.#sent.mailbox(actor).map(({ number }) => number);
    return { process: actor.path, status, mailbox, links: paths(links), monitors: paths(monitors) };
  }

  /** The values of `sim.state`, if they differ from what the trace said last. */
  #states(): string[] | undefined {
    const states = this.#values().map((value) => {
      try {
        return this.#show(value());
      } catch (error) {
        return `(threw ${this.#show(error)})`;
      }
    });
    const text = JSON.stringify(states);
    if (text === this.#shownValues) return undefined;
    this.#shownValues = text;
    return states;
  }

  /** A body has looked at its mailbox and left everything there. */
  #unfound(): void {
    const doing = this.#doing;
    const searching = this.#searching;
    if (searching === undefined || doing?.type !== "run") return;
    const looked = (searching.actor.process?.pendingReceive?.scanned ?? 0) - searching.from;
    if (looked > 0)
      this.#doing = { ...doing, took: `looks at ${looked} message${looked === 1 ? "" : "s"}, none fits` };
  }

  /** Where the code of the step first sent or spawned something. */
  #placeOfEffects(): string | undefined {
    for (const effect of this.#effects)
      if ((effect.type === "send" || effect.type === "spawn") && effect.place !== undefined)
        return effect.place;
    return undefined;
  }

  /** Adds a line to the last step. */
  remark(text: string): void {
    const last = this.steps.pop();
    if (last !== undefined) this.steps.push({ ...last, effects: [...last.effects, { type: "note", text }] });
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

  #nameOf(pid: Pid): string {
    return this.#of.actors.pathOf(pid);
  }

  #show(item: unknown): string {
    const nameOf = (pid: Pid): string => this.#nameOf(pid);
    if (!(item instanceof Packet)) return messageText(item, nameOf);
    const { kind, content } = item;
    if (kind === "message" || kind === "call") return messageText(content, nameOf);
    return content === undefined ? kind : `${kind} (${messageText(content, nameOf)})`;
  }
}

/** The key of the messages from one actor to another. */
function wayOf(from: Actor, to: Actor): string {
  return `${from.number} ${to.number}`;
}
