// The rules between a shell spout's task and its program: the program carries out one command at a time, answers each
// with `sync` in time, and emits only while a command is in progress. No process, no clock.

import { Queue } from "../../../supervisor/queue.js";
import type { EmitMessage, MessageId, WorkMessage } from "../protocol/component-messages.js";
import type { SpoutCommand } from "../protocol/host-messages.js";
import type { ShellProblem } from "./errors.js";

/** A command for the program. `C` is the type of the task's record of the hook that waits for the command's end. */
export interface Command<C> {
  readonly command: SpoutCommand;
  readonly id: MessageId | undefined;
  readonly caller: C;
}

export interface State<C> {
  /** Time for the answer to a command. */
  readonly timeoutMs: number;
  /** The first is in progress. As many as the task has hooks in progress: acks may come during `next`. */
  readonly commands: Queue<Command<C>>;
}

export type Event<C> =
  | { readonly type: "command"; readonly command: Command<C> }
  | { readonly type: "message"; readonly message: WorkMessage }
  | { readonly type: "overdue" };

export type Effect<C> =
  /** `overdue` comes after `timeoutMs`, unless `done` comes first. */
  | { readonly type: "send"; readonly command: Command<C> }
  | { readonly type: "done"; readonly command: Command<C> }
  | { readonly type: "emit"; readonly message: EmitMessage; readonly command: Command<C> }
  | { readonly type: "crash"; readonly problem: ShellProblem; readonly text: string };

type Decision<C> = readonly [State<C>, readonly Effect<C>[]];

export function initial<C>(timeoutMs: number): State<C> {
  return { timeoutMs, commands: Queue.of() };
}

export function decide<C>(state: State<C>, event: Event<C>): Decision<C> {
  const { commands, timeoutMs } = state;
  switch (event.type) {
    case "command": {
      const next = { ...state, commands: commands.with(event.command) };
      return [next, commands.length > 0 ? [] : [{ type: "send", command: event.command }]];
    }
    case "message":
      return received(state, event.message);
    case "overdue":
      return crash(
        state,
        "timeout",
        `did not answer the command ${commands.first?.command} within ${timeoutMs} ms`,
      );
    default:
      return event satisfies never;
  }
}

function received<C>(state: State<C>, message: WorkMessage): Decision<C> {
  const current = state.commands.first;
  switch (message.type) {
    case "sync": {
      if (current === undefined) return crash(state, "protocol", "sent sync, and had no command to answer");
      const commands = state.commands.withoutFirst();
      const next = commands.first;
      const done = { type: "done", command: current } as const;
      return [{ ...state, commands }, next === undefined ? [done] : [done, { type: "send", command: next }]];
    }
    case "emit":
      return current === undefined
        ? crash(state, "protocol", "emitted a tuple while no command was in progress")
        : [state, [{ type: "emit", message, command: current }]];
    default:
      return crash(state, "protocol", `is a spout, and cannot ${message.type} a tuple`);
  }
}

function crash<C>(state: State<C>, problem: ShellProblem, text: string): Decision<C> {
  return [state, [{ type: "crash", problem, text }]];
}
