// Random small programs of processes that take and send, and their own account of who took what from whom.

import { fc } from "@fast-check/vitest";
import type { Context, Pid, System } from "signalbox";
import { type ScheduleFailedError, type SimulateOptions, simulate, type Trace } from "signalbox/testing";
import { expect } from "vitest";
import { errorOf } from "./found.js";

const PROCESSES = ["a", "b", "c"] as const;
/** Some are objects that are sent again and again. */
const POOL = [{ item: "tea" }, { item: "milk" }, 7, "note"] as const;
const TEXTS = ['{item: "tea"}', '{item: "milk"}', "7", '"note"'] as const;

interface Sending {
  readonly to: number;
  readonly value: number;
}
interface Round {
  /** Which values of the pool the receive wants; none for any. */
  readonly wanted: readonly number[];
  readonly sends: readonly Sending[];
}
export interface Program {
  /** A process of callbacks takes each message; a body goes through its rounds and ends. */
  readonly bodies: readonly boolean[];
  readonly rounds: readonly (readonly Round[])[];
  readonly capacity: number | undefined;
  readonly overflow: "drop-oldest" | "drop-newest";
  readonly begin: readonly Sending[];
}

const sending: fc.Arbitrary<Sending> = fc.record({ to: fc.nat(2), value: fc.nat(3) });
const round: fc.Arbitrary<Round> = fc.record({
  wanted: fc.oneof(fc.constant([]), fc.array(fc.nat(3), { minLength: 1, maxLength: 2 })),
  sends: fc.array(sending, { maxLength: 3 }),
});
export const programs: fc.Arbitrary<Program> = fc.record({
  bodies: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  rounds: fc.array(fc.array(round, { maxLength: 4 }), { minLength: 3, maxLength: 3 }),
  capacity: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  overflow: fc.constantFrom("drop-oldest", "drop-newest"),
  begin: fc.array(sending, { minLength: 1, maxLength: 8 }),
});

/** Runs a program, and keeps account of what is where: the letters in each mailbox, and who took which. */
export class Office {
  /** Process, message and sender, in the order of taking. */
  readonly taken: string[] = [];
  private readonly mailboxes: { readonly value: number; readonly from: string }[][] = [[], [], []];
  private readonly pids: Pid<unknown>[] = [];
  private readonly ended = new Set<number>();
  private readonly program: Program;

  constructor(system: System, program: Program) {
    this.program = program;
    const { capacity, overflow } = program;
    const options = capacity === undefined ? {} : { mailbox: { capacity, overflow } };
    for (const [index, label] of PROCESSES.entries()) {
      const rounds = program.rounds[index] as readonly Round[];
      let next = 0;
      const callbacks = {
        handle: (ctx: Context<unknown>, message: unknown): void => {
          this.took(index, message, []);
          this.sendAll(`shop/${label}`, (to, value) => ctx.send(to, value), rounds[next++]?.sends ?? []);
        },
      };
      const body = async (ctx: Context<unknown>): Promise<void> => {
        for (const { wanted, sends } of rounds) {
          const fits = (message: unknown): boolean => wanted.includes(POOL.indexOf(message as never));
          const message = await (wanted.length === 0 ? ctx.receive() : ctx.receive(fits));
          this.took(index, message, wanted);
          this.sendAll(`shop/${label}`, (to, value) => ctx.send(to, value), sends);
        }
        this.ended.add(index);
      };
      const behaviour = program.bodies[index] === true ? body : callbacks;
      this.pids.push(system.spawn<unknown>(behaviour, { label, ...options }));
    }
    this.sendAll("scenario", (to, value) => system.send(to, value), program.begin);
  }

  private sendAll(
    from: string,
    send: (to: Pid<unknown>, value: unknown) => void,
    sends: readonly Sending[],
  ): void {
    const { capacity = Number.POSITIVE_INFINITY, overflow } = this.program;
    for (const { to, value } of sends) {
      const mailbox = this.mailboxes[to] as { value: number; from: string }[];
      if (!this.ended.has(to)) {
        if (mailbox.length < capacity || overflow === "drop-oldest") mailbox.push({ value, from });
        if (mailbox.length > capacity) mailbox.shift();
      }
      send(this.pids[to] as Pid<unknown>, POOL[value]);
    }
  }

  private took(index: number, message: unknown, wanted: readonly number[]): void {
    const mailbox = this.mailboxes[index] as { value: number; from: string }[];
    const at = mailbox.findIndex(({ value }) => wanted.length === 0 || wanted.includes(value));
    const [letter] = mailbox.splice(at, 1) as [{ value: number; from: string }];
    expect(POOL[letter.value]).toBe(message);
    this.taken.push(`shop/${PROCESSES[index]} took ${TEXTS[letter.value]} from ${letter.from}`);
  }
}

/** Runs a program under a schedule, and gives its account and its trace. */
export async function runProgram(
  program: Program,
  choices: readonly number[],
  options: SimulateOptions = {},
): Promise<{ readonly taken: readonly string[]; readonly trace: Trace }> {
  let office: Office | undefined;
  const run = simulate(
    async (sim) => {
      office = new Office(sim.system({ name: "shop" }), program);
      await sim.quiet();
      throw new Error("the end");
    },
    { choices, ...options },
  );
  const { trace } = (await errorOf(run)) as ScheduleFailedError;
  return { taken: office?.taken ?? [], trace };
}
