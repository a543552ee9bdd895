export declare function related(
  sources: ReadonlyMap<string, string>,
  changed: readonly string[],
): Map<string, number>;
