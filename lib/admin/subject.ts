// What operations are about, by their names on the wire.

/** The subject of an operation: `queues` of `queues.list`. Operations on flows have no prefix. */
export function subjectOf(op: string): string {
  return /^(\w+)\./.exec(op)?.[1] ?? "flows";
}
