// Values that throw when code reads them: getters and Proxies.

function refuse(): never {
  throw new Error("hands off");
}

/** A Proxy of nothing any more: whatever is done with it throws. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A Proxy of `target` whose every trap throws. */
export function bristling(target: object = {}): object {
  const traps = Reflect.ownKeys(Reflect).map((name) => [name, refuse]);
  return new Proxy(target, Object.fromEntries(traps) as ProxyHandler<object>);
}

/** An Error one of whose properties throws. */
export function thrower(key: "message" | "name" | "stack"): Error {
  return Object.defineProperty(new Error("plain"), key, { get: refuse });
}

export const HOSTILE: readonly (readonly [what: string, value: unknown])[] = [
  ["a revoked Proxy", revoked()],
  ["a Proxy whose traps throw", bristling()],
  ["a function behind such a Proxy", bristling(() => undefined)],
  ["an Error behind such a Proxy", bristling(new Error("deep inside"))],
  ["an Error whose message throws", thrower("message")],
  ["an Error whose name throws", thrower("name")],
  ["an Error whose stack throws", thrower("stack")],
  ["an Error whose message is an object", Object.assign(new Error("x"), { message: bristling() })],
  ["an object without a prototype", Object.create(null)],
  [
    "an object whose constructor throws",
    Object.create(Object.defineProperty({}, "constructor", { get: refuse })),
  ],
  ["a toJSON that throws", { toJSON: refuse }],
  ["a toString that throws", { toString: refuse, [Symbol.toPrimitive]: refuse }],
  ["a getter that throws", Object.defineProperty({}, "password", { enumerable: true, get: refuse })],
  ["a function whose name throws", Object.defineProperty(() => 1, "name", { get: refuse })],
  ["a bigint of a million bits", 2n ** 1_000_000n],
  ["a symbol", Symbol("s")],
];
