// Bounded mailboxes of servers and state machines: given by the definition, a start or a child spec, and what a call to a full one gets.

import {
  type Call,
  CalleeExitedError,
  defineServer,
  defineStateMachine,
  dynamicSupervisor,
  MailboxFullError,
  type MailboxLimits,
  OptionError,
  type Pid,
  type Startable,
  System,
  startIn,
  supervisor,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const clock = testClock();
let system: System;
let open: () => void;
let door: Promise<void>;

beforeEach(() => {
  system = new System({ environment: clock.environment, report: false });
  door = new Promise<void>((resolve) => {
    open = resolve;
  });
});

afterEach(() => {
  open();
  return clock.until(system.stop());
});

/** What is asked: a server, or a state machine. */
type Desk = Startable<[], Ref> & {
  at(system: System, address: Pid<never> | string): Ref;
};
type Ref = {
  readonly pid: Pid<never>;
  readonly call: { ask(given: { readonly n: number }): Promise<number> };
};

const bounded = (mailbox?: MailboxLimits): { mailbox?: MailboxLimits } =>
  mailbox === undefined ? {} : { mailbox };

function server(mailbox?: MailboxLimits): Desk {
  return defineServer({
    init: () => ({}),
    calls: {
      ask: async (_state: object, { n }: { readonly n: number }) => {
        await door;
        return n;
      },
    },
    ...bounded(mailbox),
  });
}

function machine(mailbox?: MailboxLimits): Desk {
  return defineStateMachine<{ name: "open" }, Call<{ type: "ask"; readonly n: number }, number>>({
    init: startIn("open", () => ({ name: "open" })),
    states: {
      open: {
        on: {
          ask: async (_open, { n }, m) => {
            await door;
            return m.keep(m.reply(n));
          },
        },
      },
    },
    ...bounded(mailbox),
  });
}

/** Asks with 1, 2, … of which the first is taken at once; gives how each call has ended before the door opens. */
async function endsOf(ref: Ref, calls: number): Promise<unknown[]> {
  const ends: unknown[] = new Array(calls).fill("waits");
  for (let n = 1; n <= calls; n++) {
    ref.call.ask({ n }).then(
      (value) => {
        ends[n - 1] = value;
      },
      (error: unknown) => {
        ends[n - 1] = error;
      },
    );
    if (n === 1) await clock.settle();
  }
  await clock.settle();
  return ends;
}

const full = expect.any(MailboxFullError);

const kinds = [
  ["server", server],
  ["state machine", machine],
] as const;

describe.each(kinds)("a call to the full mailbox of a %s ends at its caller at once", (_kind, define) => {
  const start = (mailbox: MailboxLimits): Promise<Ref> => clock.until(system.start(define(mailbox)));

  it("of its own call when new messages are refused or dropped [B19]", async () => {
    for (const overflow of ["reject", "drop-newest"] as const) {
      expect(await endsOf(await start({ capacity: 2, overflow }), 5)).toEqual([
        "waits",
        "waits",
        "waits",
        full,
        full,
      ]);
    }
  });

  it("of the oldest call when that is dropped, and of all when the server exits [B19]", async () => {
    const oldest = await start({ capacity: 2, overflow: "drop-oldest" });
    expect(await endsOf(oldest, 5)).toEqual(["waits", full, full, "waits", "waits"]);
    const fragile = await start({ capacity: 2, overflow: "exit" });
    const exited = expect.any(CalleeExitedError);
    expect(await endsOf(fragile, 4)).toEqual([exited, exited, exited, full]);
  });
});

describe.each(kinds)("the bound of the mailbox of a %s", (_kind, define) => {
  const bound: MailboxLimits = { capacity: 1, overflow: "reject" };

  it("comes from the definition, unless the start gives another one [B19]", async () => {
    const Desk = define({ capacity: 2, overflow: "reject" });
    const tight = await clock.until(system.startWith({ mailbox: bound }, Desk));
    expect(await endsOf(tight, 4)).toEqual(["waits", "waits", full, full]);
    const own = await clock.until(system.startWith({ name: "own" }, Desk));
    expect(await endsOf(own, 4)).toEqual(["waits", "waits", "waits", full]);
  });

  it("comes from a child spec, static or dynamic, and outlives a restart [B19]", async () => {
    const Desk = define({ capacity: 2, overflow: "reject" });
    const House = supervisor({
      intensity: 10,
      children: [
        { id: "desk", start: Desk, name: "desk", mailbox: bound },
        { id: "plain", start: define(), name: "plain", mailbox: bound },
      ],
    });
    await clock.until(system.start(House));
    for (let life = 0; life < 2; life++) {
      for (const name of ["desk", "plain"]) {
        expect(await endsOf(Desk.at(system, name), 3)).toEqual(["waits", "waits", full]);
        system.exit(name, "kill");
        await clock.settle();
      }
    }
    const Many = dynamicSupervisor({ child: { id: "desk", start: Desk, mailbox: bound } });
    const many = await clock.until(system.start(Many));
    const desk = (await clock.until(many.startLike())) as Ref;
    expect(await endsOf(desk, 3)).toEqual(["waits", "waits", full]);
  });

  it("is checked where it is given [B19]", async () => {
    const wrong = [
      { capacity: 0, overflow: "reject" },
      { capacity: 1, overflow: "throw" },
      { capacity: 1 },
      5,
      null,
    ];
    for (const mailbox of wrong as MailboxLimits[]) {
      expect(() => define(mailbox)).toThrow(OptionError);
      await expect(system.startWith({ mailbox }, define())).rejects.toThrow(OptionError);
      expect(() => supervisor({ children: [{ id: "desk", start: define(), mailbox }] })).toThrow(
        /children\[0\]\(desk\)\.mailbox/,
      );
    }
    expect(() => define({ ...bound, capacitiy: 5 } as never)).toThrow(/did you mean capacity/);
    const inner = supervisor({ children: [] });
    expect(() => supervisor({ children: [{ id: "inner", start: inner, mailbox: bound }] })).toThrow(
      /absent for a supervisor/,
    );
  });
});
