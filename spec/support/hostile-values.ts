// What a program gives by mistake where something else is meant.

const thrown = (): never => {
  throw new Unreadable();
};

/** What {@link HOSTILE}.unreadable throws, whatever is done with it. */
export class Unreadable extends Error {}

/** One value of each kind, by a name for it. Their types say which parameters take them. */
export const HOSTILE: {
  readonly undefined: undefined;
  readonly null: null;
  readonly number: 5;
  readonly nan: number;
  readonly text: "x";
  readonly object: object;
  readonly array: [];
  readonly function: () => undefined;
  readonly unreadable: { readonly unreadable: true };
} = {
  undefined: undefined,
  null: null,
  number: 5,
  nan: Number.NaN,
  text: "x",
  object: {},
  array: [],
  function: () => undefined,
  unreadable: new Proxy({ unreadable: true } as const, {
    get: thrown,
    set: thrown,
    has: thrown,
    ownKeys: thrown,
    getOwnPropertyDescriptor: thrown,
    defineProperty: thrown,
    deleteProperty: thrown,
    getPrototypeOf: thrown,
    setPrototypeOf: thrown,
    isExtensible: thrown,
    preventExtensions: thrown,
  }),
};
