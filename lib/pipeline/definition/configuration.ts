// What a frozen configuration says about queues. It may come from TypeScript, or from a file of YAML, or from a host of another version.

/** The routes of an execution by the queues that they take from, as far as its configuration names them. */
export function routesByQueue(configuration: unknown): ReadonlyMap<string, string> {
  const { routes } = fieldsOf(configuration);
  const named = Array.isArray(routes)
    ? routes.map((one) => [fieldsOf(one).name, one] as const)
    : Object.entries(fieldsOf(routes));
  const found = new Map<string, string>();
  for (const [name, one] of named) {
    const { from } = fieldsOf(one);
    if (typeof name === "string" && typeof from === "string") found.set(from, name);
  }
  return found;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
