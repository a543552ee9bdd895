// Waits of tests for what becomes so.

/** So many turns of the host in which the wait looks at once again. */
const EAGER_TURNS = 100;
/** Then it leaves the core to what it waits for, which is often another process. */
const PAUSE_MS = 1;
const MOST_TURNS = 600_000;

/** Looks until there is something to see. @param what - for the error, which comes after some ten minutes */
export async function seen<T>(look: () => T | undefined | Promise<T | undefined>, what = "it"): Promise<T> {
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise<void>((go) => {
      if (turn < EAGER_TURNS) setImmediate(go);
      else setTimeout(go, PAUSE_MS);
    });
  }
  throw new Error(`${what} does not become so`);
}

/** Looks until a condition holds. */
export async function until(isSo: () => boolean | Promise<boolean>, what?: string): Promise<void> {
  await seen(async () => ((await isSo()) ? true : undefined), what);
}
