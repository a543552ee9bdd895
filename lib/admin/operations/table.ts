// One table says of each operation how it is asked for: a row for each method of an interface. The service of a host (service.ts), the client
// of its admin socket (remote.ts) and the object that passes operations on to a host (passing.ts) are made of it.
//
// The interface says the types: a method without its row, an option that a row does not name, and a row of the wrong kind do not compile.

import type { Json } from "../json-view.js";
import type { Leave } from "../protocol.js";

/** How an option goes over the wire: under its own name, under another one, or not at all. */
export type Sent = true | string | false;

/** The options of a method, all of them. A signal ends the request instead of going over the wire. */
export type SentOptions<Options> = {
  readonly [Name in keyof Options]-?: Name extends "signal" ? false : Sent;
};

type Init<A extends readonly unknown[]> = A extends readonly [...infer First, unknown] ? First : [];
type Last<A extends readonly unknown[]> = A extends readonly [...unknown[], infer One] ? One : never;
/** A name for each of these arguments. */
type Names<A extends readonly unknown[]> = { readonly [Place in keyof A]: string };

/** The arguments of a method: names for those that stand by their place, and the options behind them. */
type Arguments<A extends readonly unknown[]> = A extends readonly []
  ? { readonly placed: readonly []; readonly options?: never }
  : [Last<A>] extends [object]
    ? { readonly placed: Names<Init<A>>; readonly options: SentOptions<Last<A>> }
    : { readonly placed: Names<A>; readonly options?: never };

interface Common {
  readonly leave: Leave;
}

/** A question with one answer, or a change. */
type Ask<A extends readonly unknown[]> = Common &
  Arguments<A> & {
    readonly kind: "ask";
    /** Checks the options before they are sent: JSON would hide some wrong values. */
    check?(options: Last<A>): unknown;
    /** The error when no answer comes, and the change may have taken place. Undefined: the error that says so. */
    unknown?(cause: unknown, ...args: A): Error | undefined;
  };

/** A list, item by item. It is read page by page, and each page begins behind the last item of the page before. */
type List<A extends readonly unknown[], Item> = Common & {
  readonly kind: "list";
  readonly placed: Names<Init<A>>;
  readonly options: SentOptions<Last<A>>;
  /** The place behind an item, in words of the options. */
  behind(last: Item): Partial<Last<A>>;
  readonly page: PageForm;
};

/** A wait for an end. The client asks again and again, so that each request ends by itself. */
type Wait<A extends readonly unknown[]> = Common & {
  readonly kind: "wait";
  readonly placed: Names<Init<A>>;
  readonly options: SentOptions<Last<A>>;
  /** The code of the error of a wait that has ended without its end. */
  readonly timeout: string;
  late(timeoutMs: number, ...placed: Init<A>): Error;
};

/** A list that waits for later items, until none can come any more. */
type Follow<A extends readonly unknown[], Item> = Common & {
  readonly kind: "follow";
  readonly placed: Names<Init<A>>;
  readonly options: SentOptions<Last<A>>;
  /** Arguments of the request beside the options of the method. */
  readonly more: readonly string[];
  /** The place behind an item. */
  after(last: Item): number;
  readonly timeout: string;
  late(timeoutMs: number, ...placed: Init<A>): Error;
};

/** Made of other operations: it has no request of its own. */
interface Made<Operations, Method> {
  readonly kind: "made";
  of(on: Operations): Method;
}

type RowFor<Operations, Method> = Method extends (...args: infer A) => infer Result
  ? Result extends AsyncIterable<infer Item>
    ? List<Required<A>, Item> | Follow<Required<A>, Item> | Made<Operations, Method>
    : Ask<Required<A>> | Wait<Required<A>> | Made<Operations, Method>
  : never;

/** The rows of all methods of an interface. */
export type OperationTable<Operations> = {
  readonly [Name in keyof Operations]-?: RowFor<Operations, Operations[Name]>;
};

/** How a page of a list is written as JSON. */
export interface PageForm {
  pack(items: readonly Json[], isFull: boolean): object;
  unpack(page: never): { readonly items: readonly Json[]; readonly more: boolean };
}

/** `{ items, more }` */
export const ITEMS: PageForm = {
  pack: (items, more) => ({ items, more }),
  unpack: (page: { readonly items: readonly Json[]; readonly more: boolean }) => page,
};

/** A function whose arguments this file does not know. */
type Free = (...args: never[]) => unknown;

/** A row of any table, as service, client and host read it. */
export type Row =
  | {
      readonly kind: "ask";
      readonly leave: Leave;
      readonly placed: readonly string[];
      readonly options?: Readonly<Record<string, Sent>> | undefined;
      readonly check?: Free | undefined;
      readonly unknown?: Free | undefined;
    }
  | (OptionsRow & { readonly kind: "list"; readonly behind: Free; readonly page: PageForm })
  | (OptionsRow & { readonly kind: "wait"; readonly timeout: string; readonly late: Free })
  | (OptionsRow & {
      readonly kind: "follow";
      readonly more: readonly string[];
      readonly after: Free;
      readonly timeout: string;
      readonly late: Free;
    })
  | { readonly kind: "made"; readonly of: Free };

interface OptionsRow {
  readonly leave: Leave;
  readonly placed: readonly string[];
  readonly options: Readonly<Record<string, Sent>>;
}

/** A row that has a request. */
export type AskedRow = Exclude<Row, { readonly kind: "made" }>;

/** The rows of a table, by name. */
export function rowsOf<Operations>(table: OperationTable<Operations>): readonly (readonly [string, Row])[] {
  return Object.entries<Row>(table as Readonly<Record<string, Row>>);
}

/** A method of operations, as one that takes any arguments. */
export function methodOf(on: object, name: string): (...args: readonly unknown[]) => unknown {
  const method = (on as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>)[name];
  if (method === undefined) throw new TypeError(`there is no operation ${name}`);
  return (...args) => method.apply(on, [...args]);
}

/** The names of the options on the wire, by their names in the method. */
export function wireNames({ options = {} }: AskedRow): readonly (readonly [name: string, wire: string])[] {
  return Object.entries(options).flatMap(([name, sent]) =>
    sent === false ? [] : [[name, sent === true ? name : sent] as const],
  );
}
