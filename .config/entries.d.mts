export const ENTRIES: readonly string[];
