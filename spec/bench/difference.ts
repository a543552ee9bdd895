// Whether a value came back from a codec as it was, and if not, what is different.

/**
 * The first difference between a value and its copy, in words; undefined when there is none: in its types, classes, members and their order, or in
 * the objects that parts of it share.
 *
 * @param same - says of two objects that they stand for the same, such as a pid and the other node's object for it. Undefined: look at their members
 */
export function difference(
  sent: unknown,
  came: unknown,
  same: (sent: object, came: unknown) => boolean | undefined = () => undefined,
): string | undefined {
  const met = new Map<object, unknown>();
  return differ(sent, came, "");

  function differ(a: unknown, b: unknown, path: string): string | undefined {
    const where = path === "" ? "" : ` at ${path}`;
    if (Object.is(a, b)) return undefined;
    const [mine, theirs] = [kindOf(a), kindOf(b)];
    const other = `${mine === theirs ? "another" : `${theirs} for`} ${mine}${where}`;
    if (typeof a !== "object" || a === null) return other;
    const isSame = same(a, b);
    if (isSame !== undefined) return isSame ? undefined : other;
    if (mine !== theirs) return other;
    if (met.has(a)) return met.get(a) === b ? undefined : `a copy for a shared object${where}`;
    met.set(a, b);
    const [given, back] = [partsOf(a), partsOf(b as object)];
    for (const [i, [name, part]] of given.entries()) {
      if (back[i]?.[0] !== name) return `no ${name}${where}`;
      const found = differ(part, back[i]?.[1], path === "" ? name : `${path}.${name}`);
      if (found !== undefined) return found;
    }
    return back.length === given.length ? undefined : `also ${back[given.length]?.[0]}${where}`;
  }
}

function kindOf(value: unknown): string {
  if (Object.is(value, -0)) return "-0";
  if (value === null || typeof value !== "object") return value === null ? "null" : typeof value;
  const prototype = Object.getPrototypeOf(value) as {
    readonly constructor?: { readonly name: string };
  } | null;
  return prototype?.constructor?.name ?? "an object without a prototype";
}

type Part = readonly [name: string, value: unknown];

/** The parts of an object in their order. */
function partsOf(object: object): Part[] {
  if (object instanceof Date) return [["time", object.getTime()]];
  if (object instanceof Map)
    return [...object].flatMap(([key, value], i): Part[] => [
      [`key ${i}`, key],
      [`value ${i}`, value],
    ]);
  if (object instanceof Set) return [...object].map((item, i) => [`item ${i}`, item]);
  if (object instanceof Uint8Array) return [["bytes", Buffer.from(object).toString("hex")]];
  const own = Object.entries(object);
  if (!(object instanceof Error)) return own;
  const { message, stack, cause } = object;
  const hidden: Part[] = [
    ["message", message],
    ["stack", stack],
    ["cause", cause],
  ];
  return [...hidden, ...own.filter(([name]) => !hidden.some(([one]) => one === name))];
}
